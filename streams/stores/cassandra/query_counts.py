"""Counts of queries in Cassandra: a row for each query and day, twice: by query, and by day."""

import asyncio
import zlib
from collections.abc import Sequence
from uuid import UUID

import msgpack

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import CountedQuery, DayCounts, PageClicks, PlaceCounts

BUCKETS = 16
"""Number of partitions of a day."""
_DAYS = "SELECT day, value FROM query_counts WHERE language = :language AND query = :query"
_PUT = (
    "INSERT INTO query_counts (language, query, day, value) VALUES (:language, :query, :day, :value) "
    "USING TIMESTAMP :at"
)
_PUT_BY_DAY = (
    "INSERT INTO query_counts_by_day (day, bucket, language, query, value) "
    "VALUES (:day, :bucket, :language, :query, :value) USING TIMESTAMP :at"
)
_OF_DAY = "SELECT language, query, value FROM query_counts_by_day WHERE day = :day AND bucket = :bucket LIMIT :most"

_PUT_DIGEST = (
    "INSERT INTO query_digests (digest, language, query) VALUES (:digest, :language, :query) USING TIMESTAMP :at"
)
_OF_DIGEST = "SELECT language, query FROM query_digests WHERE digest = :digest"
_PUT_CLICKS = (
    "INSERT INTO query_clicks (language, query, day, source, value) VALUES (:language, :query, :day, :source, :value) "
    "USING TIMESTAMP :at"
)
_CLICKS = "SELECT day, source, value FROM query_clicks WHERE language = :language AND query = :query"
_PUT_EXAMINATION = "INSERT INTO click_estimates (name, value) VALUES (:name, :value) USING TIMESTAMP :at"
_EXAMINATION = "SELECT value FROM click_estimates WHERE name = :name"
_TABLES = ("query_counts", "query_counts_by_day", "query_digests", "query_clicks", "click_estimates")


class CassandraQueryCounts:
    """See `QueryCounts`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def days(self, language: str, query: str) -> dict[int, DayCounts]:
        rows = await self._session.execute(_DAYS, {"language": language, "query": query})
        return {day: _counts_of(value) for day, value in rows}

    async def put(self, language: str, query: str, day: int, counts: DayCounts, at: int) -> None:
        row = {"language": language, "query": query, "day": day, "value": _value_of(counts)}
        by_day = {**row, "bucket": zlib.crc32(query.encode()) % BUCKETS}
        await asyncio.gather(self._session.execute(_PUT, row, at=at), self._session.execute(_PUT_BY_DAY, by_day, at=at))

    async def of_day(self, day: int, limit: int) -> list[CountedQuery]:
        parts = [{"day": day, "bucket": bucket, "most": limit} for bucket in range(BUCKETS)]
        answers = await self._session.execute_many(_OF_DAY, parts)
        found = (
            CountedQuery(language, query, _counts_of(value)) for rows in answers for language, query, value in rows
        )
        return list(found)[:limit]

    async def put_digest(self, digest: str, language: str, query: str, at: int) -> None:
        await self._session.execute(_PUT_DIGEST, {"digest": digest, "language": language, "query": query}, at=at)

    async def of_digest(self, digest: str) -> tuple[str, str] | None:
        for language, query in await self._session.execute(_OF_DIGEST, {"digest": digest}):
            return language, query
        return None

    async def put_clicks(self, language: str, query: str, day: int, source: str, clicks: PageClicks, at: int) -> None:
        key = {"language": language, "query": query, "day": day, "source": source}
        await self._session.execute(_PUT_CLICKS, {**key, "value": _value_of_clicks(clicks)}, at=at)

    async def clicks_of(self, language: str, query: str) -> dict[tuple[int, str], PageClicks]:
        rows = await self._session.execute(_CLICKS, {"language": language, "query": query})
        return {(day, source): _clicks_of(value) for day, source, value in rows}

    async def put_examination(self, probabilities: Sequence[float], at: int) -> None:
        value = msgpack.packb(list(probabilities))
        await self._session.execute(_PUT_EXAMINATION, {"name": "examination", "value": value}, at=at)

    async def examination(self) -> tuple[float, ...]:
        for (value,) in await self._session.execute(_EXAMINATION, {"name": "examination"}):
            return tuple(msgpack.unpackb(value))
        return ()

    async def purge(self) -> None:
        for table in _TABLES:
            await self._session.execute(f"TRUNCATE {table}")


def _value_of(counts: DayCounts) -> bytes:
    fields = (counts.asked, counts.empty, dict(counts.quarters), counts.partition, counts.offset)
    packed = msgpack.packb(fields)
    assert isinstance(packed, bytes)
    return packed


def _counts_of(value: bytes) -> DayCounts:
    return DayCounts(*msgpack.unpackb(value, strict_map_key=False))


def _value_of_clicks(clicks: PageClicks) -> bytes:
    pages = {page.bytes: (dict(each.shown), dict(each.clicked)) for page, each in clicks.pages.items()}
    packed = msgpack.packb((clicks.offset, pages))
    assert isinstance(packed, bytes)
    return packed


def _clicks_of(value: bytes) -> PageClicks:
    offset, pages = msgpack.unpackb(value, strict_map_key=False)
    return PageClicks({UUID(bytes=page): PlaceCounts(*counts) for page, counts in pages.items()}, offset)
