"""All blobs and all references to blobs in memory."""

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import TypeVar
from uuid import UUID

from streams.stores.blobs import references_in
from streams.stores.memory.entities import MemoryEntities
from streams.stores.memory.fingerprints import MemoryFingerprints
from streams.stores.memory.records import MemoryBlobs, MemoryPages
from streams.stores.protocols import StoredBlob

Key = TypeVar("Key")


class MemoryBlobCollection:
    """The stores of one process, read in the order of hashes, as Cassandra reads in the order of tokens."""

    sources: Sequence[str] = ("pages", "entities")
    tables: Sequence[str] = ("blobs",)

    def __init__(
        self,
        blobs: MemoryBlobs,
        pages: MemoryPages,
        fingerprints: MemoryFingerprints,
        entities: MemoryEntities | None = None,
    ) -> None:
        self._blobs = blobs
        self._rows: dict[str, Callable[[], Iterable[tuple[UUID, bytes]]]] = {
            "pages": lambda: chain(pages.iter_rows(), fingerprints.iter_rows()),
            "entities": (entities or MemoryEntities()).iter_rows,
        }
        self._candidates: dict[str, int] = {}

    async def references(
        self, source: str, position: int, limit: int, without: Collection[UUID] = ()
    ) -> tuple[list[bytes], int | None]:
        packed: dict[UUID, list[bytes]] = {}
        for page_id, value in self._rows[source]():
            packed.setdefault(page_id, []).append(value)
        page_ids, following = _part({page_id: page_id.bytes for page_id in packed}, position, limit)
        values = [value for page_id in page_ids if page_id not in without for value in packed[page_id]]
        return [ref for value in values for ref in references_in(value)], following

    async def stored(self, table: str, position: int, limit: int) -> tuple[list[StoredBlob], int | None]:
        refs, following = _part({ref: ref.encode() for ref in self._blobs.written_at}, position, limit)
        return [StoredBlob(ref, self._blobs.written_at[ref]) for ref in refs], following

    async def of_page(self, page_id: UUID) -> list[StoredBlob]:
        return [StoredBlob(ref, written_at) for ref, written_at in self._blobs.of_page(page_id).items()]

    async def candidates(self, position: int, limit: int) -> tuple[list[str], int | None]:
        return _part({ref: ref.encode() for ref in self._candidates}, position, limit)

    async def candidates_since(self, refs: Sequence[str]) -> dict[str, int]:
        return {ref: self._candidates[ref] for ref in refs if ref in self._candidates}

    async def note_candidates(self, refs: Sequence[str], at: int) -> None:
        self._candidates.update(dict.fromkeys(refs, at))

    async def drop_candidates(self, refs: Sequence[str]) -> None:
        for ref in refs:
            self._candidates.pop(ref, None)

    async def find(self, ref: str) -> StoredBlob | None:
        return StoredBlob(ref, self._blobs.written_at[ref]) if ref in self._blobs.written_at else None

    async def size_bytes(self, ref: str) -> int:
        return len(await self._blobs.get(ref))

    async def delete(self, blob: StoredBlob) -> None:
        self._blobs.delete(blob.ref, blob.written_at)
        self._candidates.pop(blob.ref, None)


def _part(keys: dict[Key, bytes], position: int, limit: int) -> tuple[list[Key], int | None]:
    """Return at most `limit` keys from a position on, and the position of the next read."""
    places = {key: int.from_bytes(blake2b(name, digest_size=8).digest(), "big") for key, name in keys.items()}
    ordered = sorted(((place, key) for key, place in places.items()), key=lambda pair: pair[0])
    rest = [(place, key) for place, key in ordered if place >= position]
    return [key for _, key in rest[:limit]], rest[limit][0] if len(rest) > limit else None
