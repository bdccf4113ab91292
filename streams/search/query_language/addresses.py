"""Queries that are the address of a page: `sqlite.org`, `www.sqlite.org/wal.html`, `https://sqlite.org/wal.html#intro`.

People type and paste addresses into a search box. The words of an address are in few statements of its page, so the
page is looked up by its id. Pure.
"""

from streams.crawl.domains import has_public_suffix
from streams.crawl.urls import InvalidUrl, host_of, possible_urls

MAX_CHARS = 500
"""Maximum length of an address that is looked up (characters)."""


def find_addresses(query: str) -> tuple[str, ...]:
    """Return the canonical URLs that the query may be, with and without `www.`; none if it is no address.

    Without a scheme, it must begin with a host whose end is a known public suffix: `node.js` and `3.11.4` are none.
    """
    if len(query) > MAX_CHARS or "." not in query or any(char.isspace() for char in query):
        return ()
    try:
        found = possible_urls(query)
        if "://" not in query and not has_public_suffix(host_of(found[0]).partition(":")[0]):
            return ()
    except InvalidUrl:
        return ()
    return tuple(dict.fromkeys(each for url in found for each in (url, _with_or_without_www(url))))


def _with_or_without_www(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.removeprefix('www.')}" if rest.startswith("www.") else f"{scheme}://www.{rest}"
