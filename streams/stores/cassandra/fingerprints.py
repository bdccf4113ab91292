"""Fingerprints in Cassandra: one row beside a page's record, and one row per key that leads from its duplicates to it.

A row found by a key is a hint. The page's own row is read afterwards, and decides. So a write that a crash interrupted,
or that a later write overtook, leaves at most a hint that leads nowhere.

`put` writes a page's hints. They are deleted when the page becomes a duplicate, and written again when it is promoted.
The column `hidden` is written with the same times as the hints: it is true if the latest of these writes deleted them.
So if two workers decide at the same moment, and the deletion by the loser comes last, the row of the representative
shows that its hints are missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from streams.sketches import sketch_similarity
from streams.stores.cassandra.records import PUT_PART, RECORD_KIND
from streams.stores.cassandra.session import CassandraSession
from streams.stores.packing import pack, unpack
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
from streams.stores.rows import pack_list, pack_row, unpack_list, unpack_row

PER_KEY = 100
"""Maximum number of hints that are read under one key."""
MAX_GROUPS = 100
"""Maximum number of groups of one representative that are read or moved at once."""
KEYS_AT_ONCE = 100
_REPRESENTS, _MEMBER = 0, 1
"""Kinds of rows in the table of groups: a group that the page represents, and a page of the group."""
_EARLIEST = 1
"""Write time of a group's first representative. Each move replaces it, in whatever order the two are written."""
_FOR_EVER = 1 << 61
"""Microseconds (73,000 years) added to the write time of a disagreement, so that no agreement replaces it."""

_PUT = (
    "INSERT INTO pages (page_id, kind, name, value, sights, at, hidden) "
    "VALUES (:page_id, 1, '', :value, :sights, :at, false) USING TIMESTAMP :at"
)
_PUT_ELECTED = (
    "INSERT INTO pages (page_id, kind, name, value, sights, at, hidden, canonical, decided_at, inherited) "
    "VALUES (:page_id, 1, '', :value, :sights, :at, false, :canonical, :at, :inherited) USING TIMESTAMP :at"
)
_PUT_RECORD = PUT_PART.replace(":value", ":record").replace(":at", ":record_at")
_SELECT = "SELECT page_id, value, at, sights, canonical, decided_at, inherited, hidden FROM pages "
_GET = f"{_SELECT}WHERE page_id = :page_id AND kind = 1"
_GET_WITH_RECORD = (
    "SELECT kind, name, page_id, value, at, sights, canonical, decided_at, inherited, hidden FROM pages "
    "WHERE page_id = :page_id AND kind <= 1"
)
_REMOVE = "DELETE FROM pages USING TIMESTAMP :at WHERE page_id = :page_id AND kind = 1"
_DECIDE = (
    "UPDATE pages USING TIMESTAMP :at SET canonical = :canonical, decided_at = :at, "
    "inherited = :inherited{} WHERE page_id = :page_id AND kind = 1 AND name = ''"
)
_KEEP, _SHOW, _HIDE = _DECIDE.format(""), _DECIDE.format(", hidden = false"), _DECIDE.format(", hidden = true")
"""Decisions that leave the page's hints as they are, come after the hints were written, or before they are deleted."""
_PUT_HINT = (
    "INSERT INTO fingerprints_by_key (key, page_id, sketch) VALUES (:key, :page_id, :sketch) USING TIMESTAMP :at"
)
_GET_HINTS = "SELECT page_id, sketch FROM fingerprints_by_key WHERE key IN :keys PER PARTITION LIMIT :count"
_CUT_HINT = "DELETE FROM fingerprints_by_key USING TIMESTAMP :at WHERE key = :key AND page_id = :page_id"
_PUT_MEMBER = "INSERT INTO duplicate_groups (id, kind, other) VALUES (:key, 1, :page_id) USING TIMESTAMP :at"
_PUT_GROUP = """
BEGIN UNLOGGED BATCH
    INSERT INTO duplicate_groups (id, kind, other) VALUES (:representative, 0, :key) USING TIMESTAMP :at;
    INSERT INTO duplicate_groups (id, representative, moved_at) VALUES (:key, :representative, :at) USING TIMESTAMP :at;
APPLY BATCH
"""
_PUT_MEMBER_AND_GROUP = """
BEGIN UNLOGGED BATCH
    INSERT INTO duplicate_groups (id, kind, other) VALUES (:representative, 0, :key) USING TIMESTAMP :earliest;
    INSERT INTO duplicate_groups (id, representative, moved_at) VALUES (:key, :representative, :earliest)
        USING TIMESTAMP :earliest;
    INSERT INTO duplicate_groups (id, kind, other) VALUES (:key, 1, :page_id) USING TIMESTAMP :at;
APPLY BATCH
"""
_GET_GROUPS = (
    "SELECT id, kind, other, representative, moved_at FROM duplicate_groups "
    "WHERE id IN :keys PER PARTITION LIMIT :count"
)
_GET_REPRESENTATIVES = "SELECT DISTINCT id, representative FROM duplicate_groups WHERE id IN :keys"
_CUT_GROUP_OF = (
    "DELETE FROM duplicate_groups USING TIMESTAMP :at WHERE id = :representative AND kind = 0 AND other = :key"
)
_GET_PAGES = f"{_SELECT}WHERE page_id IN :keys AND kind = 1"
_CUT_MEMBER = "DELETE FROM duplicate_groups USING TIMESTAMP :at WHERE id = :key AND kind = 1 AND other = :page_id"
_PUT_VARIANT = (
    "INSERT INTO url_variants (host, rule, slot, url, other, agrees) "
    "VALUES (:host, :rule, :slot, :url, :other, :agrees) USING TIMESTAMP :at"
)
_GET_VARIANTS = "SELECT rule, slot, url, other, agrees FROM url_variants WHERE host = :host"


