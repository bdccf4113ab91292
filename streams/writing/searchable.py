"""The last part of a crawl: what it fetched becomes searchable. Its pages are looked at one by one, each once."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.stores.protocols import CRAWL_BUCKETS
from streams.stores.rows import Row

MAX_LOOKED = 500
"""Maximum number of pages that are looked at in one go."""
TOO_LONG_SECONDS = 900
"""Time after which no crawl waits for a page any more (seconds): its stage may have failed, as its history says."""
_FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Looked:
    """The pages of a crawl that were looked at, in their order."""

    discovered: int = -1
    """Number of addresses that the crawl had then. With another number, all are looked at again."""
    bucket: int = 0
    page: str = _FIRST.hex
    """The last one that waits for nothing."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    def knows(self, discovered: int) -> bool:
        """Return whether it is known that no page of a crawl with N addresses waits for the index."""
        return self.discovered == discovered and self.bucket >= CRAWL_BUCKETS


NOT_LOOKED = Looked()


def waits_for_index(record: PageRecord, now: int) -> bool:
    """Return whether a page has a document that the index does not have yet. `now`: microseconds since 1970 UTC."""
    decided = record.deduplicated
    if decided.verdict != "unique" or decided.document_generation is None:
        return False
    if now - decided.at > TOO_LONG_SECONDS * 1_000_000:
        return False
    refused = record.chunked.generation if record.chunked.refused else -1
    return max(record.indexed.generation, record.removed.generation, refused) < decided.document_generation


async def look(stores: Stores, crawl_id: str, looked: Looked, discovered: int, now: int) -> Looked:
    """Return how far the pages of a crawl, which has a result for each address, wait for nothing."""
    if looked.discovered != discovered:
        looked = Looked(discovered)
    left, bucket, after = MAX_LOOKED, looked.bucket, UUID(hex=looked.page)
    while bucket < CRAWL_BUCKETS and left > 0:
        pages = await stores.frontier.states_after(crawl_id, bucket, after, left)
        settled = (page for page, state in pages if state == "settled")
        if (waiting := await _first_waiting(stores, settled, now)) is not None:
            before = [page for page, _ in pages if page < waiting]
            return Looked(discovered, bucket, (before[-1] if before else after).hex)
        bucket, after = (bucket, pages[-1][0]) if len(pages) == left else (bucket + 1, _FIRST)
        left -= len(pages)
    return Looked(discovered, bucket, after.hex)


async def _first_waiting(stores: Stores, pages: Iterable[UUID], now: int) -> UUID | None:
    for page in pages:
        if waits_for_index(await stores.pages.get(page), now):
            return page
    return None
