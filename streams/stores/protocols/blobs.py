"""Content-addressed bytes, and the collection of blobs that nothing refers to."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


class Blobs(Protocol):
    """Content-addressed bytes: bodies, documents, statements, vectors."""

    async def put(self, content: bytes) -> str:
        """Store the content and return its reference: 64 hexadecimal digits, blake2b-256 of the content."""

    async def get(self, ref: str) -> bytes:
        """Return the content. Raises MissingBlob."""


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob without its content."""

    ref: str
    written_at: int
    """When the blob was stored last, microseconds since 1970 UTC."""


class BlobCollection(Protocol):
    """All blobs and all references to blobs, for the collection of blobs that nothing refers to.

    Rows are read in an order of positions from 0 to 2^64. A read from a position returns about `limit` rows, and the
    position where the next read starts, or None at the end.
    """

    @property
    def sources(self) -> Sequence[str]:
        """The tables with rows that refer to blobs."""

    async def references(
        self, source: str, position: int, limit: int, without: Collection[UUID] = ()
    ) -> tuple[list[bytes], int | None]:
        """Return references in the rows of a source, 32 bytes each, `without` references in the rows of these pages."""

    async def stored(self, position: int, limit: int) -> tuple[list[StoredBlob], int | None]:
        """Return blobs, also blobs that were stored only in part."""

    async def candidates(self, position: int, limit: int) -> tuple[list[str], int | None]:
        """Return references of the blobs that a former sweep found unreferenced."""

    async def candidates_since(self, refs: Sequence[str]) -> dict[str, int]:
        """Return when each of these blobs became a candidate (microseconds since 1970 UTC), without other blobs."""

    async def note_candidates(self, refs: Sequence[str], at: int) -> None: ...

    async def drop_candidates(self, refs: Sequence[str]) -> None: ...

    async def find(self, ref: str) -> StoredBlob | None: ...

    async def size_bytes(self, ref: str) -> int:
        """Return the stored size of the blob."""

    async def delete(self, blob: StoredBlob) -> None:
        """Delete the blob, unless it was stored again since. Afterwards the blob is no candidate."""
