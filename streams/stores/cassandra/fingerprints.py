"""Fingerprints in Cassandra: a row a page, and a row a key under which its duplicates find it.

A row found by a key is a hint: what counts is the page's own row, read afterwards. So a put or removal that was cut
off, or overtaken by a later one, leaves at most a hint that leads nowhere.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import Fingerprint, VariantEvidence
from streams.stores.sketches import sketch_similarity
from streams.stores.tables import DEFAULT_TABLES, MAX_DISTANCE, hamming, tables
from streams.stores.values import pack_fingerprint, unpack_fingerprint

PER_CONTENT = 1_000
PER_BAND = 100

_PUT = "INSERT INTO fingerprints (page_id, value, at) VALUES (:page_id, :value, :at) USING TIMESTAMP :at"
_GET = "SELECT value, at, canonical, decided_at FROM fingerprints WHERE page_id = :page_id"
_REMOVE = "DELETE FROM fingerprints USING TIMESTAMP :at WHERE page_id = :page_id"
_DECIDE = (
    "UPDATE fingerprints USING TIMESTAMP :at SET canonical = :canonical, decided_at = :at WHERE page_id = :page_id"
)
_PUT_CONTENT = "INSERT INTO fingerprints_by_content (content_hash, page_id) VALUES (:key, :page_id) USING TIMESTAMP :at"
_GET_CONTENT = "SELECT page_id FROM fingerprints_by_content WHERE content_hash = :key LIMIT :count"
_CUT_CONTENT = (
    "DELETE FROM fingerprints_by_content USING TIMESTAMP :at WHERE content_hash = :key AND page_id = :page_id"
)
_PUT_BITS = (
    "INSERT INTO fingerprints_by_bits (tables, number, bits, page_id, simhash) "
    "VALUES (:tables, :number, :bits, :page_id, :simhash) USING TIMESTAMP :at"
)
_GET_BITS = (
    "SELECT page_id, simhash FROM fingerprints_by_bits WHERE tables = :tables AND number = :number AND bits = :bits"
)
_CUT_BITS = (
    "DELETE FROM fingerprints_by_bits USING TIMESTAMP :at "
    "WHERE tables = :tables AND number = :number AND bits = :bits AND page_id = :page_id"
)
_PUT_BAND = (
    "INSERT INTO fingerprints_by_band (band, page_id, sketch) VALUES (:key, :page_id, :sketch) USING TIMESTAMP :at"
)
_GET_BAND = "SELECT page_id, sketch FROM fingerprints_by_band WHERE band = :key LIMIT :count"
_CUT_BAND = "DELETE FROM fingerprints_by_band USING TIMESTAMP :at WHERE band = :key AND page_id = :page_id"
_PUT_MEMBER = "INSERT INTO fingerprint_duplicates (canonical, page_id) VALUES (:key, :page_id) USING TIMESTAMP :at"
_GET_MEMBERS = "SELECT page_id FROM fingerprint_duplicates WHERE canonical = :key"
_CUT_MEMBER = "DELETE FROM fingerprint_duplicates USING TIMESTAMP :at WHERE canonical = :key AND page_id = :page_id"
_PUT_VARIANT = (
    "INSERT INTO url_variants (host, rule, slot, url, other, agrees) "
    "VALUES (:host, :rule, :slot, :url, :other, :agrees) USING TIMESTAMP :at"
)
_GET_VARIANTS = "SELECT rule, slot, url, other, agrees FROM url_variants WHERE host = :host"

_Key = tuple[str, str, dict[str, Any]]
"""Statements that put and delete a hint, and the row."""
_Place = tuple[str, dict[str, Any]]
"""Statement that deletes a hint, and its key."""


class CassandraFingerprints:
    """Fingerprints found by their own keys. `table_count`: 4, 10 or 20, the same for all who share a keyspace."""

    def __init__(self, session: CassandraSession, table_count: int = DEFAULT_TABLES) -> None:
        self._session = session
        self._tables = tables(table_count)

    async def put(self, fingerprint: Fingerprint, at: int) -> None:
        former = await self.get(fingerprint.page_id)
        if former is not None and former.written_at > at:
            return
        await asyncio.gather(*(self._session.execute(put, row, at=at) for put, _, row in self._keys(fingerprint)))
        row = {"page_id": fingerprint.page_id, "value": pack_fingerprint(fingerprint)}
        await self._session.execute(_PUT, row, at=at)
        if former is not None:
            kept = self._places(fingerprint)
            await self._cut([place for place in self._places(former) if place not in kept], at)

    async def get(self, page_id: UUID) -> Fingerprint | None:
        found = await self._get_all([page_id])
        return found[0] if found else None

    async def exact(self, content_hash: str) -> list[Fingerprint]:
        rows = await self._session.execute(_GET_CONTENT, {"key": content_hash, "count": PER_CONTENT})
        found = await self._get_all(page_id for (page_id,) in rows)
        return [fingerprint for fingerprint in found if fingerprint.content_hash == content_hash]

    async def near(self, simhash: int, distance: int = MAX_DISTANCE) -> list[Fingerprint]:
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"a distance of {distance} bits can't be looked up: 0 to {MAX_DISTANCE} can")
        answers = await self._session.execute_many(_GET_BITS, self._bits(simhash))
        close = {
            page_id for rows in answers for page_id, other in rows if hamming(_unsigned(other), simhash) <= distance
        }
        found = await self._get_all(close)
        return [fingerprint for fingerprint in found if hamming(fingerprint.simhash, simhash) <= distance]

    async def similar(self, fingerprint: Fingerprint, similarity: float) -> list[Fingerprint]:
        keys = [{"key": _signed(band), "count": PER_BAND} for band in fingerprint.bands]
        answers = await self._session.execute_many(_GET_BAND, keys)
        sketches = {page_id: sketch for rows in answers for page_id, sketch in rows}
        alike = [
            page_id
            for page_id, sketch in sketches.items()
            if sketch_similarity(fingerprint.sketch, sketch) >= similarity
        ]
        found = await self._get_all(alike)
        return [other for other in found if sketch_similarity(fingerprint.sketch, other.sketch) >= similarity]

    async def remove(self, page_id: UUID, at: int) -> None:
        former = await self.get(page_id)
        await self._session.execute(_REMOVE, {"page_id": page_id}, at=at)
        if former is None or former.written_at > at:
            return
        await self._cut(self._places(former), at)
        if former.canonical is not None:
            row = {"key": former.canonical, "page_id": page_id}
            await self._session.execute(_CUT_MEMBER, row, at=max(at, former.decided_at))

    async def set_canonical(self, page_id: UUID, canonical: UUID, at: int) -> None:
        former = await self.get(page_id)
        if former is None or former.decided_at > at:
            return
        if canonical != page_id:
            await self._session.execute(_PUT_MEMBER, {"key": canonical, "page_id": page_id}, at=at)
        await self._session.execute(_DECIDE, {"page_id": page_id, "canonical": canonical}, at=at)
        if former.canonical not in (None, canonical):
            row = {"key": former.canonical, "page_id": page_id}
            await self._session.execute(_CUT_MEMBER, row, at=at)

    async def duplicates(self, canonical: UUID) -> list[UUID]:
        rows = await self._session.execute(_GET_MEMBERS, {"key": canonical})
        found = await self._get_all(page_id for (page_id,) in rows)
        return [member.page_id for member in found if member.canonical == canonical and member.page_id != canonical]

    async def note_variant(self, evidence: VariantEvidence, at: int) -> None:
        row = {name: getattr(evidence, name) for name in ("host", "rule", "slot", "url", "other", "agrees")}
        await self._session.execute(_PUT_VARIANT, row, at=at)

    async def variants(self, host: str) -> list[VariantEvidence]:
        return [VariantEvidence(host, *row) for row in await self._session.execute(_GET_VARIANTS, {"host": host})]

    async def _get_all(self, page_ids: Iterable[UUID]) -> list[Fingerprint]:
        wanted = sorted(set(page_ids))
        answers = await self._session.execute_many(_GET, [{"page_id": page_id} for page_id in wanted])
        found: list[Fingerprint] = []
        for page_id, rows in zip(wanted, answers, strict=True):
            if rows and rows[0][0] is not None:
                value, at, canonical, decided_at = rows[0]
                fingerprint = unpack_fingerprint(page_id, value)
                found.append(replace(fingerprint, written_at=at, canonical=canonical, decided_at=decided_at or 0))
        return found

    async def _cut(self, places: Iterable[_Place], at: int) -> None:
        await asyncio.gather(*(self._session.execute(cut, row, at=at) for cut, row in places))

    def _places(self, fingerprint: Fingerprint) -> list[_Place]:
        """Where its hints are: their keys alone, without what they carry."""
        return [
            (cut, {name: value for name, value in row.items() if name not in ("simhash", "sketch")})
            for _, cut, row in self._keys(fingerprint)
        ]

    def _keys(self, fingerprint: Fingerprint) -> list[_Key]:
        page = {"page_id": fingerprint.page_id}
        simhash = _signed(fingerprint.simhash)
        return [
            (_PUT_CONTENT, _CUT_CONTENT, {**page, "key": fingerprint.content_hash}),
            *((_PUT_BITS, _CUT_BITS, {**page, **bits, "simhash": simhash}) for bits in self._bits(fingerprint.simhash)),
            *(
                (_PUT_BAND, _CUT_BAND, {**page, "key": _signed(band), "sketch": fingerprint.sketch})
                for band in fingerprint.bands
            ),
        ]

    def _bits(self, simhash: int) -> list[dict[str, Any]]:
        count = len(self._tables)
        return [
            {"tables": count, "number": number, "bits": _signed(table.key(simhash))}
            for number, table in enumerate(self._tables)
        ]


def _signed(value: int) -> int:
    """64 bits as Cassandra's bigint."""
    return value - (1 << 64) if value >> 63 else value


def _unsigned(value: int) -> int:
    return value & ((1 << 64) - 1)
