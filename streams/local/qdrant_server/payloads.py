"""The payloads of a shard's points as JSON, so that an answer needs no object for each of their fields.

The engine reads a payload, makes Python's objects of it, and they become JSON again: 10 µs for each of some 500 points
of a search. Here the JSON is kept as it was written: of new points in memory, of a run in two files. `payloads` has one
text after the other, and `payloads.npz` the sorted ids with the places of their texts. A run of a former Riffle has
none: then the engine is asked.
"""

import mmap
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self
from uuid import UUID

import numpy as np
import orjson

from streams.local.qdrant_server.queries import PointId

TEXTS, PLACES = "payloads", "payloads.npz"
_ID_BYTES = 16
_NESTED = frozenset(".[")
"""Characters of a key that names a part of a field. Only the engine knows such keys."""


class Payloads(Protocol):
    """The payloads of some points of a shard."""

    def find(self, ids: Sequence[PointId]) -> Mapping[PointId, bytes]:
        """Return the payloads that are here, by the points' ids. Some may be of points that were removed."""


class NewPayloads:
    """The payloads of new points, in memory."""

    def __init__(self) -> None:
        self._texts: dict[PointId, bytes] = {}

    def put(self, points: Iterable[tuple[PointId, Any]]) -> None:
        self._texts.update((id, orjson.dumps(payload or {})) for id, payload in points)

    def drop(self, ids: Iterable[PointId]) -> None:
        for id in ids:
            self._texts.pop(id, None)

    def find(self, ids: Sequence[PointId]) -> Mapping[PointId, bytes]:
        return {id: self._texts[id] for id in ids if id in self._texts}


class StoredPayloads:
    """The payloads of a run."""

    def __init__(self, texts: mmap.mmap, ids: Any, places: Any) -> None:
        self._texts, self._ids, self._places = texts, ids, places

    @classmethod
    def open(cls, run: Path) -> Self | None:
        """Return None for a run without these files."""
        if not (run / PLACES).exists():
            return None
        with np.load(run / PLACES) as stored, (run / TEXTS).open("rb") as file:
            if not len(stored["ids"]):
                return None
            return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), stored["ids"], stored["places"])

    def find(self, ids: Sequence[PointId]) -> Mapping[PointId, bytes]:
        named = [id for id in ids if isinstance(id, str)]  # numbers are only in memory
        wanted = _as_array(map(id_bytes, named))
        at = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        places = self._places[at].tolist()
        has = (self._ids[at] == wanted).tolist()
        return {id: self._texts[start:end] for id, (start, end), here in zip(named, places, has, strict=True) if here}

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the id of each point (16 bytes) and its payload, in the order of the ids."""
        for number, (start, end) in enumerate(self._places):
            yield self._ids[number : number + 1].tobytes(), self._texts[start:end]


class PayloadWriter:
    """Writes the payloads of a run. The ids and places stay in memory until `close`: 32 bytes of a point."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._file = (run / TEXTS).open("wb")
        self._ids, self._places, self._end = bytearray(), array("Q"), 0

    def put(self, id: PointId, payload: bytes) -> None:
        """Add a point. Points whose id is a number are left out: the engine is asked for them."""
        if isinstance(id, str):
            self.put_bytes(id_bytes(id), payload)

    def put_bytes(self, id: bytes, payload: bytes) -> None:
        self._file.write(payload)
        self._ids += id
        self._places.extend((self._end, self._end + len(payload)))
        self._end += len(payload)

    def close(self) -> None:
        self._file.close()
        ids = np.frombuffer(bytes(self._ids), f"S{_ID_BYTES}")
        order = np.argsort(ids, kind="stable")
        places = np.frombuffer(self._places, np.uint64).reshape(-1, 2)
        with (self._run / PLACES).open("wb") as file:
            np.savez(file, ids=ids[order], places=places[order])


def select(payload: bytes, wanted: Any) -> bytes | None:
    """Return the part of a payload that a request wants. None: only the engine knows it."""
    if wanted is True:
        return payload
    keys = wanted.get("include") if isinstance(wanted, Mapping) else wanted
    if not isinstance(keys, list) or any(not isinstance(key, str) or _NESTED & set(key) for key in keys):
        return None
    row = orjson.loads(payload)
    return orjson.dumps({key: row[key] for key in row if key in keys})


def id_bytes(id: str) -> bytes:
    return UUID(id).bytes


def _as_array(ids: Iterable[bytes]) -> Any:
    return np.frombuffer(b"".join(ids), f"S{_ID_BYTES}")
