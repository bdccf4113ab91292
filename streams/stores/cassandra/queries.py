"""Counts of queries, and suggestions, in Cassandra.

A count has a row for each query and day, twice: by query, and by day. A partition of suggestions is a language and a
prefix, and there is one for each shard of a build. New titles are in a few partitions, by their first character, sorted
by key: so the titles that are stored together are few writes, and a beginning is one range of one partition.
"""

import asyncio
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgpack

from streams.stores.cassandra.session import CassandraSession, Params
from streams.stores.protocols import (
    CountedQuery,
    DayCounts,
    NewTitle,
    PageClicks,
    PartKind,
    PrefixRow,
    StoredSuggestion,
)
from streams.stores.protocols.queries import MAX_ROWS
from streams.stores.rows import pack_row, unpack_row

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
SUMS_SECONDS = 7 * 24 * 3_600
"""Time after which the sums of a build that was interrupted are forgotten (seconds)."""
_OF_PREFIX = (
    "SELECT suggestion, value, WRITETIME(value) FROM suggestions "  # noqa: S608  # a constant
    f"WHERE language = :language AND prefix = :prefix LIMIT {MAX_ROWS}"
)
_OF_PREFIXES = (
    "SELECT prefix, suggestion, value FROM suggestions "  # noqa: S608  # a constant
    f"WHERE language = :language AND prefix IN :prefixes PER PARTITION LIMIT {MAX_ROWS}"
)
_PUT_SUGGESTION = (
    "INSERT INTO suggestions (language, prefix, suggestion, value) VALUES (:language, :prefix, :suggestion, :value) "
    "USING TIMESTAMP :at"
)
_REMOVE = (
    "DELETE FROM suggestions USING TIMESTAMP :at "
    "WHERE language = :language AND prefix = :prefix AND suggestion = :suggestion"
)
_CLEAR = "DELETE FROM suggestions USING TIMESTAMP :at WHERE language = :language AND prefix = :prefix"
TITLE_SHARDS = 16
"""Number of partitions of new titles. A day of ten million new pages is about 60 MB in each."""
_LAST = "\U0010ffff"
"""The last character, behind each key with a beginning."""
_ADD_TITLE = (
    "INSERT INTO suggestion_titles (shard, key, language, suggestion, value) "
    "VALUES (:shard, :key, :language, :suggestion, :value) USING TIMESTAMP :at"
)
_TITLES = (
    "SELECT suggestion, value FROM suggestion_titles "  # noqa: S608  # a constant
    f"WHERE shard = :shard AND key >= :key AND key < :last LIMIT {MAX_ROWS}"
)
_REMOVE_TITLE = (
    "DELETE FROM suggestion_titles USING TIMESTAMP :at "
    "WHERE shard = :shard AND key = :key AND language = :language AND suggestion = :suggestion"
)
_DROP_TITLES = "DELETE FROM suggestion_titles USING TIMESTAMP :at WHERE shard = :shard"
_PUT_PART = (
    "INSERT INTO suggestion_parts (build, kind, shard, part, value) VALUES (:build, :kind, :shard, :part, :value) "
    "USING TTL :ttl"
)
_PARTS = "SELECT value FROM suggestion_parts WHERE build = :build AND kind = :kind AND shard = :shard"
_DROP_PARTS = "DELETE FROM suggestion_parts WHERE build = :build AND kind = :kind AND shard = :shard"


