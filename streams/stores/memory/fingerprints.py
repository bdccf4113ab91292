"""Fingerprints in memory."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from uuid import UUID

from streams.stores.minhash import sketch_similarity
from streams.stores.protocols import MAX_FOUND, AliasEvidence, Fingerprint, group_of
from streams.stores.simhash_tables import DEFAULT_TABLES, MAX_DISTANCE, hamming, tables

PER_BAND = 100


class MemoryFingerprints:
    """Fingerprints by page, and the keys under which pages are found."""

    def __init__(self, table_count: int = DEFAULT_TABLES) -> None:
        self._tables = tables(table_count)
        self._rows: dict[UUID, Fingerprint] = {}
        self._decisions: dict[UUID, tuple[int, bytes, int]] = {}
        """By page: write time, group (or the page itself), and the age of its site."""
        self._members: dict[UUID, dict[UUID, None]] = defaultdict(dict)
        """By group: its pages, in the order in which they came."""
        self._groups: dict[UUID, tuple[int, UUID]] = {}
        """By group: write time and representative."""
        self._groups_of: dict[UUID, dict[UUID, None]] = defaultdict(dict)
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
        self._link(page_id)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        return self._with_decision(self._rows[page_id]) if page_id in self._rows else None

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        return self._found([("content", content_hash)])[:MAX_FOUND]

    async def near(self, simhash: int, distance: int = MAX_DISTANCE, version: int = 1) -> list[Fingerprint]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")
        found = self._found(self._table_keys(simhash))
        near = [
            page for page in found if hamming(page.simhash, simhash) <= distance and page.simhash_version == version
        ]
        return sorted(near, key=lambda page: (hamming(page.simhash, simhash), page.page_id))[:MAX_FOUND]

    async def similar(self, fingerprint: Fingerprint, similarity: float) -> list[Fingerprint]:
        shares: dict[UUID, tuple[float, Fingerprint]] = {}
        for band in fingerprint.bands:
            for other in self._found([("band", band)])[:PER_BAND]:
                shares[other.page_id] = (sketch_similarity(fingerprint.sketch, other.sketch), other)
        alike = [found for found in shares.values() if found[0] >= similarity]
        return [page for _, page in sorted(alike, key=lambda found: (-found[0], found[1].page_id))[:MAX_FOUND]]

    async def remove(self, page_id: UUID, at: int) -> None:
        former = self._rows.get(page_id)
        self._removed_at[page_id] = max(at, self._removed_at.get(page_id, at))
        if page_id in self._decisions and self._decisions[page_id][0] <= at:
            self._members[UUID(bytes=self._decisions.pop(page_id)[1])].pop(page_id, None)
        if former is not None and former.written_at <= at:
            self._unlink(former)
            del self._rows[page_id]

    async def set_representative(
        self, page_id: UUID, representative: UUID, at: int, site_first_seen: int = 0, representative_text: str = ""
    ) -> None:
        if page_id not in self._rows:
            return
        group = page_id if representative == page_id else group_of(representative, representative_text)
        former = self._decisions.get(page_id, (0, group.bytes, 0))
        latest = self._decisions[page_id] = max(former, (at, group.bytes, site_first_seen))
        self._members[UUID(bytes=former[1])].pop(page_id, None)
        joined = UUID(bytes=latest[1])
        if joined != page_id:
            self._members[joined][page_id] = None
        if joined == group != page_id:
            self._groups.setdefault(group, (0, representative))
            self._groups_of[representative].setdefault(group)
        self._unlink(self._rows[page_id])
        self._link(page_id)

    async def duplicates(self, representative: UUID, limit: int) -> list[Fingerprint]:
        members = (page_id for group in self._represented(representative) for page_id in self._members[group])
        known = (page_id for page_id in members if page_id in self._rows and page_id != representative)
        return [self._with_decision(self._rows[page_id]) for page_id in islice(known, limit)]

    async def move_duplicates(self, former: UUID, successor: UUID, at: int, kept_text: str = "") -> None:
        for group in self._represented(former):
            if self._members[group] and not (kept_text and group == group_of(former, kept_text)):
                written_at, _ = self._groups.get(group, (0, former))
                self._groups[group] = (max(at, written_at + 1), successor)
                self._groups_of[successor][group] = None
                self._groups_of[former].pop(group, None)

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        found = {representative: await self.duplicates(representative, limit) for representative in representatives}
        return {representative: pages for representative, pages in found.items() if pages}

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
        representative = self._representative(UUID(bytes=decided)) if decided else None
        if decided == fingerprint.page_id.bytes:
            representative = fingerprint.page_id
        if decided_at < fingerprint.written_at:
            since = 0
        return replace(fingerprint, representative=representative, decided_at=decided_at, site_first_seen=since)

    def _representative(self, group: UUID) -> UUID:
        return self._groups.get(group, (0, group))[1]

    def _represented(self, representative: UUID) -> list[UUID]:
        """The groups of this representative."""
        groups = {representative: None, **self._groups_of[representative]}
        return [group for group in groups if self._representative(group) == representative]

    def _link(self, page_id: UUID) -> None:
        """Make a representative or undecided page known under its keys."""
        page = self._with_decision(self._rows[page_id])
        if page.representative in (None, page_id) or page.decided_at < page.written_at:
            for key in self._keys_of(page):
                self._keys[key].add(page_id)

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
