"""Counts of queries in Cassandra: a row for each query and day, twice: by query, and by day."""

import asyncio
import zlib

import msgpack

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import CountedQuery, DayCounts

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

    async def purge(self) -> None:
        await self._session.execute("TRUNCATE query_counts")
        await self._session.execute("TRUNCATE query_counts_by_day")


def _value_of(counts: DayCounts) -> bytes:
    fields = (counts.asked, counts.empty, dict(counts.quarters), counts.partition, counts.offset)
    packed = msgpack.packb(fields)
    assert isinstance(packed, bytes)
    return packed


def _counts_of(value: bytes) -> DayCounts:
    return DayCounts(*msgpack.unpackb(value, strict_map_key=False))
