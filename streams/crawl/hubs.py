"""WebSub hubs that feeds name, in their elements and in the header `Link`. Pure, linear, and bounded.

A hub would push the changes of a feed (https://www.w3.org/TR/websub/, section 4). Riffle notes the addresses and asks
no hub for anything.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.sitemaps import MAX_HUBS, MAX_URL_CHARS, Sitemap
from streams.crawl.urls import InvalidUrl, canonicalize

MAX_LINKS = 64
"""Maximum number of links of a header `Link` that are read."""
_PARAMETER = re.compile(r""";\s{0,4}([\w*-]{1,40})\s{0,4}=\s{0,4}(?:"([^"]{0,2000})"|([^\s;,"]{1,200}))""")


@dataclass(frozen=True, slots=True)
class FeedHubs:
    """The hubs of a feed, each once, in their order."""

    hubs: tuple[str, ...] = ()
    topic: str = ""
    """The address under which the hubs know the feed. Empty: the feed names none."""


def hubs_of(url: str, found: Sitemap, link_header: str, allowed: AllowedOrigins = NO_ORIGINS) -> FeedHubs:
    """Return the hubs of the feed at a URL: the hubs of its header first, as the standard has it. Raises nothing.

    An address that Riffle would never connect to is left out: another scheme than http and https, a name or password,
    an IP address, a name without a dot. The network guard checks what a name leads to whenever a socket is connected.
    """
    of_header = list(_header_links(link_header))
    hubs = [address for rel, address in of_header if rel == "hub"]
    topics = [address for rel, address in of_header if rel == "self"]
    usable = tuple(dict.fromkeys(_usable(url, [*hubs, *found.hubs], allowed)))
    return FeedHubs(usable[:MAX_HUBS], next(_usable(url, [*topics, found.topic], allowed), ""))


def _usable(base: str, addresses: Iterable[str], allowed: AllowedOrigins) -> Iterator[str]:
    """Yield absolute addresses as they are written: a hub may know a feed by one spelling only."""
    for address in addresses:
        try:
            absolute = urljoin(base, address) if address else ""
            canonicalize(absolute, allowed)
        except (InvalidUrl, ValueError):
            continue
        if len(absolute) <= MAX_URL_CHARS and absolute.isascii() and absolute.isprintable():
            yield absolute


def _header_links(header: str) -> Iterator[tuple[str, str]]:
    """Yield relation and address of each link of a header `Link` (RFC 8288), once for each relation."""
    for part in header.split("<", MAX_LINKS)[1:]:
        address, end, rest = part.partition(">")
        named = (value for value in _PARAMETER.finditer(rest) if value[1].lower() == "rel") if end else iter(())
        if first := next(named, None):
            for relation in (first[2] or first[3] or "").lower().split():
                yield relation, address.strip()
