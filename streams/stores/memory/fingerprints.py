"""Fingerprints in memory."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import replace
from uuid import UUID

from streams.stores.protocols import Fingerprint
from streams.stores.sketches import sketch_similarity
from streams.stores.tables import DEFAULT_TABLES, MAX_DISTANCE, hamming, tables

PER_BAND = 100


class MemoryFingerprints:
    """A page's row, and the keys under which it is found."""

    def __init__(self, table_count: int = DEFAULT_TABLES) -> None:
        self._tables = tables(table_count)
        self._rows: dict[UUID, Fingerprint] = {}
        self._removed_at: dict[UUID, int] = {}
        self._keys: dict[Hashable, set[UUID]] = defaultdict(set)

    async def put(self, fingerprint: Fingerprint, at: int) -> None:
        page_id = fingerprint.page_id
        former = self._rows.get(page_id)
        if at <= self._removed_at.get(page_id, -1) or (former is not None and at < former.written_at):
            return
        if former is not None:
            self._unlink(former)
            fingerprint = replace(fingerprint, canonical=former.canonical, decided_at=former.decided_at)
        else:
            fingerprint = replace(fingerprint, canonical=None, decided_at=0)
        self._rows[page_id] = replace(fingerprint, written_at=at)
        for key in self._keys_of(fingerprint):
            self._keys[key].add(page_id)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        return self._rows.get(page_id)

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        return self._found([("content", content_hash)])

    async def near(self, simhash: int, distance: int = MAX_DISTANCE) -> list[Fingerprint]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")
        found = self._found(self._table_keys(simhash))
        return [fingerprint for fingerprint in found if hamming(fingerprint.simhash, simhash) <= distance]

    async def similar(self, fingerprint: Fingerprint, similarity: float) -> list[Fingerprint]:
        found: dict[UUID, Fingerprint] = {}
        for band in fingerprint.bands:
            for other in self._found([("band", band)])[:PER_BAND]:
                if sketch_similarity(fingerprint.sketch, other.sketch) >= similarity:
                    found[other.page_id] = other
        return [found[page_id] for page_id in sorted(found)]

    async def remove(self, page_id: UUID, at: int) -> None:
        former = self._rows.get(page_id)
        self._removed_at[page_id] = max(at, self._removed_at.get(page_id, at))
        if former is not None and former.written_at <= at:
            self._unlink(former)
            self._keys["member", former.canonical].discard(page_id)
            del self._rows[page_id]

    async def set_canonical(self, page_id: UUID, canonical: UUID, at: int) -> None:
        former = self._rows.get(page_id)
        if former is None:
            return
        decided = (former.decided_at, former.canonical.bytes if former.canonical else b"")
        if (at, canonical.bytes) > decided:
            if former.canonical is not None:
                self._keys["member", former.canonical].discard(page_id)
            self._keys["member", canonical].add(page_id)
            self._rows[page_id] = replace(former, canonical=canonical, decided_at=at)

    async def duplicates(self, canonical: UUID) -> list[UUID]:
        return sorted(self._keys["member", canonical] - {canonical})

    def _found(self, keys: Iterable[Hashable]) -> list[Fingerprint]:
        ids = set().union(*(self._keys.get(key, set()) for key in keys))
        return [self._rows[page_id] for page_id in sorted(ids)]

    def _unlink(self, fingerprint: Fingerprint) -> None:
        for key in self._keys_of(fingerprint):
            self._keys[key].discard(fingerprint.page_id)

    def _keys_of(self, fingerprint: Fingerprint) -> list[Hashable]:
        keys: list[Hashable] = [("content", fingerprint.content_hash)]
        keys += self._table_keys(fingerprint.simhash)
        keys += [("band", band) for band in fingerprint.bands]
        return keys

    def _table_keys(self, simhash: int) -> list[Hashable]:
        return [("table", number, table.key(simhash)) for number, table in enumerate(self._tables)]
