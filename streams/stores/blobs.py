"""Blobs: their references, and those that the stages of one process hand on.

A page's body, document, statements and vectors are each read by the stages behind the one that made them, most often
within the same seconds: an eighth of all requests to Cassandra, in a process with all stages. A blob never changes, and
is stored before it is handed on, so only its removal can be missed: for `FRESH_SECONDS` at most.
"""

import re
from collections.abc import Callable
from hashlib import blake2b

from streams.caches import SizedCache
from streams.errors import Refused
from streams.stores.protocols import Blobs

REF_BYTES = 32
MAX_STORED_BYTES = 256 * 1024 * 1024
"""Maximum size of a blob (bytes): far above any page, and a reader holds it in memory."""
_REF = re.compile(rb"[0-9a-f]{64}")


def admitted(content: bytes) -> bytes:
    """Return the content if it isn't too large for a blob. Raises Refused."""
    if len(content) > MAX_STORED_BYTES:
        raise Refused("blob size", f"{len(content)} bytes are more than {MAX_STORED_BYTES}")
    return content


def blob_ref(content: bytes) -> str:
    """Return the reference of a content: blake2b (RFC 7693) with 256 bits, 64 hexadecimal digits."""
    return blake2b(content, digest_size=REF_BYTES).hexdigest()


def is_blob_ref(ref: str) -> bool:
    """Return True if a text has the form of a reference. No server needs to be asked for another text."""
    return len(ref) == 2 * REF_BYTES and all(digit in "0123456789abcdef" for digit in ref)


def references_in(packed: bytes) -> list[bytes]:
    """Return the references in a packed row or in the JSON of an event, whatever its fields are.

    References are found by their form, so that a row of another release keeps its blobs, too. A content hash has the
    same form, and does no harm as a reference.
    """
    return [bytes.fromhex(found.decode()) for found in _REF.findall(packed)]


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
