"""The progress of `riffle reindex` in Cassandra: a row for each part of the ring of tokens."""

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import PartProgress

_PUT = (
    "INSERT INTO reindexing (collection, host, part, last_token, pages, statements) "
    "VALUES (:collection, :host, :part, :last_token, :pages, :statements)"
)
_GET = "SELECT part, last_token, pages, statements FROM reindexing WHERE collection = :collection AND host = :host"
_CLEAR = "DELETE FROM reindexing WHERE collection = :collection AND host = :host"


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
