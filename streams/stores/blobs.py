"""Blobs: their references, where they are stored, and those that the stages of one process hand on.

    HASH          a blob of any pages: equal contents are stored once
    PAGE.HASH     a blob of one page, in the partition of its record: written with the part that refers to it, in one
                  write, and erased with the page. HASH is the hash of the content, PAGE the page's id

The hash is behind the point: in a packed row, the length of a reference is before it, and may be the byte of a digit.

A page's body, document, statements and vectors are each read by the stages behind the one that made them, most often
within the same seconds: an eighth of all requests to Cassandra, in a process with all stages. A blob never changes, and
is stored before it is handed on, so only its removal can be missed: for `FRESH_SECONDS` at most.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self
from uuid import UUID

from streams.caches import SizedCache
from streams.errors import MissingBlob, Refused
from streams.stores.page_record import StoredPart
from streams.stores.protocols import Blobs, LinkGroup, Pages

REF_BYTES = 32
PAGE_ID_BYTES = 16
MAX_PAGE_BLOB_BYTES = 512 * 1024
"""Maximum size of a blob that is stored with the record of its page (bytes): one cell of the server, at any ratio."""
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


def page_blob_ref(page_id: UUID, content: bytes) -> str:
    """Return the reference of a content that is stored with the record of a page."""
    return BlobPlace(bytes.fromhex(blob_ref(content)), page_id).ref


def is_of_page(ref: str | None) -> bool:
    """Return True if a reference is one of a blob that is stored with the record of a page."""
    return ref is not None and "." in ref


def have_same_content(one: str | None, other: str | None) -> bool:
    """Return whether two references are of equal contents, wherever each is stored."""
    return one is not None and other is not None and one.rpartition(".")[-1] == other.rpartition(".")[-1]


@dataclass(frozen=True, slots=True)
class BlobPlace:
    """The parts of a reference."""

    hash: bytes
    """The hash of the content."""
    page_id: UUID | None
    """The page in whose partition the blob is, or None."""

    @classmethod
    def of(cls, ref: str) -> Self:
        """Return the place of a blob. Raises MissingBlob for another text: no server needs to be asked for it."""
        page, dot, digits = ref.rpartition(".")
        if not _is_hex(digits, REF_BYTES) or not (_is_hex(page, PAGE_ID_BYTES) if dot else not page):
            raise MissingBlob(f"{ref!r} is no blob reference: 64 hexadecimal digits are")
        return cls(bytes.fromhex(digits), UUID(hex=page) if dot else None)

    @classmethod
    def of_key(cls, key: bytes) -> Self:
        return cls(key[:REF_BYTES], UUID(bytes=key[REF_BYTES:]) if key[REF_BYTES:] else None)

    @property
    def ref(self) -> str:
        return f"{self.page_id.hex}.{self.hash.hex()}" if self.page_id else self.hash.hex()

    @property
    def key(self) -> bytes:
        """The bytes of the reference."""
        return self.hash + (self.page_id.bytes if self.page_id else b"")


def _is_hex(text: str, length_bytes: int) -> bool:
    return len(text) == 2 * length_bytes and all(digit in "0123456789abcdef" for digit in text)


def references_in(packed: bytes) -> list[bytes]:
    """Return the references in a packed row or in the JSON of an event, whatever its fields are.

    References are found by their form, so that a row of another release keeps its blobs, too. A content hash has the
    same form, and does no harm as a reference. Of a blob of one page, this is the hash.
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
        self.hand_on(ref, content)
        return ref

    def hand_on(self, ref: str, content: bytes) -> None:
        """Keep a content that was stored with the record of its page."""
        if len(content) <= MAX_BLOB_BYTES:
            self._kept.put(ref, (self._clock(), content))

    async def get(self, ref: str) -> bytes:
        """Return the content, from memory if it was stored here a moment ago. Raises as the store does."""
        kept = self._kept.get(ref)
        if kept is None:
            return await self._stored.get(ref)
        if self._clock() - kept[0] <= FRESH_SECONDS:
            return kept[1]
        self._kept.drop(ref)
        return await self._stored.get(ref)


class PartWriter:
    """The writer of a part of a page's record, and of the blobs that it refers to: together they are one write.

    `with_record`: False for a page that is read so often that its partition would grow: each blob is a write of its own
    then, and so is a large one.
    """

    def __init__(self, blobs: Blobs, pages: Pages, page_id: UUID, *, with_record: bool) -> None:
        self._blobs, self._pages, self._page_id = blobs, pages, page_id
        self._with_record = with_record
        self._contents: dict[str, bytes] = {}

    async def add(self, content: bytes, former: str | None = None) -> str:
        """Return the reference of a content, which is stored by `put` at the latest.

        `former`: the reference of the page's former content. An equal one keeps its reference.
        """
        if len(content) > MAX_PAGE_BLOB_BYTES:
            return await self._blobs.put(content)
        ref = page_blob_ref(self._page_id, content)
        if not (is_of_page(former) if have_same_content(ref, former) else self._with_record):
            return await self._blobs.put(content)
        self._contents[ref] = content
        return ref

    async def put(self, part: StoredPart, at: int, links: Collection[LinkGroup] = ()) -> None:
        """Write the part at its time, with the contents and with groups of links of the page."""
        await self._pages.put(self._page_id, part, at, self._contents, links)
        for ref, content in self._contents.items():
            self._blobs.hand_on(ref, content)
