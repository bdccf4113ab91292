"""The progress of `riffle reindex` in Cassandra, a row for each part of the ring of tokens; the reports of long jobs.

The reports are in one partition, since people and schedules start jobs, and each report expires.
"""

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
