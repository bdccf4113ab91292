"""The texts of pages that left the index: they leave the records, too.

A page that is gone, says `noindex` or is forbidden by robots.txt leaves the index and the fingerprints at once. Its
record goes on referring to its body, document, statements and vectors, which other pages may have as well. The first
phase of a sweep writes these records again without text and references. So the blobs that no other page refers to are
deleted as all others that nothing refers to: after the grace, in which events in flight may still read them.

A part is written a microsecond after the part that was read. So a page that comes back meanwhile has the later write
and keeps all its parts, and a redelivery of the former event writes nothing. A phase that is interrupted is repeated.
"""

from dataclasses import replace
from uuid import UUID

from streams.stores.page_record import Indexed
from streams.stores.protocols import Pages
from streams.stores.removals import has_left, without_text

_FIRST_TOKEN, _LAST_TOKEN = -(1 << 63), (1 << 63) - 1


class LeftPages:
    """The pages that left, with the texts that their records still have."""

    def __init__(self, pages: Pages, answered_before: int, *, write: bool) -> None:
        """`answered_before`: the time before which every answer was sent (microseconds since 1970 UTC)."""
        self._pages = pages
        self._answered_before = answered_before
        self._write = write

    async def empty(self, position: int, limit: int) -> tuple[int, int, int | None]:
        """Take the texts out of the next records, from a position of 0 to 2^64 on.

        Returns how many records were read, how many of them had text, and the next position: None at the end.
        """
        found = await self._pages.scan(position + _FIRST_TOKEN, _LAST_TOKEN, limit)
        emptied = sum([await self._empty(page_id) for _, page_id in found])
        following = found[-1][0] - _FIRST_TOKEN if len(found) == limit else None
        return len(found), emptied, following

    async def _empty(self, page_id: UUID) -> bool:
        """Take the text out of a record. Returns whether it had some."""
        record = await self._pages.get(page_id)
        if not has_left(record, self._answered_before) or not without_text(record):
            return False
        if self._write:
            times = await self._pages.write_times(page_id)
            record = await self._pages.get(page_id)  # after the times: what is newer than they are stays
            if not has_left(record, self._answered_before):
                return False
            for part in without_text(record):
                if at := times.get(part.PART):
                    dated = replace(part, at=at + 1) if isinstance(part, Indexed) else part
                    await self._pages.put(page_id, dated, at + 1)
        return True
