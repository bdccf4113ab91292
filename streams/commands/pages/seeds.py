"""The seeds of a crawl: where they are named, and the events that they become."""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins, origin_of
from streams.charset import decode
from streams.crawl.sitemaps import ROBOTS_PATH
from streams.crawl.urls import InvalidUrl, host_of, resolve, with_scheme
from streams.errors import UsageError
from streams.lines.bounded import read_whole

MAX_FAULTS = 20
"""Maximum number of seeds that can't be crawled that are named."""
MAX_SHOWN_CHARS = 200
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.DOTALL)
_AROUND = " \t\r\n\f\v\ufeff\u200b\xa0"
"""Characters around a seed that are no part of it: white space, and what editors and web pages leave behind."""


def read_seeds(urls: Sequence[str], file: Path | None, origins: AllowedOrigins = NO_ORIGINS) -> list[str]:
    """Return the seeds of the arguments and of the lines of a file, in whatever encoding an editor wrote it.

    What follows a `#` at the begin of a line or behind white space is a comment. Raises UsageError, which names all
    seeds that can't be crawled, each with the number of its line.
    """
    lines = decode(read_whole(file)).splitlines() if file else []
    listed = {n: seed for n, line in enumerate(lines, 1) if (seed := _COMMENT.sub("", line).strip(_AROUND))}
    faults = [_fault_of(url, origins) for url in urls]
    faults += [fault and f"line {n}: {fault}" for n, url in listed.items() for fault in (_fault_of(url, origins),)]
    if named := list(filter(None, faults)):
        more = [f"{len(named) - MAX_FAULTS} more"] if len(named) > MAX_FAULTS else []
        raise UsageError("\n".join(named[:MAX_FAULTS] + more))
    if not (found := list(dict.fromkeys([*urls, *listed.values()]))):
        raise UsageError("name the seeds, as in `riffle crawl https://example.org/`, or a file of them with --seeds")
    return found


def _fault_of(url: str, origins: AllowedOrigins) -> str:
    """Return why a seed can't be crawled; empty if it can."""
    try:
        with_scheme(url, origins)
    except InvalidUrl as error:
        return f"{url[:MAX_SHOWN_CHARS]!r} can't be crawled: {error}"
    return ""


def seed(
    url: str, depth: int, max_pages: int | None = None, *, any_host: bool = False, origins: AllowedOrigins = NO_ORIGINS
) -> PageDiscovered:
    """Return the event with which a crawl begins at a URL. Raises UsageError."""
    try:
        canonical = origins.place(with_scheme(url, origins))
    except InvalidUrl as error:
        raise UsageError(f"{url!r} can't be crawled: {error}") from None
    return PageDiscovered(
        page_id=page_id(canonical),
        url=canonical,
        host=host_of(canonical),
        why="seed",
        depth=0,
        max_depth=depth,
        max_pages=max_pages,
        same_host=not any_host,
        force=True,
    )


def describe_rewritten(typed: Sequence[str], seeds: Sequence[PageDiscovered]) -> str:
    """Return a line about the seeds that were typed with http:// and are crawled with https://; empty if there is none.

    `typed`: the seeds as a person wrote them, in the order of `seeds`.
    """
    plain, secure = "http://", "https://"
    rewritten = [
        (text, one.url)
        for text, one in zip(typed, seeds, strict=True)
        if text.lower().startswith(plain) and one.url.startswith(secure)
    ]
    if not rewritten:
        return ""
    text, url = rewritten[0]
    which = f"{text} is" if len(rewritten) == 1 else f"{len(rewritten)} seeds with http:// are"
    name = origin_of(url).replace(secure, plain, 1)
    where = f"as {url}" if len(rewritten) == 1 else f"with https://, such as {url}"
    return f"{which} crawled {where}. To keep http: RIFFLE_CRAWL__ALLOWED_ORIGINS='[\"{name}\"]'"


def as_sitemap(seed: PageDiscovered, max_pages: int) -> PageDiscovered:
    """Return the event of a crawl of the pages that a sitemap names, and of no links.

    A seed without a path is the host's robots.txt, which names the sitemaps. A person asks for these pages, so they are
    bounded by `max_pages` where the seed sets no number, and not by the number that a sitemap has in a day.
    """
    parts = urlsplit(seed.url)
    is_root = parts.path == "/" and not parts.query
    url = resolve(seed.url, ROBOTS_PATH) if is_root else seed.url
    changes = {"purpose": "sitemap", "max_depth": 1, "max_pages": seed.max_pages or max_pages}
    return seed.model_copy(update={"page_id": page_id(url), "url": url, **changes})
