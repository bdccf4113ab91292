"""The events with which benchmarks give URLs to the frontier and answer its leases."""

from collections.abc import Sequence
from uuid import uuid5

from schemas import PageDiscovered, PageFetched, PageScheduled
from schemas.ids import page_id
from streams.clock import now_micros

_BODY_BYTES = 20_000


def url_of(host: str, number: int) -> str:
    """Return the URL of a page of a host."""
    return f"https://{host}/section-{number % 7}/page-{number}.html"


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


def answer(scheduled: PageScheduled, *, found: bool = True) -> PageFetched:
    """Return the answer to a lease: a page, or that the host has no such file."""
    names = ("page_id", "url", "host", "purpose", "lease_id", "attempt", "crawl_id", "depth", "max_depth")
    return PageFetched(
        **{name: getattr(scheduled, name) for name in names},
        outcome="ok" if found else "gone",
        status=200 if found else 404,
        generation=scheduled.generation or now_micros(),
        headers={"content-type": "text/html"},
        body_ref=uuid5(scheduled.page_id, "body").hex * 2 if found else None,
        body_bytes=_BODY_BYTES if found else 0,
    )