@dataclass
class _Group:
    """One partition of the table of groups."""

    representative: UUID
    moved_at: int = 0
    members: list[UUID] = field(default_factory=list)
    represents: list[UUID] = field(default_factory=list)


class CassandraFingerprints:
    """Fingerprints, found by their own keys."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(
        self, fingerprint: Fingerprint, at: int, former: Known = UNREAD, record: Deduplicated | None = None
    ) -> None:
        if former is UNREAD:
            former = await self.get(fingerprint.page_id)
        if former is not None and former.written_at > at:
            return
        row: dict[str, Any] = {"value": pack_row(fingerprint), "sights": pack_list(fingerprint.sights)}
        puts = [_PUT]
        if fingerprint.representative == fingerprint.page_id:
            puts, row = [_PUT_ELECTED], {**row, "canonical": fingerprint.page_id, "inherited": pack_list(())}
        if record is not None:
            puts.append(_PUT_RECORD)
            row |= {"part": record.PART, "record": pack(record.row()), "record_at": record.at}
        await self._put_hints(fingerprint, at, puts, row)
        if former is not None:
            await self._cut(former, fingerprint, at)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        found = await self._get_all([page_id])
        return found[0] if found else None

    async def get_with_record(self, page_id: UUID) -> tuple[PageRecord, Fingerprint | None]:
        parts, pages = {}, []
        for kind, name, *row in await self._session.execute(_GET_WITH_RECORD, {"page_id": page_id}):
            if kind == RECORD_KIND:
                parts[name] = unpack(row[1])
            elif page := _page(*row):
                pages.append(page)
        return PageRecord(parts), next(iter(await self._add_representatives(pages)), None)

    async def look_up(
        self, fingerprint: Fingerprint, similarity: float, own: Fingerprint | None = None
    ) -> list[Fingerprint]:
        page = fingerprint
        hints = await self._hints(page)
        if own is not None and (set(hints) == {page.page_id} or not page.keys):
            return [own]
        rows = await self._get_all([page.page_id, *_most_similar(page, hints, similarity)])
        # The row may be of a later text than the hint.
        return [
            row
            for row in rows
            if row.page_id == page.page_id or sketch_similarity(page.sketch, row.sketch) >= similarity
        ]

    async def remove(self, page_id: UUID, at: int, former: Known = UNREAD) -> None:
        if former is UNREAD:
            former = await self.get(page_id)
        await self._session.execute(_REMOVE, {"page_id": page_id}, at=at)
        if former is None or former.written_at > at:
            return
        await self._cut(former, None, at)
        if former.group is not None:
            await self._leave_group(former, max(at, former.decided_at))

    async def set_representative(
        self,
        page_id: UUID,
        representative: UUID,
        at: int,
        inherited: Sequence[Sight] = (),
        representative_text: str = "",
        known: Known = UNREAD,
    ) -> None:
        former = await self.get(page_id) if known is UNREAD else known
        if former is None or former.decided_at > at:
            return
        group = page_id if representative == page_id else group_of(representative, representative_text)
        decision = {
            "page_id": page_id,
            "canonical": group,
            "inherited": pack_list(inherited),
        }
        if group == page_id:
            await self._elect(former, decision, at)
        else:
            await self._join(former, decision, representative, at)
        if former.group not in (None, group) and former.decided_at < at:
            # With the write time of the deleted row: a later time could delete another worker's new row.
            await self._leave_group(former, former.decided_at)

    async def _elect(self, page: Fingerprint, decision: dict[str, Any], at: int) -> None:
        """Make the page a representative. `put` wrote its hints, unless it was a duplicate since."""
        if page.is_hidden or (page.group not in (None, page.page_id) and page.decided_at >= page.written_at):
            await self._put_hints(page, at)  # found by look-ups, before it is a representative
            await self._session.execute_grouped((_SHOW, {**decision, "at": at}))
        else:
            await self._session.execute_grouped((_KEEP, {**decision, "at": at}))

    async def _join(self, page: Fingerprint, decision: dict[str, Any], representative: UUID, at: int) -> None:
        """Make the page a duplicate, and then delete its hints."""
        group = decision["canonical"]
        member = {"key": group, "page_id": page.page_id}
        if group == representative:
            await self._session.execute(_PUT_MEMBER, member, at=at)
        else:
            named = {**member, "representative": representative, "earliest": _EARLIEST}
            await self._session.execute(_PUT_MEMBER_AND_GROUP, named, at=at)
        await self._session.execute_grouped((_HIDE, {**decision, "at": at}))
        if at >= page.written_at:
            await self._cut(page, None, at)

    async def _leave_group(self, page: Fingerprint, at: int) -> None:
        await self._session.execute(_CUT_MEMBER, {"key": page.group, "page_id": page.page_id}, at=at)

    async def duplicates(self, representative: UUID, limit: int) -> list[Fingerprint]:
        groups = await self._groups_of([representative], 2 * limit)
        # A row may be a hint of a page that has left the group.
        members = dict.fromkeys(page_id for group in groups.values() for page_id in group.members)
        found = await self._rows(list(members)[: 2 * limit])
        pages = [page for page in found if page.group in groups and page.page_id != representative]
        return [replace(page, representative=representative) for page in pages][:limit]

    async def move_duplicates(self, former: UUID, successor: UUID, at: int, kept_text: str = "") -> None:
        for group_id, group in (await self._groups_of([former], 1)).items():
            if not group.members or (kept_text and group_id == group_of(former, kept_text)):
                continue
            moved_at = max(at, group.moved_at + 1)
            await self._session.execute(_PUT_GROUP, {"key": group_id, "representative": successor}, at=moved_at)
            await self._session.execute(_CUT_GROUP_OF, {"representative": former, "key": group_id}, at=moved_at)

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        """As the Protocol says, by few requests with many keys: a searcher waits, and many requests are more work."""
        if not representatives:
            return {}
        groups = await self._groups_of(representatives, limit)
        members = await self.get_all([page_id for group in groups.values() for page_id in group.members])
        found: dict[UUID, list[Fingerprint]] = {}
        for page in members.values():
            if page.group is not None and page.group in groups:
                representative = groups[page.group].representative
                if representative != page.page_id:
                    found.setdefault(representative, []).append(replace(page, representative=representative))
        return {representative: pages[:limit] for representative, pages in found.items()}

    async def get_all(self, page_ids: Sequence[UUID]) -> dict[UUID, Fingerprint]:
        """As the Protocol says, by few requests with many keys."""
        wanted = sorted(set(page_ids))
        chunks = [wanted[start : start + KEYS_AT_ONCE] for start in range(0, len(wanted), KEYS_AT_ONCE)]
        answers = await self._session.execute_many(_GET_PAGES, [{"keys": chunk} for chunk in chunks])
        pages = [page for rows in answers for row in rows if (page := _page(*row))]
        return {page.page_id: replace(page, representative=None) for page in pages}

    async def note_alias_evidence(self, evidence: AliasEvidence, at: int) -> None:
        row = {name: getattr(evidence, name) for name in ("host", "rule", "slot", "url", "other", "agrees")}
        await self._session.execute(_PUT_VARIANT, row, at=at if evidence.agrees else at + _FOR_EVER)

    async def alias_evidence(self, host: str) -> list[AliasEvidence]:
        return [AliasEvidence(host, *row) for row in await self._session.execute(_GET_VARIANTS, {"host": host})]

    async def _get_all(self, page_ids: Iterable[UUID]) -> list[Fingerprint]:
        return await self._add_representatives(await self._rows(page_ids))

    async def _rows(self, page_ids: Iterable[UUID]) -> list[Fingerprint]:
        """Return the pages' rows, without the representatives of their groups."""
        wanted = list(dict.fromkeys(page_ids))
        answers = await self._session.execute_many(_GET, [{"page_id": page_id} for page_id in wanted])
        return [page for rows in answers for row in rows if (page := _page(*row))]

    async def _add_representatives(self, pages: Sequence[Fingerprint]) -> list[Fingerprint]:
        groups = sorted({page.group for page in pages if page.group not in (None, page.page_id)})
        known = await self._session.execute(_GET_REPRESENTATIVES, {"keys": groups}) if groups else []
        moved: dict[UUID | None, UUID] = {group: representative for group, representative in known if representative}
        return [
            replace(
                page, representative=page.group if page.group == page.page_id else moved.get(page.group, page.group)
            )
            for page in pages
        ]

    async def _hints(self, page: Fingerprint) -> dict[UUID, bytes]:
        """Return the pages that the keys of this page lead to, with their sketches."""
        if not page.keys:
            return {}
        return dict(await self._session.execute(_GET_HINTS, {"keys": list(page.keys), "count": PER_KEY}))

    async def _groups_of(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, _Group]:
        """Return the groups that these pages represent, each with `limit` of its pages."""
        wanted = set(representatives)
        found = await self._group_rows(sorted(wanted), MAX_GROUPS + limit)
        further = sorted({group for row in found.values() for group in row.represents} - wanted)
        if further:
            found |= await self._group_rows(further, MAX_GROUPS + limit)
        return {group_id: group for group_id, group in found.items() if group.representative in wanted}

    async def _group_rows(self, keys: Sequence[UUID], limit: int) -> dict[UUID, _Group]:
        groups = {key: _Group(key) for key in keys}
        for key, kind, other, representative, moved_at in await self._session.execute(
            _GET_GROUPS, {"keys": keys, "count": limit}
        ):
            group = groups[key]
            group.representative, group.moved_at = representative or key, moved_at or 0
            if kind == _MEMBER:
                group.members.append(other)
            elif kind == _REPRESENTS:
                group.represents.append(other)
        return groups

    async def _put_hints(
        self, page: Fingerprint, at: int, own: Sequence[str] = (), values: dict[str, Any] | None = None
    ) -> None:
        """Write the rows under which look-ups find the page, and the page's own rows by these statements."""
        puts = [*own, *_repeat_for_keys(_PUT_HINT, page.keys)]
        if puts:
            sketch = {"sketch": page.sketch} if page.keys else {}
            row = {"page_id": page.page_id, **sketch, **_number_keys(page.keys), **(values or {})}
            await self._session.execute(_batch(puts), row, at=at)

    async def _cut(self, former: Fingerprint, kept: Fingerprint | None, at: int) -> None:
        """Delete the hints of a former fingerprint, except the hints that its successor has, too."""
        keys = sorted({*former.keys} - {*(kept.keys if kept else ())})
        if keys:
            row = {"page_id": former.page_id, **_number_keys(keys)}
            await self._session.execute(_batch(_repeat_for_keys(_CUT_HINT, keys)), row, at=at)


