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
from streams.stores.protocols import AliasEvidence, Fingerprint
from streams.stores.row_codec import pack_fingerprint, unpack_fingerprint
from streams.stores.simhash_tables import DEFAULT_TABLES, MAX_DISTANCE, hamming, tables

PER_CONTENT = 1_000
PER_BAND = 100
KEYS_AT_ONCE = 100
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
_GET_BITS = "SELECT page_id, simhash FROM fingerprints_by_bits WHERE bits IN :keys"
_CUT_BITS = "DELETE FROM fingerprints_by_bits WHERE bits = :key AND page_id = :page_id"
_PUT_BAND = "INSERT INTO fingerprints_by_band (band, page_id, sketch) VALUES (:key, :page_id, :sketch)"
_GET_BANDS = "SELECT page_id, sketch FROM fingerprints_by_band WHERE band IN :keys PER PARTITION LIMIT :count"
_CUT_BAND = "DELETE FROM fingerprints_by_band WHERE band = :key AND page_id = :page_id"
_PUT_MEMBER = "INSERT INTO fingerprint_duplicates (canonical, page_id) VALUES (:key, :page_id) USING TIMESTAMP :at"
_GET_MEMBERS = "SELECT page_id FROM fingerprint_duplicates WHERE canonical = :key"
_GET_GROUPS = "SELECT page_id FROM fingerprint_duplicates WHERE canonical IN :keys PER PARTITION LIMIT :count"
_GET_PAGES = (
    "SELECT page_id, value, at, canonical, decided_at, site_first_seen FROM fingerprints WHERE page_id IN :keys"
)
_CUT_MEMBER = "DELETE FROM fingerprint_duplicates USING TIMESTAMP :at WHERE canonical = :key AND page_id = :page_id"
_PUT_VARIANT = (
    "INSERT INTO url_variants (host, rule, slot, url, other, agrees) "
    "VALUES (:host, :rule, :slot, :url, :other, :agrees) USING TIMESTAMP :at"
)
_GET_VARIANTS = "SELECT rule, slot, url, other, agrees FROM url_variants WHERE host = :host"


