"""Fingerprints in memory."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from uuid import UUID

from streams.sketches import sketch_similarity
from streams.stores.memory.records import MemoryPages
from streams.stores.page_record import Deduplicated, PageRecord
from streams.stores.protocols import (
    MAX_FOUND,
    UNREAD,
    AliasEvidence,
    Fingerprint,
    Known,
    Sight,
    group_of,
)
from streams.stores.rows import pack_list, pack_row, unpack_list

PER_KEY = 100


class MemoryFingerprints:
    """Fingerprints by page, and the keys that lead to pages.

    The hints have write times as in Cassandra, so that two workers with rows that are out of date leave the same hints
    as there. `pages` has the records of the same pages.
    """

    def __init__(self, pages: MemoryPages | None = None) -> None:
        self._pages = pages or MemoryPages()
        self._rows: dict[UUID, Fingerprint] = {}
        self._decisions: dict[UUID, tuple[int, bytes, bytes]] = {}
        """Write time, group (or the page itself), and the first sights at other pages of the site, by page."""
        self._members: dict[UUID, dict[UUID, None]] = defaultdict(dict)
        """The pages of each group in the order of their arrival, by group."""
        self._groups: dict[UUID, tuple[int, UUID]] = {}
        """Write time and representative, by group."""
        self._groups_of: dict[UUID, dict[UUID, None]] = defaultdict(dict)
        self._removed_at: dict[UUID, int] = {}
        self._hints: dict[int, dict[UUID, tuple[int, bool]]] = defaultdict(dict)
        """Write time, and True if the hint is deleted, by key and page."""
        self._hidden: dict[UUID, tuple[int, bool]] = {}
        self._alias_evidence: dict[tuple[str, str, int], tuple[tuple[bool, int], AliasEvidence]] = {}

    async def put(
        self, fingerprint: Fingerprint, at: int, former: Known = UNREAD, record: Deduplicated | None = None
    ) -> None:
        page_id = fingerprint.page_id
        known = await self.get(page_id) if former is UNREAD else former
        if known is not None and known.written_at > at:
            return
        if record is not None:
            await self._pages.put(page_id, record, record.at)
        stored = self._rows.get(page_id)
        if at > self._removed_at.get(page_id, -1) and (stored is None or stored.written_at <= at):
            self._rows[page_id] = replace(fingerprint, written_at=at, in_links=0, representative=None)
        if at > self._removed_at.get(page_id, -1) and fingerprint.representative == page_id:
            self._write_decision(page_id, page_id, at, pack_list(()))
        self._hide(page_id, at, False)
        self._hint(fingerprint, at, False)
        if known is not None:
            self._hint(known, at, True, set(fingerprint.keys))

    async def get(self, page_id: UUID) -> Fingerprint | None:
        return self._add_decision(self._rows[page_id]) if page_id in self._rows else None

    async def get_with_record(self, page_id: UUID) -> tuple[PageRecord, Fingerprint | None]:
        return await self._pages.get(page_id), await self.get(page_id)

    async def get_all(self, page_ids: Sequence[UUID]) -> dict[UUID, Fingerprint]:
        known = {page_id: self._add_decision(self._rows[page_id]) for page_id in page_ids if page_id in self._rows}
        return {page_id: replace(page, representative=None) for page_id, page in known.items()}

    async def look_up(
        self, fingerprint: Fingerprint, similarity: float, own: Fingerprint | None = None
    ) -> list[Fingerprint]:
        hints = {page.page_id for key in fingerprint.keys for page in self._find_pages(key)}
        if own is not None and (hints == {fingerprint.page_id} or not fingerprint.keys):
            return [own]
        own = await self.get(fingerprint.page_id)
        shares: dict[UUID, tuple[float, Fingerprint]] = {}
        for key in fingerprint.keys:
            for other in self._find_pages(key)[:PER_KEY]:
                shares[other.page_id] = (sketch_similarity(fingerprint.sketch, other.sketch), other)
        alike = [found for found in shares.values() if found[0] >= similarity]
        found = [page for _, page in sorted(alike, key=lambda found: (-found[0], found[1].page_id))[:MAX_FOUND]]
        pages = {page.page_id: page for page in (own, *found) if page is not None}
        return list(pages.values())

    async def remove(self, page_id: UUID, at: int, former: Known = UNREAD) -> None:
        known = await self.get(page_id) if former is UNREAD else former
        self._removed_at[page_id] = max(at, self._removed_at.get(page_id, at))
        if page_id in self._decisions and self._decisions[page_id][0] <= at:
            self._members[UUID(bytes=self._decisions.pop(page_id)[1])].pop(page_id, None)
        if self._hidden.get(page_id, (at + 1, True))[0] <= at:
            del self._hidden[page_id]
        if page_id in self._rows and self._rows[page_id].written_at <= at:
            del self._rows[page_id]
        if known is not None and known.written_at <= at:
            self._hint(known, at, True)

    async def set_representative(
        self,
        page_id: UUID,
        representative: UUID,
        at: int,
        inherited: Sequence[Sight] = (),
        representative_text: str = "",
        known: Known = UNREAD,
    ) -> None:
        page = await self.get(page_id) if known is UNREAD else known
        if page is None or page.decided_at > at or at <= self._removed_at.get(page_id, -1):
            return
        group = page_id if representative == page_id else group_of(representative, representative_text)
        self._write_decision(page_id, group, at, pack_list(inherited))
        if group != page_id:
            self._groups.setdefault(group, (0, representative))
            self._groups_of[representative].setdefault(group)
            self._hide(page_id, at, True)
            self._hint(page, at, True)
        elif page.is_hidden or (page.group not in (None, page_id) and page.decided_at >= page.written_at):
            self._hide(page_id, at, False)
            self._hint(page, at, False)

    def _write_decision(self, page_id: UUID, group: UUID, at: int, inherited: bytes) -> None:
        former = self._decisions.get(page_id, (0, group.bytes, b""))
        latest = self._decisions[page_id] = max(former, (at, group.bytes, inherited))
        self._members[UUID(bytes=former[1])].pop(page_id, None)
        joined = UUID(bytes=latest[1])
        if joined != page_id:
            self._members[joined][page_id] = None

    async def duplicates(self, representative: UUID, limit: int) -> list[Fingerprint]:
        members = (page_id for group in self._find_groups(representative) for page_id in self._members[group])
        known = (page_id for page_id in members if page_id in self._rows and page_id != representative)
        return [self._add_decision(self._rows[page_id]) for page_id in islice(known, limit)]

    async def move_duplicates(self, former: UUID, successor: UUID, at: int, kept_text: str = "") -> None:
        for group in self._find_groups(former):
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

    def iter_rows(self) -> Iterator[tuple[UUID, bytes]]:
        """Yield all rows, as they are stored."""
        yield from ((page_id, pack_row(page)) for page_id, page in self._rows.items())

    def _find_pages(self, key: int) -> list[Fingerprint]:
        ids = {page_id for page_id, (_, is_deleted) in self._hints.get(key, {}).items() if not is_deleted}
        return [self._add_decision(self._rows[page_id]) for page_id in sorted(ids) if page_id in self._rows]

    def _add_decision(self, fingerprint: Fingerprint) -> Fingerprint:
        page_id = fingerprint.page_id
        decided_at, decided, inherited = self._decisions.get(page_id, (0, b"", b""))
        group = UUID(bytes=decided) if decided else None
        return replace(
            fingerprint,
            representative=self._representative(group) if group not in (None, page_id) else group,
            decided_at=decided_at,
            inherited=unpack_list(Sight, inherited) if decided_at >= fingerprint.written_at else (),
            group=group,
            is_hidden=self._hidden.get(page_id, (0, False))[1],
        )

    def _representative(self, group: UUID) -> UUID:
        return self._groups.get(group, (0, group))[1]

    def _find_groups(self, representative: UUID) -> list[UUID]:
        groups = {representative: None, **self._groups_of[representative]}
        return [group for group in groups if self._representative(group) == representative]

    def _hint(self, page: Fingerprint, at: int, is_deleted: bool, kept: Collection[int] = ()) -> None:
        """Write or delete the page's hints, except those under the keys `kept`."""
        for key in page.keys:
            if key not in kept:
                hints = self._hints[key]
                hints[page.page_id] = max(hints.get(page.page_id, (at, is_deleted)), (at, is_deleted))

    def _hide(self, page_id: UUID, at: int, is_hidden: bool) -> None:
        if at > self._removed_at.get(page_id, -1):
            self._hidden[page_id] = max(self._hidden.get(page_id, (at, is_hidden)), (at, is_hidden))
