"""Records and the ledger in Cassandra.

A record has one row per part, so that no stage reads before it writes. Reads that come at about the same time share a
request, as small writes do (`grouped_calls`): the request costs client and server more than such a read. A page's
transitions are in one partition, by event, so that a copy overwrites itself.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from streams.errors import DeadlineExceeded
from streams.grouped_calls import GroupedCalls, groups_of
from streams.stores.cassandra.session import CassandraSession
from streams.stores.packing import pack, unpack
from streams.stores.page_record import Normalized, PageRecord, StoredPart
from streams.stores.protocols import Transition
from streams.stores.rows import pack_row, unpack_row

_PUT = "INSERT INTO pages (page_id, part, value) VALUES (:page_id, :part, :value) USING TIMESTAMP :at"
_GET = "SELECT part, value FROM pages WHERE page_id = :page_id"
_TIMES = "SELECT part, WRITETIME(value) FROM pages WHERE page_id = :page_id"
_GET_MANY = "SELECT page_id, part, value FROM pages WHERE page_id IN :page_ids"
_GET_PART = "SELECT value FROM pages WHERE page_id = :page_id AND part = :part"
_SCAN = (
    "SELECT DISTINCT page_id, token(page_id) FROM pages "
    "WHERE token(page_id) > :after AND token(page_id) <= :upto LIMIT :most"
)

_ERASE = "DELETE FROM pages USING TIMESTAMP :at WHERE page_id = :page_id"
_RECORD = "INSERT INTO transitions (page_id, event_id, value) VALUES (:page_id, :event_id, :value) USING TIMESTAMP :at"
_HISTORY = "SELECT event_id, value FROM transitions WHERE page_id = :page_id"
_DELETE = "DELETE FROM transitions USING TIMESTAMP :at WHERE page_id = :page_id AND event_id = :event_id"
_ERASE_HISTORY = "DELETE FROM transitions USING TIMESTAMP :at WHERE page_id = :page_id"

MAX_READS = 10
"""Maximum number of records in one request."""


@dataclass(slots=True)
class _Read:
    page_id: UUID
    parts: dict[str, Any] = field(default_factory=dict)


class CassandraPages:
    """Records in Cassandra: each stage's latest facts about a page."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session
        # The time of a request that is over is over for each of its reads: the server gets no more requests.
        self._reads = GroupedCalls(self._read, groups_of(MAX_READS), DeadlineExceeded)

    async def put(self, page_id: UUID, part: StoredPart, at: int) -> None:
        row = {"page_id": page_id, "part": part.PART, "value": pack(part.row()), "at": at}
        await self._session.execute_grouped((_PUT, row))

    async def get(self, page_id: UUID) -> PageRecord:
        read = _Read(page_id)
        await self._reads.call(read)
        return PageRecord(read.parts)

    async def _read(self, reads: Sequence[_Read]) -> None:
        """Read records in one request. One by itself is asked for by its key, so its owner is asked."""
        wanted = {read.page_id: read for read in reads}
        if len(wanted) == 1:
            (page_id,) = wanted
            rows = await self._session.execute(_GET, {"page_id": page_id})
            found = [(page_id, *row) for row in rows]
        else:
            found = await self._session.execute(_GET_MANY, {"page_ids": list(wanted)})
        parts: dict[UUID, dict[str, Any]] = {}
        for page_id, part, value in found:
            parts.setdefault(page_id, {})[part] = unpack(value)
        for read in reads:
            read.parts = dict(parts.get(read.page_id, {}))

    async def write_times(self, page_id: UUID) -> dict[str, int]:
        return dict(await self._session.execute(_TIMES, {"page_id": page_id}))

    async def get_normalized(self, page_ids: Sequence[UUID]) -> dict[UUID, Normalized]:
        """Return the part `normalized` of each page that has one. The pages are read side by side."""
        reads = (
            self._session.execute(_GET_PART, {"page_id": page_id, "part": Normalized.PART}) for page_id in page_ids
        )
        found = zip(page_ids, await asyncio.gather(*reads), strict=True)
        return {page_id: Normalized.of_row(unpack(rows[0][0])) for page_id, rows in found if rows}

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        rows = await self._session.execute(_SCAN, {"after": after, "upto": upto, "most": limit})
        return [(token, page_id) for page_id, token in rows]

    async def erase(self, page_id: UUID, before: int) -> None:
        await self._session.execute(_ERASE, {"page_id": page_id}, at=before - 1)


class CassandraLedger:
    """Every transition of every page."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def record(self, *transitions: Transition) -> None:
        rows = [{**_key(transition), "value": pack_row(transition)} for transition in transitions]
        await self._session.execute_grouped(*((_RECORD, row) for row in rows))

    async def history(self, page_id: UUID) -> list[Transition]:
        """Return the transitions of the page, the oldest first. They are sorted here: the rows are ordered by event."""
        rows = await self._session.execute(_HISTORY, {"page_id": page_id})
        found = [unpack_row(Transition, value, page_id=page_id, event_id=event_id) for event_id, value in rows]
        return sorted(found, key=lambda transition: (transition.at, transition.event_id))

    async def delete(self, *transitions: Transition) -> None:
        """Delete transitions of one page together, each at its own time: Cassandra prefers a deletion to a write of the
        same time, so a copy of a deleted event does not come back."""
        await self._session.execute_batch([(_DELETE, _key(transition)) for transition in transitions])

    async def erase(self, page_id: UUID, before: int) -> None:
        await self._session.execute(_ERASE_HISTORY, {"page_id": page_id}, at=before - 1)


def _key(transition: Transition) -> dict[str, Any]:
    return {"page_id": transition.page_id, "event_id": transition.event_id, "at": transition.at}