class CassandraFingerprints:
    """Fingerprints, found by their own keys. `table_count` is 4, 10 or 20, and the same for all users of a keyspace."""

    def __init__(self, session: CassandraSession, table_count: int = DEFAULT_TABLES) -> None:
        self._session = session
        self._tables = tables(table_count)

    async def put(self, fingerprint: Fingerprint, at: int) -> None:
        former = await self.get(fingerprint.page_id)
        if former is not None and former.written_at > at:
            return
        bits, bands = self._bits(fingerprint), _bands(fingerprint)
        row = {
            "page_id": fingerprint.page_id,
            "value": pack_fingerprint(fingerprint),
            "content_hash": fingerprint.content_hash,
            "simhash": _signed(fingerprint.simhash),
            "sketch": fingerprint.sketch,
            **_numbered(bits, "bits"),
            **_numbered(bands, "band"),
        }
        puts = [_PUT, _PUT_CONTENT, *_repeated(_PUT_BITS, bits, "bits"), *_repeated(_PUT_BAND, bands, "band")]
        await self._session.execute(_batch(puts), row, at=at)
        if former is not None:
            await self._cut(former, fingerprint, at)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        found = await self._get_all([page_id])
        return found[0] if found else None

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        rows = await self._session.execute(_GET_CONTENT, {"content_hash": content_hash, "count": PER_CONTENT})
        found = await self._get_all(page_id for (page_id,) in rows)
        return [fingerprint for fingerprint in found if fingerprint.content_hash == content_hash]

    async def near(self, simhash: int, distance: int = MAX_DISTANCE, version: int = 1) -> list[Fingerprint]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")
        rows = await self._session.execute(_GET_BITS, {"keys": self._keys(simhash)})
        close = [page_id for page_id, other in rows if hamming(_unsigned(other), simhash) <= distance]
        found = await self._get_all(close)  # a hint doesn't contain the version, the page's own row does
        alike = [fingerprint for fingerprint in found if fingerprint.simhash_version == version]
        return [fingerprint for fingerprint in alike if hamming(fingerprint.simhash, simhash) <= distance]

    async def similar(self, fingerprint: Fingerprint, similarity: float) -> list[Fingerprint]:
        keys = _bands(fingerprint)
        rows = await self._session.execute(_GET_BANDS, {"keys": keys, "count": PER_BAND}) if keys else []
        sketches: dict[UUID, bytes] = dict(rows)
        alike = [
            page for page, sketch in sketches.items() if sketch_similarity(fingerprint.sketch, sketch) >= similarity
        ]
        found = await self._get_all(alike)
        return [other for other in found if sketch_similarity(fingerprint.sketch, other.sketch) >= similarity]

    async def remove(self, page_id: UUID, at: int) -> None:
        former = await self.get(page_id)
        await self._session.execute(_REMOVE, {"page_id": page_id}, at=at)
        if former is None or former.written_at > at:
            return
        await self._cut(former, None, at)
        if former.representative is not None:
            row = {"key": former.representative, "page_id": page_id}
            await self._session.execute(_CUT_MEMBER, row, at=max(at, former.decided_at))

    async def set_representative(self, page_id: UUID, representative: UUID, at: int, site_first_seen: int = 0) -> None:
        former = await self.get(page_id)
        if former is None or former.decided_at > at:
            return
        if representative != page_id:
            await self._session.execute(_PUT_MEMBER, {"key": representative, "page_id": page_id}, at=at)
        decision = {"page_id": page_id, "canonical": representative, "site_first_seen": site_first_seen}
        await self._session.execute(_DECIDE, decision, at=at)
        if former.representative not in (None, representative) and former.decided_at < at:
            # With the write time of the row that it deletes: a later one could delete another worker's new row.
            row = {"key": former.representative, "page_id": page_id}
            await self._session.execute(_CUT_MEMBER, row, at=former.decided_at)

    async def duplicates(self, representative: UUID) -> list[UUID]:
        rows = await self._session.execute(_GET_MEMBERS, {"key": representative})
        found = await self._get_all(page_id for (page_id,) in rows)
        return [page.page_id for page in found if page.representative == representative != page.page_id]

    async def groups(self, representatives: Sequence[UUID], limit: int) -> dict[UUID, list[Fingerprint]]:
        """Two requests, because a searcher waits: one request with many keys is less work than many requests."""
        if not representatives:
            return {}
        hints = await self._session.execute(_GET_GROUPS, {"keys": sorted(representatives), "count": limit})
        members = sorted({page_id for (page_id,) in hints})
        chunks = [members[start : start + KEYS_AT_ONCE] for start in range(0, len(members), KEYS_AT_ONCE)]
        found: dict[UUID, list[Fingerprint]] = {}
        for rows in await self._session.execute_many(_GET_PAGES, [{"keys": chunk} for chunk in chunks]):
            for page_id, *row in rows:
                page = _fingerprint(page_id, *row)
                if page and page.representative in set(representatives) - {page_id, None}:
                    found.setdefault(page.representative, []).append(page)
        return found

    async def note_alias_evidence(self, evidence: AliasEvidence, at: int) -> None:
        row = {name: getattr(evidence, name) for name in ("host", "rule", "slot", "url", "other", "agrees")}
        await self._session.execute(_PUT_VARIANT, row, at=at if evidence.agrees else at + _FOR_EVER)

    async def alias_evidence(self, host: str) -> list[AliasEvidence]:
        return [AliasEvidence(host, *row) for row in await self._session.execute(_GET_VARIANTS, {"host": host})]

    async def _get_all(self, page_ids: Iterable[UUID]) -> list[Fingerprint]:
        wanted = sorted(set(page_ids))
        answers = await self._session.execute_many(_GET, [{"page_id": page_id} for page_id in wanted])
        found = (_fingerprint(page_id, *row) for page_id, rows in zip(wanted, answers, strict=True) for row in rows)
        return [fingerprint for fingerprint in found if fingerprint]

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


def _fingerprint(
    page_id: UUID,
    value: bytes | None,
    at: int,
    representative: UUID | None,
    decided_at: int | None,
    site_age: int | None,
) -> Fingerprint | None:
    """A page's row. None if only its decision is left."""
    if value is None:
        return None
    found = unpack_fingerprint(page_id, value)
    return replace(
        found,
        written_at=at,
        representative=representative,
        decided_at=decided_at or 0,
        site_first_seen=site_age if site_age and (decided_at or 0) >= at else 0,
    )


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