def _most_similar(page: Fingerprint, hints: Mapping[UUID, bytes], similarity: float) -> list[UUID]:
    """Return the pages whose sketches have at least this similarity, at most MAX_FOUND, the most similar first."""
    shares = {page_id: sketch_similarity(page.sketch, sketch) for page_id, sketch in hints.items()}
    alike = sorted((-share, page_id) for page_id, share in shares.items() if share >= similarity)
    return [page_id for _, page_id in alike[:MAX_FOUND]]


def _page(
    page_id: UUID,
    value: bytes | None,
    at: int,
    sights: bytes | None,
    group: UUID | None,
    decided_at: int | None,
    inherited: bytes | None,
    hidden: bool | None,
) -> Fingerprint | None:
    """Return the page of a row. None if only its decision is left."""
    if value is None:
        return None
    decided = decided_at or 0
    return replace(
        unpack_row(Fingerprint, value, page_id=page_id),
        written_at=at,
        sights=unpack_list(Sight, sights),
        representative=group,
        group=group,
        decided_at=decided,
        inherited=unpack_list(Sight, inherited) if decided >= at else (),
        is_hidden=bool(hidden),
    )


def _batch(statements: Sequence[str]) -> str:
    """Return one request for rows of several partitions. It is not logged, so a crash may leave a part of it undone.

    The text depends only on the number of keys. There are few such texts, and each is prepared once.
    """
    return f"BEGIN UNLOGGED BATCH {'; '.join(statements)}; APPLY BATCH"


def _repeat_for_keys(statement: str, keys: Sequence[int]) -> list[str]:
    """Return the statement once per key, with numbered parameters."""
    return [statement.replace(":key", f":key_{number}") for number in range(len(keys))]


def _number_keys(keys: Sequence[int]) -> dict[str, int]:
    return {f"key_{number}": key for number, key in enumerate(keys)}