class CassandraQueryCounts:
    """See `QueryCounts`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def days(self, language: str, query: str) -> dict[int, DayCounts]:
        rows = await self._session.execute(_DAYS, {"language": language, "query": query})
        return {day: unpack_row(DayCounts, value) for day, value in rows}

    async def put(self, language: str, query: str, day: int, counts: DayCounts, at: int) -> None:
        row = {"language": language, "query": query, "day": day, "value": pack_row(counts)}
        by_day = {**row, "bucket": zlib.crc32(query.encode()) % BUCKETS}
        await asyncio.gather(self._session.execute(_PUT, row, at=at), self._session.execute(_PUT_BY_DAY, by_day, at=at))

    async def of_day(self, day: int, limit: int) -> list[CountedQuery]:
        parts = [{"day": day, "bucket": bucket, "most": limit} for bucket in range(BUCKETS)]
        answers = await self._session.execute_many(_OF_DAY, parts)
        found = (
            CountedQuery(language, query, unpack_row(DayCounts, value))
            for rows in answers
            for language, query, value in rows
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
        await self._session.execute(_PUT_CLICKS, {**key, "value": pack_row(clicks)}, at=at)

    async def clicks_of(self, language: str, query: str) -> dict[tuple[int, str], PageClicks]:
        rows = await self._session.execute(_CLICKS, {"language": language, "query": query})
        return {(day, source): unpack_row(PageClicks, value) for day, source, value in rows}

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


class CassandraSuggestions:
    """See `Suggestions`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def of_prefix(self, language: str, prefix: str, since: int = 0) -> list[StoredSuggestion]:
        rows = await self._session.execute(_OF_PREFIX, {"language": language, "prefix": prefix})
        return [_read(text, value) for text, value, at in rows if at >= since]

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        found: dict[str, list[StoredSuggestion]] = {prefix: [] for prefix in prefixes}
        rows = await self._session.execute(_OF_PREFIXES, {"language": language, "prefixes": list(found)})
        for prefix, text, value in rows:
            found[prefix].append(_read(text, value))
        return found

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        await self._session.execute_together(
            _PUT_SUGGESTION, [{**_key_of(row), "value": _packed(row.suggestion)} for row in rows], at=at
        )

    async def replace(self, rows: Sequence[PrefixRow], at: int) -> None:
        prefixes = dict.fromkeys((row.language, row.prefix) for row in rows)
        cleared = [{"language": language, "prefix": prefix} for language, prefix in prefixes]
        await self._session.execute_many(_CLEAR, cleared, at=at - 1)
        await self.put(rows, at)

    async def remove(self, rows: Iterable[PrefixRow], at: int) -> None:
        await self._session.execute_together(_REMOVE, [_key_of(row) for row in rows], at=at)

    async def add_titles(self, titles: Sequence[NewTitle]) -> None:
        shards: dict[int, list[tuple[str, Params]]] = defaultdict(list)
        for title in titles:
            row = {**_title_key(title), "value": _packed(title.suggestion), "at": title.at}
            shards[row["shard"]].append((_ADD_TITLE, row))
        await asyncio.gather(*map(self._session.execute_batch, shards.values()))

    async def titles(self, beginning: str) -> list[StoredSuggestion]:
        if not beginning:
            return []
        place = {"shard": _title_shard(beginning), "key": beginning, "last": beginning + _LAST}
        rows = await self._session.execute(_TITLES, place)
        return [_read(text, value) for text, value in rows]

    async def remove_title(self, title: NewTitle) -> None:
        await self._session.execute(_REMOVE_TITLE, _title_key(title), at=title.at)

    async def drop_titles(self, before: int) -> None:
        shards = [{"shard": shard} for shard in range(TITLE_SHARDS)]
        await self._session.execute_many(_DROP_TITLES, shards, at=before - 1)

    async def purge(self) -> None:
        await self._session.execute("TRUNCATE suggestions")
        await self._session.execute("TRUNCATE suggestion_titles")
        await self._session.execute("TRUNCATE suggestion_parts")

    async def put_part(self, build: str, kind: PartKind, shard: int, part: str, value: bytes) -> None:
        ttl = SUMS_SECONDS if kind in ("sums", "word sums") else 0
        row = {"build": build, "kind": kind, "shard": shard, "part": part, "value": value, "ttl": ttl}
        await self._session.execute(_PUT_PART, row)

    async def parts(self, build: str, kind: PartKind, shard: int) -> list[bytes]:
        rows = await self._session.execute(_PARTS, {"build": build, "kind": kind, "shard": shard})
        return [value for (value,) in rows]

    async def drop_parts(self, build: str, kind: PartKind, shard: int) -> None:
        await self._session.execute(_DROP_PARTS, {"build": build, "kind": kind, "shard": shard})


def _key_of(row: PrefixRow) -> Params:
    return {"language": row.language, "prefix": row.prefix, "suggestion": row.suggestion.text}


def _title_key(title: NewTitle) -> dict[str, Any]:
    own = title.suggestion
    return {"shard": _title_shard(title.key), "key": title.key, "language": own.language, "suggestion": own.text}


def _title_shard(key: str) -> int:
    return zlib.crc32(key[0].encode("utf-8", "replace")) % TITLE_SHARDS


def _packed(own: StoredSuggestion) -> bytes:
    """Return the value of a row: without names, since a prefix has 64 rows, and a search reads several prefixes."""
    values = (own.language, own.weight, own.recent, own.quarter, own.hosts, own.needs, own.apart)
    packed: bytes = msgpack.packb(values)
    return packed


def _read(text: str, value: bytes) -> StoredSuggestion:
    """Return the suggestion of a row of this release, or of one before, which had no hosts."""
    language, weight, recent, quarter, *sources = msgpack.unpackb(value)
    hosts, *others = sources[:3] or ((),)
    return StoredSuggestion(text, language, weight, recent, quarter, tuple(hosts), *others)
