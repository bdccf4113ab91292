"""The record of a page and its links to other domains, as the events of the links stage need them.

The stage that reads a page stores its links in one write with its record, and announces them afterwards: the links to
each host are an event, and so is the page. All of these events are of one generation of the page, so any read for one
of them began after that write. They come within a moment, to several partitions, and share a read within
a worker.

The links of a host come before their loss, in one partition. If they come after it, as from a retry topic, the worker
that had the loss has forgotten the read with it, and sees whether the page was removed or read again. Another worker
may have a read from before that, less than `MOMENT_SECONDS` old: a late link that it handles in this time stays.
"""

from collections.abc import Callable
from sys import getsizeof
from typing import TypeAlias
from uuid import UUID

from streams.caches import TimedCache
from streams.grouped_calls import BegunRead, SharedReads
from streams.stores.page_record import PageRecord
from streams.stores.protocols import LinkGroup, Pages

MOMENT_SECONDS = 0.5
"""Maximum age of a read that events share (seconds)."""
MAX_PAGES = 64
"""Maximum number of pages in memory, each with its links to other domains."""
MAX_BYTES = 32_000_000
"""Maximum memory that these pages take together, about. The longest 5,000 links take 11 MB: they may be as many events,
so their read is shared, too."""
Stored: TypeAlias = tuple[PageRecord, list[LinkGroup]]


class StoredLinks:
    """The reader of records and links. `monotonic` returns steady seconds."""

    def __init__(self, pages: Pages, monotonic: Callable[[], float]) -> None:
        self._reads = SharedReads(pages.get_with_links)
        self._monotonic = monotonic
        self.forget_all()

    async def get(self, page_id: UUID) -> Stored:
        """Return what is stored now. Raises what the store raises."""
        return await self._reads.get(page_id)

    async def get_of(self, page_id: UUID, generation: int) -> Stored:
        """Return what was stored after the links of this generation, a moment ago at the earliest. Raises as `get`."""
        known, read = self._recent.fresh(page_id) or (None, None)
        if read is None or known != generation or read.has_failed:
            read = self._reads.begin(page_id)
            self._recent.keep(page_id, (generation, read))
            read.when_ended(lambda: self._recent.measure(page_id))
        return await read.get()

    def forget(self, page_id: UUID) -> None:
        """Forget the last read of a page: links of it are lost."""
        self._recent.drop(page_id)

    def forget_all(self) -> None:
        """Forget all reads, after the partitions of the worker have changed."""
        self._recent = TimedCache[UUID, tuple[int, BegunRead[Stored]]](
            MOMENT_SECONDS,
            MAX_PAGES,
            self._monotonic,
            kept_for=MOMENT_SECONDS,
            max_size=MAX_BYTES,
            size_of=lambda kept: _size_of(kept[1].result) if kept[1].result else 0,
        )


def _size_of(stored: Stored) -> int:
    """Return about how many bytes of memory a page takes with its links."""
    record, groups = stored
    texts = (*map(str, record.rows.values()), *(url for group in groups for url in group.urls))
    return sum(map(getsizeof, texts))
