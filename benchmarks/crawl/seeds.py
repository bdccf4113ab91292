"""The events with which benchmarks give URLs to the frontier."""

from collections.abc import Sequence

from schemas import PageDiscovered
from schemas.ids import page_id


def seeds_of_host(host: str, urls: Sequence[str], crawl_id: str) -> PageDiscovered:
    """Return an event with URLs of one host, as a page with links to them makes one."""
    first, *more = urls
    return PageDiscovered(
        page_id=page_id(first),
        url=first,
        host=host,
        why="seed",
        depth=0,
        max_depth=0,
        crawl_id=crawl_id,
        more_urls=tuple(more),
    )
