"""All pages of a host: removed from the index while the host is blocked, and brought back without a crawl.

A page comes back by its stored answer: the event of its last fetch with content is sent again with a new generation,
and the stages handle it as any other. So it is compared with its duplicates anew. A page that was removed on request or
by a program, or refused since its last answer (such as by robots.txt), stays away, and its record keeps that reason.

An answer that comes while the host is blocked ends in the normalize stage, from SETTLING_SECONDS after the order on. An
answer that passed that stage before has a record, so it is found here, and its events have an older generation than the
removal, however late they are handled.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from schemas import Event, PageFetched, PageRemoved
from streams.crawl.frontier.host_caches import ORDERS_SECONDS
from streams.crawl.urls import host_of
from streams.dedup.generations import SAME_FETCH
from streams.maintenance.reindexing import PARTS, part_tokens
from streams.stores.page_record import Fetched, PageRecord
from streams.stores.protocols import Pages
from streams.stores.removals import is_held_back, was_refused, was_removed_by_program

SETTLING_SECONDS = ORDERS_SECONDS + 1
"""Time after an order until each worker follows it (seconds). Call what is below after that."""
SCANNED_PAGES = 500
"""Number of records in one read."""
Send = Callable[[Sequence[Event]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class HostProgress:
    """The progress of a job over all records."""

    share: float
    """Share of all records that were read, 0..1."""
    pages: int
    """Number of pages of the host for which an event was sent."""


async def remove_pages(pages: Pages, host: str, now: int, detail: str, send: Send) -> AsyncIterator[HostProgress]:
    """Send the removal of each page of the host that may be in the index."""

    def removal(page_id: UUID, record: PageRecord) -> Event | None:
        if was_refused(record) or was_removed_by_program(record):
            return None
        fetched = record.fetched.event()
        # So much later that it is no removal within the same fetch: after such a one, dedup may handle the page again.
        generation = max([now, *(part.generation + SAME_FETCH for part in record.parts())])
        return PageRemoved(page_id=page_id, url=fetched.url, generation=generation, reason="blocked", detail=detail)

    async for progress in _send_for_each(pages, host, removal, send):
        yield progress


async def restore_pages(pages: Pages, host: str, now: int, send: Send) -> AsyncIterator[HostProgress]:
    """Send the stored answer of each page of the host again, as if it had been fetched now."""

    def answer(_: UUID, record: PageRecord) -> Event | None:
        if is_held_back(record) or was_refused(record) or was_removed_by_program(record):
            return None
        generation = max([now, *(part.generation + 1 for part in record.parts())])
        kept = {"outcome": "ok", "status": 200, "generation": generation, "lease_id": None, "attempt": 1}
        # The last visit may have failed. The record then has the references of the last content.
        return record.fetched.event().model_copy(update={**kept, "retryable": False, "error": None})

    async for progress in _send_for_each(pages, host, answer, send):
        yield progress


async def _send_for_each(
    pages: Pages, host: str, make: Callable[[UUID, PageRecord], Event | None], send: Send
) -> AsyncIterator[HostProgress]:
    sent = 0
    for part in range(PARTS):
        token, last = part_tokens(part)
        while found := await pages.scan(token, last, SCANNED_PAGES):
            events = []
            for _, page_id in found:
                record = await pages.get(page_id)
                if _has_content(record, host) and (event := make(page_id, record)):
                    events.append(event)
            if events:
                await send(events)
            sent, token = sent + len(events), found[-1][0]
        yield HostProgress((part + 1) / PARTS, sent)


def _has_content(record: PageRecord, host: str) -> bool:
    """Return whether the record is of a page of this host, and its last answer had content."""
    if not record.has(Fetched):
        return False
    fetched: PageFetched = record.fetched.event()
    return fetched.purpose == "page" and bool(fetched.body_ref) and host_of(fetched.url) == host
