"""The crawls that were cancelled: their addresses that wait end without a fetch. Requests under way end as usual."""

from collections.abc import Callable

from streams.stores.protocols import Notes

SHELF = "cancelled crawls"
KEPT_SECONDS = 30 * 86_400
"""Time for which a crawl stays cancelled (seconds): its last address has left the queue long before."""
READ_MICROS = 5_000_000
"""Maximum age of what a worker knows of them (microseconds)."""
WHY = "the crawl was cancelled"


async def cancel_crawl(notes: Notes, crawl_id: str) -> None:
    """Cancel a crawl. The frontier follows within some seconds."""
    await notes.put(SHELF, crawl_id, b"1", seconds=KEPT_SECONDS)


class CancelledCrawls:
    """The cancelled crawls, at most READ_MICROS old."""

    def __init__(self, notes: Notes, now: Callable[[], int]) -> None:
        self._notes, self._now = notes, now
        self._known: frozenset[str] = frozenset()
        self._read_at = 0

    async def has(self, crawl_id: str) -> bool:
        """Return whether a crawl was cancelled. Raises StoreUnavailable."""
        now = self._now()
        if not self._read_at <= now < self._read_at + READ_MICROS:
            self._known = frozenset(await self._notes.of_shelf(SHELF))
            self._read_at = now
        return crawl_id in self._known
