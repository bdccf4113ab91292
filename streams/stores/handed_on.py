"""Blobs that the stages of one process hand on: what one stage stored a moment ago, the next one reads from memory.

A page's body, document, statements and vectors are each read by the stages behind the one that made them, most often
within the same seconds: an eighth of all requests to Cassandra, in a process with all stages. A blob never changes, and
is stored before it is handed on, so only its removal can be missed: for `FRESH_SECONDS` at most.
"""

from collections.abc import Callable

from streams.caches import SizedCache
from streams.stores.protocols import Blobs

MAX_BYTES = 32 * 1024 * 1024
"""Maximum size of all blobs in memory."""
MAX_BLOB_BYTES = MAX_BYTES // 16
"""Maximum size of a blob that is kept in memory: one large page must not push out all others."""
FRESH_SECONDS = 120.0
"""Maximum age of a blob that is read from memory."""


class HandedOnBlobs:
    """The blobs of a process whose stages follow each other. `clock` returns steady seconds."""

    def __init__(self, stored: Blobs, clock: Callable[[], float]) -> None:
        self._stored, self._clock = stored, clock
        self._kept = SizedCache[str, tuple[float, bytes]](MAX_BYTES, lambda kept: len(kept[1]))

    async def put(self, content: bytes) -> str:
        """Store the content, keep it, and return its reference. Raises as the store does: then nothing is kept."""
        ref = await self._stored.put(content)
        if len(content) <= MAX_BLOB_BYTES:
            self._kept.put(ref, (self._clock(), content))
        return ref

    async def get(self, ref: str) -> bytes:
        """Return the content, from memory if it was stored here a moment ago. Raises as the store does."""
        kept = self._kept.get(ref)
        if kept is None:
            return await self._stored.get(ref)
        if self._clock() - kept[0] <= FRESH_SECONDS:
            return kept[1]
        self._kept.drop(ref)
        return await self._stored.get(ref)
