"""The head of a host's queue: a bounded cache of the store. Pure."""

from bisect import insort
from uuid import UUID

from streams.stores.protocols import QueueEntry

HEAD_ENTRIES = 64
"""Maximum number of queue entries of one host in memory."""


class Head:
    """The first entries of a host's queue, in order. If it is `complete`, the queue has no others."""

    def __init__(self) -> None:
        self._entries: list[QueueEntry] = []
        self.complete = False

    def fill(self, entries: list[QueueEntry]) -> None:
        """Take the store's first entries after the cursor, at most HEAD_ENTRIES."""
        self._entries = list(entries)
        self.complete = len(entries) < HEAD_ENTRIES

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def known(self) -> bool:
        """False if only the store knows which entry is next."""
        return self.complete or bool(self._entries)

    def first(self) -> QueueEntry | None:
        return self._entries[0] if self._entries else None

    def pages(self) -> set[UUID]:
        return {entry.page_id for entry in self._entries}

    def take(self) -> QueueEntry:
        return self._entries.pop(0)

    def push(self, entry: QueueEntry) -> None:
        """Add an entry that the store has from now on. An entry after the head is read from the store later."""
        if not self.complete and (not self._entries or entry > self._entries[-1]):
            return
        insort(self._entries, entry)
        if len(self._entries) > HEAD_ENTRIES:
            self._entries.pop()
            self.complete = False
