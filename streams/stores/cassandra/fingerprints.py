"""Fingerprints in Cassandra: one row per page, and one row per key under which its duplicates find it.

A row found by a key is a hint. The page's own row is read afterwards, and decides. So a write that a crash interrupted,
or that a later one overtook, leaves at most a hint that leads nowhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from streams.stores.cassandra.session import CassandraSession
from streams.stores.minhash import sketch_similarity
from streams.stores.protocols import MAX_FOUND, AliasEvidence, Fingerprint, group_of
from streams.stores.row_codec import pack_fingerprint, unpack_fingerprint
from streams.stores.simhash_tables import DEFAULT_TABLES, MAX_DISTANCE, hamming, tables

PER_BITS = 2_000
"""Maximum number of hints that are read under one key of a SimHash."""
PER_BAND = 100
"""Maximum number of hints that are read under one band."""
MAX_GROUPS = 100
"""Maximum number of groups of one representative that are read or moved at once."""
KEYS_AT_ONCE = 100
_EARLIEST = 1
"""Write time of a group's first representative. Each move replaces it, in whatever order they are written."""
_FOR_EVER = 1 << 61
"""Microseconds (73,000 years) added to the write time of a disagreement, so that no agreement replaces it."""

_PUT = "INSERT INTO fingerprints (page_id, value, at) VALUES (:page_id, :value, :at)"
_GET = "SELECT value, at, canonical, decided_at, site_first_seen FROM fingerprints WHERE page_id = :page_id"
_REMOVE = "DELETE FROM fingerprints USING TIMESTAMP :at WHERE page_id = :page_id"
_DECIDE = (
    "UPDATE fingerprints USING TIMESTAMP :at SET canonical = :canonical, decided_at = :at, "
    "site_first_seen = :site_first_seen WHERE page_id = :page_id"
)
_PUT_CONTENT = "INSERT INTO fingerprints_by_content (content_hash, page_id) VALUES (:content_hash, :page_id)"
_GET_CONTENT = "SELECT page_id FROM fingerprints_by_content WHERE content_hash = :content_hash LIMIT :count"
_CUT_CONTENT = "DELETE FROM fingerprints_by_content WHERE content_hash = :content_hash AND page_id = :page_id"
_PUT_BITS = "INSERT INTO fingerprints_by_bits (bits, page_id, simhash) VALUES (:key, :page_id, :simhash)"
_GET_BITS = "SELECT page_id, simhash FROM fingerprints_by_bits WHERE bits IN :keys PER PARTITION LIMIT :count"
_CUT_BITS = "DELETE FROM fingerprints_by_bits WHERE bits = :key AND page_id = :page_id"
_PUT_BAND = "INSERT INTO fingerprints_by_band (band, page_id, sketch) VALUES (:key, :page_id, :sketch)"
_GET_BANDS = "SELECT page_id, sketch FROM fingerprints_by_band WHERE band IN :keys PER PARTITION LIMIT :count"
_CUT_BAND = "DELETE FROM fingerprints_by_band WHERE band = :key AND page_id = :page_id"
_PUT_MEMBER = "INSERT INTO fingerprint_duplicates (canonical, page_id) VALUES (:key, :page_id) USING TIMESTAMP :at"
_GET_MEMBERS = "SELECT page_id FROM fingerprint_duplicates WHERE canonical IN :keys PER PARTITION LIMIT :count"
_PUT_GROUP = (
    "INSERT INTO fingerprint_groups (group_id, representative, at) VALUES (:key, :representative, :at) "
    "USING TIMESTAMP :at"
)
_GET_GROUPS = "SELECT group_id, representative, at FROM fingerprint_groups WHERE group_id IN :keys"
_PUT_GROUP_OF = (
    "INSERT INTO fingerprint_groups_of (representative, group_id) VALUES (:representative, :key) USING TIMESTAMP :at"
)
_GET_GROUPS_OF = "SELECT group_id FROM fingerprint_groups_of WHERE representative IN :keys PER PARTITION LIMIT :count"
_CUT_GROUP_OF = (
    "DELETE FROM fingerprint_groups_of USING TIMESTAMP :at WHERE representative = :representative AND group_id = :key"
)
_GET_PAGES = (
    "SELECT page_id, value, at, canonical, decided_at, site_first_seen FROM fingerprints WHERE page_id IN :keys"
)
_CUT_MEMBER = "DELETE FROM fingerprint_duplicates USING TIMESTAMP :at WHERE canonical = :key AND page_id = :page_id"
_PUT_VARIANT = (
    "INSERT INTO url_variants (host, rule, slot, url, other, agrees) "
    "VALUES (:host, :rule, :slot, :url, :other, :agrees) USING TIMESTAMP :at"
)
_GET_VARIANTS = "SELECT rule, slot, url, other, agrees FROM url_variants WHERE host = :host"


