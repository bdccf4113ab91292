"""The map of the index in Cassandra, in parts that a server writes and reads easily."""

from collections import Counter

from streams.stores.cassandra.session import CassandraSession

MAP_PART_BYTES = 512 * 1024
MAP_SECONDS = 60 * 86_400
"""Time after which a map is forgotten (seconds). Its queries are of 30 days, and no query is kept for more than 90."""
_PUT_MAP = (
    "INSERT INTO index_maps (shelf, made, part, parts, value) VALUES (0, :made, :part, :parts, :value) USING TTL :ttl"
)
_DROP_MAPS = "DELETE FROM index_maps WHERE shelf = 0 AND made < :made"
_MAP_PARTS = "SELECT made, parts FROM index_maps WHERE shelf = 0"
_READ_MAP = "SELECT parts, value FROM index_maps WHERE shelf = 0 AND made = :made"


class CassandraIndexMaps:
    """See `IndexMaps`. A map is whole when all of its parts are there."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(self, made: int, value: bytes) -> None:
        parts = [value[first : first + MAP_PART_BYTES] for first in range(0, len(value), MAP_PART_BYTES)]
        for number, part in enumerate(parts):
            row = {"made": made, "part": number, "parts": len(parts), "value": part, "ttl": MAP_SECONDS}
            await self._session.execute(_PUT_MAP, row)
        await self._session.execute(_DROP_MAPS, {"made": made})

    async def purge(self) -> None:
        await self._session.execute("TRUNCATE index_maps")

    async def newest(self) -> int:
        found = Counter(tuple(row) for row in await self._session.execute(_MAP_PARTS, {}))
        return max((made for (made, parts), count in found.items() if count == parts), default=0)

    async def read(self, made: int) -> bytes | None:
        rows = await self._session.execute(_READ_MAP, {"made": made})
        return b"".join(value for _, value in rows) if rows and len(rows) == rows[0][0] else None
