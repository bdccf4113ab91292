"""Blobs, records and ledger in memory.

Values pass through the same packing as the real store's, so that what the fake gives back is what Cassandra would
give back: tuples as lists, no object shared with the caller, and the same types refused.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import xxhash

from streams.errors import MissingBlob
from streams.stores.packing import pack, unpack
from streams.stores.protocols import Part, Transition
from streams.stores.row_codec import admitted, blob_ref, pack_transition, unpack_transition

_Cell = tuple[int, bytes]
"""Write time and value. The greater wins: the later write, and of two at one time the greater bytes (as Cassandra)."""


class MemoryBlobs:
    """Content-addressed bytes."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    async def put(self, content: bytes) -> str:
        ref = blob_ref(admitted(content))
        self._contents[ref] = bytes(content)
        return ref

    async def get(self, ref: str) -> bytes:
        try:
            return self._contents[ref]
        except KeyError:
            raise MissingBlob(f"no blob {ref!r} in memory: it was never stored") from None


class MemoryPages:
    """Records in memory: each stage's latest facts about a page."""

    def __init__(self) -> None:
        self._cells: dict[UUID, dict[Part, _Cell]] = {}

    async def put(self, page_id: UUID, part: Part, value: Mapping[str, Any], at: int) -> None:
        _write(self._cells.setdefault(page_id, {}), part, (at, pack(value)))

    async def get(self, page_id: UUID) -> dict[Part, dict[str, Any]]:
        cells = self._cells.get(page_id, {})
        return {part: unpack(packed) for part, (_, packed) in sorted(cells.items())}

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        tokens = ((_token(page_id), page_id) for page_id in self._cells)
        return sorted(one for one in tokens if after < one[0] <= upto)[:limit]


def _token(page_id: UUID) -> int:
    return xxhash.xxh3_64_intdigest(page_id.bytes) - 2**63


class MemoryLedger:
    """Every transition of every page."""

    def __init__(self) -> None:
        self._cells: dict[UUID, dict[UUID, _Cell]] = {}

    async def record(self, *transitions: Transition) -> None:
        for transition in transitions:
            rows = self._cells.setdefault(transition.page_id, {})
            _write(rows, transition.event_id, (transition.at, pack_transition(transition)))

    async def history(self, page_id: UUID) -> list[Transition]:
        """Oldest first."""
        rows = self._cells.get(page_id, {})
        found = [unpack_transition(page_id, event_id, packed) for event_id, (_, packed) in rows.items()]
        return sorted(found, key=lambda transition: (transition.at, transition.event_id))


def _write(cells: dict[Any, _Cell], key: Any, cell: _Cell) -> None:
    cells[key] = max(cells.get(key, cell), cell)
