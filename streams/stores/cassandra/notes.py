"""Small values that end by themselves, and the holds of keys by fetch workers, in Cassandra.

A hold is a row that expires, written under a condition (Paxos). The conditions may be tried again, as all statements
are: an own row counts as held, whichever try wrote it.
"""

from streams.clock import now_micros
from streams.stores.cassandra.session import CassandraSession

_PUT = "INSERT INTO notes (shelf, name, value) VALUES (:shelf, :name, :value) USING TIMESTAMP :at AND TTL :seconds"
_OF_SHELF = "SELECT name, value FROM notes WHERE shelf = :shelf"
_CLEAR = "DELETE FROM notes USING TIMESTAMP :at WHERE shelf = :shelf"
_TAKE = "INSERT INTO pace_holds (key, holder) VALUES (:key, :holder) IF NOT EXISTS USING TTL :seconds"
_PROLONG = "UPDATE pace_holds USING TTL :seconds SET holder = :holder WHERE key = :key IF holder = :holder"
_LEFT = "SELECT TTL(holder) FROM pace_holds WHERE key = :key"
_RELEASE = "DELETE FROM pace_holds WHERE key = :key IF holder = :holder"
SHORTEST_SECONDS = 1.0
"""Time left to another holder if its row has just expired (seconds)."""


class CassandraNotes:
    """See `Notes`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put(self, shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        row = {"shelf": shelf, "name": name, "value": value, "seconds": seconds}
        await self._session.execute(_PUT, row, at=now_micros() if at is None else at)

    async def of_shelf(self, shelf: str) -> dict[str, bytes]:
        return dict(map(tuple, await self._session.execute(_OF_SHELF, {"shelf": shelf})))

    async def clear(self, shelf: str) -> None:
        await self._session.execute(_CLEAR, {"shelf": shelf}, at=now_micros())


class CassandraPaceHolds:
    """See `PaceHolds`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def hold(self, key: str, holder: str, seconds: int) -> float:
        row = {"key": key, "holder": holder, "seconds": seconds}
        ((taken, *former),) = await self._session.execute(_TAKE, row)
        if taken:
            return 0.0
        if holder in former:
            ((prolonged, *_),) = await self._session.execute(_PROLONG, row)
            if prolonged:
                return 0.0
        return await self.left(key) or SHORTEST_SECONDS

    async def left(self, key: str) -> float:
        rows = await self._session.execute(_LEFT, {"key": key})
        return float(next((seconds for (seconds,) in rows if seconds), 0.0))

    async def release(self, key: str, holder: str) -> None:
        await self._session.execute(_RELEASE, {"key": key, "holder": holder})
