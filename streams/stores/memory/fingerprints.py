"""Fingerprints in memory."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from streams.stores.minhash import sketch_similarity
from streams.stores.protocols import AliasEvidence, Fingerprint
from streams.stores.simhash_tables import DEFAULT_TABLES, MAX_DISTANCE, hamming, tables

PER_BAND = 100


class MemoryFingerprints:
    """Fingerprints by page, and the keys under which pages are found."""

    def __init__(self, table_count: int = DEFAULT_TABLES) -> None:
        self._tables = tables(table_count)
        self._rows: dict[UUID, Fingerprint] = {}
        self._decisions: dict[UUID, tuple[int, bytes, int]] = {}
        self._removed_at: dict[UUID, int] = {}
        self._keys: dict[Hashable, set[UUID]] = defaultdict(set)
        self._alias_evidence: dict[tuple[str, str, int], tuple[tuple[bool, int], AliasEvidence]] = {}

    async def put(self, fingerprint: Fingerprint, at: int) -> None:
        page_id = fingerprint.page_id
        former = self._rows.get(page_id)
        if at <= self._removed_at.get(page_id, -1) or (former is not None and at < former.written_at):
            return
        if former is not None:
            self._unlink(former)
        self._rows[page_id] = replace(fingerprint, written_at=at)
        for key in self._keys_of(fingerprint):
            self._keys[key].add(page_id)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        return self._with_decision(self._rows[page_id]) if page_id in self._rows else None

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        return self._found([("content", content_hash)])

    async def near(self, simhash: int, distance: int = MAX_DISTANCE, version: int = 1) -> list[Fingerprint]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")
        found = self._found(self._table_keys(simhash))
        alike = [fingerprint for fingerprint in found if fingerprint.simhash_version == version]
        return [fingerprint for fingerprint in alike if hamming(fingerprint.simhash, simhash) <= distance]

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
        if page_id in self._decisions and self._decisions[page_id][0] <= at:
            self._keys["member", self._decisions.pop(page_id)[1]].discard(page_id)
        if former is not None and former.written_at <= at:
            self._unlink(former)
            del self._rows[page_id]

    async def set_representative(self, page_id: UUID, representative: UUID, at: int, site_first_seen: int = 0) -> None:
        if page_id in self._rows:
            former = self._decisions.get(page_id, (0, b"", 0))
            latest = self._decisions[page_id] = max(former, (at, representative.bytes, site_first_seen))
            self._keys["member", former[1]].discard(page_id)
            self._keys["member", latest[1]].add(page_id)

    async def duplicates(self, representative: UUID) -> list[UUID]:
        members = self._keys["member", representative.bytes]
        return sorted(page_id for page_id in members if page_id in self._rows and page_id != representative)

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        found = {representative: (await self.duplicates(representative))[:limit] for representative in representatives}
        return {
            representative: [self._with_decision(self._rows[member]) for member in members]
            for representative, members in found.items()
            if members
        }

    async def note_alias_evidence(self, evidence: AliasEvidence, at: int) -> None:
        slot = (evidence.host, evidence.rule, evidence.slot)
        weight = (not evidence.agrees, at)
        if weight >= self._alias_evidence.get(slot, (weight, evidence))[0]:
            self._alias_evidence[slot] = (weight, evidence)

    async def alias_evidence(self, host: str) -> list[AliasEvidence]:
        return [evidence for slot, (_, evidence) in sorted(self._alias_evidence.items()) if slot[0] == host]

    def _found(self, keys: Iterable[Hashable]) -> list[Fingerprint]:
        ids = set().union(*(self._keys.get(key, set()) for key in keys))
        return [self._with_decision(self._rows[page_id]) for page_id in sorted(ids)]

    def _with_decision(self, fingerprint: Fingerprint) -> Fingerprint:
        decided_at, decided, since = self._decisions.get(fingerprint.page_id, (0, b"", 0))
        representative = UUID(bytes=decided) if decided else None
        if decided_at < fingerprint.written_at:
            since = 0
        return replace(fingerprint, representative=representative, decided_at=decided_at, site_first_seen=since)

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
