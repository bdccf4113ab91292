"""The progress of `riffle reindex` in Cassandra, the reports of long jobs, and the map of the index.

The progress has a row for each part of the ring of tokens. The reports are in one partition, since people and schedules
start jobs, and each report expires. So is the map, in parts that a server writes and reads easily.
"""

from collections import Counter

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import JobReport, PartProgress

_PUT = (
    "INSERT INTO reindexing (collection, host, part, last_token, pages, statements) "
    "VALUES (:collection, :host, :part, :last_token, :pages, :statements)"
)
_GET = "SELECT part, last_token, pages, statements FROM reindexing WHERE collection = :collection AND host = :host"
_CLEAR = "DELETE FROM reindexing WHERE collection = :collection AND host = :host"
_PUT_REPORT = (
    "INSERT INTO jobs (part, job_id, command, place, started, updated, state, share, sentence) "
    "VALUES (0, :job_id, :command, :place, :started, :updated, :state, :share, :sentence)"
)
_RECENT_REPORTS = "SELECT job_id, command, place, started, updated, state, share, sentence FROM jobs WHERE part = 0"

MAP_PART_BYTES = 512 * 1024
MAP_SECONDS = 60 * 86_400
"""Time after which a map is forgotten (seconds). Its queries are of 30 days, and no query is kept for more than 90."""
_PUT_MAP = (
    "INSERT INTO index_maps (shelf, made, part, parts, value) VALUES (0, :made, :part, :parts, :value) USING TTL :ttl"
)
_DROP_MAPS = "DELETE FROM index_maps WHERE shelf = 0 AND made < :made"
_MAP_PARTS = "SELECT made, parts FROM index_maps WHERE shelf = 0"
_READ_MAP = "SELECT parts, value FROM index_maps WHERE shelf = 0 AND made = :made"


class CassandraReindexing:
    """See `Reindexing`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def progress(self, collection: str, host: str) -> dict[int, PartProgress]:
        rows = await self._session.execute(_GET, {"collection": collection, "host": host})
        return {part: PartProgress(token, pages, statements) for part, token, pages, statements in rows}

    async def put(self, collection: str, host: str, part: int, progress: PartProgress) -> None:
        values = {"last_token": progress.token, "pages": progress.pages, "statements": progress.statements}
        await self._session.execute(_PUT, {"collection": collection, "host": host, "part": part, **values})

    async def clear(self, collection: str, host: str) -> None:
        await self._session.execute(_CLEAR, {"collection": collection, "host": host})


class CassandraJobReports:
    """See `JobReports`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(self, report: JobReport) -> None:
        values = {name: getattr(report, name) for name in JobReport.__dataclass_fields__}
        await self._session.execute(_PUT_REPORT, values)

    async def recent(self) -> list[JobReport]:
        found = [JobReport(*row) for row in await self._session.execute(_RECENT_REPORTS, {})]
        return sorted(found, key=lambda report: report.started, reverse=True)


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
