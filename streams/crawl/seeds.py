"""The seeds of a crawl as events, of `riffle crawl` and of programs that crawl by the API. Pure."""

from urllib.parse import urlsplit

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.crawl.sitemaps import ROBOTS_PATH
from streams.crawl.urls import InvalidUrl, host_of, resolve, with_scheme
from streams.errors import UsageError


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
