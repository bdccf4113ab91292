"""The ledger in Cassandra: a page's transitions in one partition, by event, so that a copy overwrites itself."""

from uuid import UUID

from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import Transition
from streams.stores.row_codec import pack_transition, unpack_transition

_RECORD = "INSERT INTO transitions (page_id, event_id, value) VALUES (:page_id, :event_id, :value) USING TIMESTAMP :at"
_HISTORY = "SELECT event_id, value FROM transitions WHERE page_id = :page_id"
_DELETE = "DELETE FROM transitions USING TIMESTAMP :at WHERE page_id = :page_id AND event_id = :event_id"
_ERASE = "DELETE FROM transitions USING TIMESTAMP :at WHERE page_id = :page_id"


class CassandraLedger:
    """Every transition of every page."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def record(self, *transitions: Transition) -> None:
        rows = [
            {
                "page_id": transition.page_id,
                "event_id": transition.event_id,
                "value": pack_transition(transition),
                "at": transition.at,
            }
            for transition in transitions
        ]
        await self._session.execute_grouped(*((_RECORD, row) for row in rows))

    async def history(self, page_id: UUID) -> list[Transition]:
        """Return the transitions of the page, the oldest first. They are sorted here: the rows are ordered by event."""
        rows = await self._session.execute(_HISTORY, {"page_id": page_id})
        found = [unpack_transition(page_id, event_id, value) for event_id, value in rows]
        return sorted(found, key=lambda transition: (transition.at, transition.event_id))

    async def delete(self, *transitions: Transition) -> None:
        """Delete transitions of one page together, each at its own time: Cassandra prefers a deletion to a write of the
        same time, so a copy of a deleted event does not come back."""
        rows = [
            {"page_id": transition.page_id, "event_id": transition.event_id, "at": transition.at}
            for transition in transitions
        ]
        await self._session.execute_batch([(_DELETE, row) for row in rows])

    async def erase(self, page_id: UUID, before: int) -> None:
        """Erase the transitions before this time."""
        await self._session.execute(_ERASE, {"page_id": page_id}, at=before - 1)
