"""Suggestions in Cassandra: a partition for each language and prefix, and one for each shard of a build."""

from collections.abc import Collection, Iterable, Sequence

import msgpack

from streams.stores.cassandra.session import CassandraSession, Params
from streams.stores.protocols import PartKind, PrefixRow, StoredSuggestion
from streams.stores.protocols.suggestions import MAX_ROWS

SUMS_SECONDS = 7 * 24 * 3_600
"""Time after which the sums of a build that was interrupted are forgotten (seconds)."""
_OF_PREFIX = (
    f"SELECT suggestion, value FROM suggestions WHERE language = :language AND prefix = :prefix LIMIT {MAX_ROWS}"  # noqa: S608  # a constant
)
_OF_PREFIXES = (
    "SELECT prefix, suggestion, value FROM suggestions "  # noqa: S608  # a constant
    f"WHERE language = :language AND prefix IN :prefixes PER PARTITION LIMIT {MAX_ROWS}"
)
_PUT = (
    "INSERT INTO suggestions (language, prefix, suggestion, value) VALUES (:language, :prefix, :suggestion, :value) "
    "USING TIMESTAMP :at"
)
_REMOVE = (
    "DELETE FROM suggestions USING TIMESTAMP :at "
    "WHERE language = :language AND prefix = :prefix AND suggestion = :suggestion"
)
_CLEAR = "DELETE FROM suggestions USING TIMESTAMP :at WHERE language = :language AND prefix = :prefix"
_PUT_PART = (
    "INSERT INTO suggestion_parts (build, kind, shard, part, value) VALUES (:build, :kind, :shard, :part, :value) "
    "USING TTL :ttl"
)
_PARTS = "SELECT value FROM suggestion_parts WHERE build = :build AND kind = :kind AND shard = :shard"
_DROP_PARTS = "DELETE FROM suggestion_parts WHERE build = :build AND kind = :kind AND shard = :shard"


class CassandraSuggestions:
    """See `Suggestions`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def of_prefix(self, language: str, prefix: str) -> list[StoredSuggestion]:
        rows = await self._session.execute(_OF_PREFIX, {"language": language, "prefix": prefix})
        return [StoredSuggestion(text, *msgpack.unpackb(value)) for text, value in rows]

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        found: dict[str, list[StoredSuggestion]] = {prefix: [] for prefix in prefixes}
        rows = await self._session.execute(_OF_PREFIXES, {"language": language, "prefixes": list(found)})
        for prefix, text, value in rows:
            found[prefix].append(StoredSuggestion(text, *msgpack.unpackb(value)))
        return found

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        await self._session.execute_together(_PUT, [{**_key_of(row), "value": _value_of(row)} for row in rows], at=at)

    async def replace(self, rows: Sequence[PrefixRow], at: int) -> None:
        prefixes = dict.fromkeys((row.language, row.prefix) for row in rows)
        cleared = [{"language": language, "prefix": prefix} for language, prefix in prefixes]
        await self._session.execute_many(_CLEAR, cleared, at=at - 1)
        await self.put(rows, at)

    async def remove(self, rows: Iterable[PrefixRow], at: int) -> None:
        await self._session.execute_together(_REMOVE, [_key_of(row) for row in rows], at=at)

    async def purge(self) -> None:
        await self._session.execute("TRUNCATE suggestions")
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


def _value_of(row: PrefixRow) -> bytes:
    own = row.suggestion
    packed = msgpack.packb((own.language, own.weight, own.recent, own.quarter))
    assert isinstance(packed, bytes)
    return packed