_Row = tuple[Fingerprint, UUID | None]
"""A fingerprint, and the id of its group."""


class CassandraFingerprints:
    """Fingerprints, found by their own keys. `table_count` is 4, 10 or 20, and the same for all users of a keyspace."""

    def __init__(self, session: CassandraSession, table_count: int = DEFAULT_TABLES) -> None:
        self._session = session
        self._tables = tables(table_count)

    async def put(self, fingerprint: Fingerprint, at: int) -> None:
        former = await self.get(fingerprint.page_id)
        if former is not None and former.written_at > at:
            return
        row = {"page_id": fingerprint.page_id, "value": pack_fingerprint(fingerprint)}
        await self._put_hints(fingerprint, at, _PUT, row)
        if former is not None:
            await self._cut(former, fingerprint, at)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        found = await self._get_all([page_id])
        return found[0] if found else None

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        rows = await self._session.execute(_GET_CONTENT, {"content_hash": content_hash, "count": MAX_FOUND})
        found = await self._get_all(page_id for (page_id,) in rows)
        return [fingerprint for fingerprint in found if fingerprint.content_hash == content_hash]

    async def near(self, simhash: int, distance: int = MAX_DISTANCE, version: int = 1) -> list[Fingerprint]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")
        rows = await self._session.execute(_GET_BITS, {"keys": self._keys(simhash), "count": PER_BITS})
        distances = {page_id: hamming(_unsigned(other), simhash) for page_id, other in rows}
        nearest = sorted((bits, page_id) for page_id, bits in distances.items() if bits <= distance)[:MAX_FOUND]
        found = await self._get_all(page_id for _, page_id in nearest)
        # A hint doesn't contain the version, the page's own row does.
        alike = [fingerprint for fingerprint in found if fingerprint.simhash_version == version]
        return [fingerprint for fingerprint in alike if hamming(fingerprint.simhash, simhash) <= distance]

    async def similar(self, fingerprint: Fingerprint, similarity: float) -> list[Fingerprint]:
        keys = _bands(fingerprint)
        rows = await self._session.execute(_GET_BANDS, {"keys": keys, "count": PER_BAND}) if keys else []
        shares = {page_id: sketch_similarity(fingerprint.sketch, sketch) for page_id, sketch in rows}
        alike = sorted((-share, page_id) for page_id, share in shares.items() if share >= similarity)[:MAX_FOUND]
        found = await self._get_all(page_id for _, page_id in alike)
        return [other for other in found if sketch_similarity(fingerprint.sketch, other.sketch) >= similarity]

    async def remove(self, page_id: UUID, at: int) -> None:
        found = await self._rows([page_id])
        await self._session.execute(_REMOVE, {"page_id": page_id}, at=at)
        for former, group in found:
            if former.written_at > at:
                continue
            await self._cut(former, None, at)
            if group is not None:
                row = {"key": group, "page_id": page_id}
                await self._session.execute(_CUT_MEMBER, row, at=max(at, former.decided_at))

    async def set_representative(
        self, page_id: UUID, representative: UUID, at: int, site_first_seen: int = 0, representative_text: str = ""
    ) -> None:
        found = await self._rows([page_id])
        if not found or found[0][0].decided_at > at:
            return
        former, former_group = found[0]
        group = page_id if representative == page_id else group_of(representative, representative_text)
        if group == page_id:  # found by look-ups, before it is a representative
            await self._put_hints(former, at)
        else:
            await self._session.execute(_PUT_MEMBER, {"key": group, "page_id": page_id}, at=at)
            if group != representative:
                await self._put_group(group, representative, _EARLIEST)
        decision = {"page_id": page_id, "canonical": group, "site_first_seen": site_first_seen}
        await self._session.execute(_DECIDE, decision, at=at)
        if group != page_id and at >= former.written_at:
            await self._cut(former, None, at)
        if former_group not in (None, group) and former.decided_at < at:
            # With the write time of the row that it deletes: a later one could delete another worker's new row.
            row = {"key": former_group, "page_id": page_id}
            await self._session.execute(_CUT_MEMBER, row, at=former.decided_at)

    async def duplicates(self, representative: UUID, limit: int) -> list[Fingerprint]:
        groups = [group for group, _ in await self._groups_of(representative)]
        # A row may be a hint of a page that has left the group.
        rows = await self._session.execute(_GET_MEMBERS, {"keys": sorted(groups), "count": 2 * limit})
        found = await self._rows(list(dict.fromkeys(page_id for (page_id,) in rows))[: 2 * limit])
        pages = [page for page, group in found if group in groups and page.page_id != representative]
        return [replace(page, representative=representative) for page in pages][:limit]

    async def move_duplicates(self, former: UUID, successor: UUID, at: int, kept_text: str = "") -> None:
        for group, written_at in await self._groups_of(former):
            if kept_text and group == group_of(former, kept_text):
                continue
            if not await self._session.execute(_GET_MEMBERS, {"keys": [group], "count": 1}):
                continue
            moved_at = max(at, written_at + 1)
            await self._put_group(group, successor, moved_at)
            await self._session.execute(_CUT_GROUP_OF, {"representative": former, "key": group}, at=moved_at)

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        """A few requests with many keys, because a searcher waits: many requests are more work."""
        if not representatives:
            return {}
        hints = await self._session.execute(_GET_GROUPS_OF, {"keys": sorted(representatives), "count": MAX_GROUPS})
        groups = sorted({*representatives, *(group for (group,) in hints)})
        rows = await self._session.execute(_GET_MEMBERS, {"keys": groups, "count": limit})
        members = sorted({page_id for (page_id,) in rows})
        chunks = [members[start : start + KEYS_AT_ONCE] for start in range(0, len(members), KEYS_AT_ONCE)]
        answers = await self._session.execute_many(_GET_PAGES, [{"keys": chunk} for chunk in chunks])
        found: dict[UUID, list[Fingerprint]] = {}
        for page in await self._resolved([_row(*row) for rows in answers for row in rows]):
            if page.representative in set(representatives) - {page.page_id, None}:
                found.setdefault(page.representative, []).append(page)
        return {representative: pages[:limit] for representative, pages in found.items()}

    async def note_alias_evidence(self, evidence: AliasEvidence, at: int) -> None:
        row = {name: getattr(evidence, name) for name in ("host", "rule", "slot", "url", "other", "agrees")}
        await self._session.execute(_PUT_VARIANT, row, at=at if evidence.agrees else at + _FOR_EVER)

    async def alias_evidence(self, host: str) -> list[AliasEvidence]:
        return [AliasEvidence(host, *row) for row in await self._session.execute(_GET_VARIANTS, {"host": host})]

    async def _get_all(self, page_ids: Iterable[UUID]) -> list[Fingerprint]:
        return await self._resolved(await self._rows(page_ids))

    async def _rows(self, page_ids: Iterable[UUID]) -> list[_Row]:
        """The pages' rows, each with the page's group (itself, if it is a representative)."""
        wanted = list(dict.fromkeys(page_ids))
        answers = await self._session.execute_many(_GET, [{"page_id": page_id} for page_id in wanted])
        found = (_row(page_id, *row) for page_id, rows in zip(wanted, answers, strict=True) for row in rows)
        return [row for row in found if row]

    async def _resolved(self, rows: Iterable[_Row | None]) -> list[Fingerprint]:
        """The fingerprints of these rows, with the representatives of their groups."""
        found = [row for row in rows if row]
        groups = sorted({group for page, group in found if group is not None and group != page.page_id})
        known = await self._session.execute(_GET_GROUPS, {"keys": groups}) if groups else []
        moved: dict[UUID | None, UUID] = {group: representative for group, representative, _ in known}
        return [
            replace(page, representative=group if group == page.page_id else moved.get(group, group))
            for page, group in found
        ]

    async def _groups_of(self, representative: UUID) -> list[tuple[UUID, int]]:
        """The groups of this representative, each with the write time of its row."""
        hints = await self._session.execute(_GET_GROUPS_OF, {"keys": [representative], "count": MAX_GROUPS})
        groups = sorted({representative, *(group for (group,) in hints)})
        rows = await self._session.execute(_GET_GROUPS, {"keys": groups})
        known = {group: (other, at) for group, other, at in rows}
        found = {group: known.get(group, (group, 0)) for group in groups}
        return [(group, at) for group, (other, at) in found.items() if other == representative]

    async def _put_group(self, group: UUID, representative: UUID, at: int) -> None:
        row = {"key": group, "representative": representative}
        await self._session.execute(_PUT_GROUP_OF, row, at=at)
        await self._session.execute(_PUT_GROUP, row, at=at)

    async def _put_hints(
        self, page: Fingerprint, at: int, statement: str = "", values: dict[str, Any] | None = None
    ) -> None:
        """Write the rows under which look-ups find the page, and the page's own row if a statement is given."""
        bits, bands = self._bits(page), _bands(page)
        row = {
            "page_id": page.page_id,
            "content_hash": page.content_hash,
            "simhash": _signed(page.simhash),
            **({"sketch": page.sketch} if bands else {}),
            **_numbered(bits, "bits"),
            **_numbered(bands, "band"),
            **(values or {}),
        }
        puts = [statement] if statement else []
        puts += [_PUT_CONTENT, *_repeated(_PUT_BITS, bits, "bits"), *_repeated(_PUT_BAND, bands, "band")]
        await self._session.execute(_batch(puts), row, at=at)

    async def _cut(self, former: Fingerprint, kept: Fingerprint | None, at: int) -> None:
        """Delete the hints of a former fingerprint, except those that its successor has, too."""
        bits = [key for key in self._bits(former) if kept is None or key not in self._bits(kept)]
        bands = [key for key in _bands(former) if kept is None or key not in _bands(kept)]
        cuts = [*_repeated(_CUT_BITS, bits, "bits"), *_repeated(_CUT_BAND, bands, "band")]
        row: dict[str, Any] = {"page_id": former.page_id, **_numbered(bits, "bits"), **_numbered(bands, "band")}
        if kept is None or kept.content_hash != former.content_hash:
            cuts.append(_CUT_CONTENT)
            row["content_hash"] = former.content_hash
        if cuts:
            await self._session.execute(_batch(cuts), row, at=at)

    def _bits(self, fingerprint: Fingerprint) -> list[int]:
        return self._keys(fingerprint.simhash)

    def _keys(self, simhash: int) -> list[int]:
        return sorted({_signed(table.key(simhash)) for table in self._tables})


def _row(
    page_id: UUID, value: bytes | None, at: int, group: UUID | None, decided_at: int | None, site_age: int | None
) -> _Row | None:
    """A page's row. None if only its decision is left."""
    if value is None:
        return None
    decided = decided_at or 0
    age = site_age if site_age and decided >= at else 0
    page = unpack_fingerprint(page_id, value)
    return replace(page, written_at=at, representative=group, decided_at=decided, site_first_seen=age), group


def _bands(fingerprint: Fingerprint) -> list[int]:
    return sorted({_signed(band) for band in fingerprint.bands})


def _batch(statements: Sequence[str]) -> str:
    """One request for rows of several partitions. It is not logged, so a crash may leave a part of it undone.

    Its text depends on the number of keys only. There are few such texts, and each is prepared once.
    """
    return f"BEGIN UNLOGGED BATCH USING TIMESTAMP :at {'; '.join(statements)}; APPLY BATCH"


def _repeated(statement: str, keys: Sequence[int], name: str) -> list[str]:
    """One statement per key, with numbered parameters."""
    return [statement.replace(":key", f":{name}_{number}") for number in range(len(keys))]


def _numbered(keys: Sequence[int], name: str) -> dict[str, int]:
    return {f"{name}_{number}": key for number, key in enumerate(keys)}


def _signed(value: int) -> int:
    """An unsigned number of 64 bits as Cassandra's bigint."""
    return value - (1 << 64) if value >> 63 else value


def _unsigned(value: int) -> int:
    return value & ((1 << 64) - 1)
