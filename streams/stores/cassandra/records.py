"""Records and the ledger in Cassandra.

A record has one row per part, so that no stage reads before it writes. Reads that come at about the same time share a
request, as small writes do (`grouped_calls`): the request costs client and server more than such a read. A page's
transitions are in one partition, by event, so that a copy overwrites itself.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from schemas.ids import page_id as page_id_of
from streams.errors import DeadlineExceeded
from streams.grouped_calls import GroupedCalls, groups_of
from streams.stores.blobs import BlobPlace
from streams.stores.cassandra.blobs import compress, off_loop
from streams.stores.cassandra.session import CassandraSession
from streams.stores.packing import pack, unpack
from streams.stores.page_record import Normalized, PageRecord, StoredPart
from streams.stores.protocols import LinkGroup, Transition
from streams.stores.rows import pack_row, unpack_row

# Rows of kind 0 are the record, rows of the other kinds are what other stores keep of the page.
PUT_PART = "INSERT INTO pages (page_id, kind, name, value) VALUES (:page_id, 0, :part, :value) USING TIMESTAMP :at"
_GET = "SELECT name, value FROM pages WHERE page_id = :page_id AND kind = 0"
_GET_WITH_LINKS = "SELECT kind, name, value, WRITETIME(value) FROM pages WHERE page_id = :page_id AND kind IN (0, 2)"
_TIMES = "SELECT name, WRITETIME(value) FROM pages WHERE page_id = :page_id AND kind = 0"
_GET_MANY = "SELECT page_id, name, value FROM pages WHERE page_id IN :page_ids AND kind = 0"
_GET_PARTS = "SELECT page_id, value FROM pages WHERE page_id IN :page_ids AND kind = 0 AND name = :part"
# Pages of archives have links and no record. ALLOW FILTERING: one row of each partition is read, and none to filter it.
_SCAN = (
    "SELECT page_id, token(page_id) FROM pages WHERE token(page_id) > :after AND token(page_id) <= :upto AND kind = 0 "
    "PER PARTITION LIMIT 1 LIMIT :most ALLOW FILTERING"
)

_PUT_LINKS = "INSERT INTO pages (page_id, kind, name, value) VALUES (:page_id, 2, :name, :value) USING TIMESTAMP :at"
_PUT_BLOB = (
    "INSERT INTO pages (page_id, kind, name, content) VALUES (:page_id, 3, :name, :content) "
    "USING TIMESTAMP :at AND TTL :ttl"
)
_ERASE = "DELETE FROM pages USING TIMESTAMP :at WHERE page_id = :page_id"
_RECORD = "INSERT INTO transitions (page_id, event_id, value) VALUES (:page_id, :event_id, :value) USING TIMESTAMP :at"
_HISTORY = "SELECT event_id, value FROM transitions WHERE page_id = :page_id"
_DELETE = "DELETE FROM transitions USING TIMESTAMP :at WHERE page_id = :page_id AND event_id = :event_id"
_ERASE_HISTORY = "DELETE FROM transitions USING TIMESTAMP :at WHERE page_id = :page_id"

RECORD_KIND = 0
"""The kind of rows of a page's record."""
MAX_READS = 10
"""Maximum number of records in one request."""
MAX_PARTS = 50
"""Maximum number of records of which one request reads a part."""


@dataclass(slots=True)
class _Read:
    page_id: UUID
    parts: dict[str, Any] = field(default_factory=dict)


class CassandraPages:
    """Records in Cassandra: each stage's latest facts about a page."""

    def __init__(self, session: CassandraSession, ttl_days: int = 0, clock: Callable[[], float] = time.time) -> None:
        """`ttl_days` and `clock` are of blobs (`CassandraBlobs`)."""
        self._session = session
        self._ttl_seconds, self._clock = ttl_days * 86_400, clock
        # The time of a request that is over is over for each of its reads: the server gets no more requests.
        self._reads = GroupedCalls(self._read, groups_of(MAX_READS), DeadlineExceeded)

    async def put(
        self,
        page_id: UUID,
        part: StoredPart,
        at: int,
        contents: Mapping[str, bytes] | None = None,
        links: Collection[LinkGroup] = (),
    ) -> None:
        row = {"page_id": page_id, "part": part.PART, "value": pack(part.row()), "at": at}
        stored = [await self._blob(page_id, ref, content) for ref, content in (contents or {}).items()]
        writes = [*((_PUT_BLOB, blob) for blob in stored), *(write_of_group(page_id, group) for group in links)]
        await self._session.execute_grouped((PUT_PART, row), *writes)

    async def _blob(self, page_id: UUID, ref: str, content: bytes) -> dict[str, Any]:
        """Return the row of a blob. Its time shows a sweep that it is in use, as in `CassandraBlobs`."""
        frame, now = await off_loop(len(content), compress, content), int(self._clock() * 1e6)
        name = BlobPlace.of(ref).hash.hex()
        return {"page_id": page_id, "name": name, "content": frame, "at": now, "ttl": self._ttl_seconds}

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

    async def get_with_links(self, page_id: UUID) -> tuple[PageRecord, list[LinkGroup]]:
        rows = await self._session.execute(_GET_WITH_LINKS, {"page_id": page_id})
        parts = {name: unpack(value) for kind, name, value, _ in rows if kind == RECORD_KIND}
        return PageRecord(parts), [read_group(value, at) for kind, _, value, at in rows if kind != RECORD_KIND]

    async def write_times(self, page_id: UUID) -> dict[str, int]:
        return dict(await self._session.execute(_TIMES, {"page_id": page_id}))

    async def get_normalized(self, page_ids: Sequence[UUID]) -> dict[UUID, Normalized]:
        """Return the part `normalized` of each page that has one. The pages of an answer are one request."""
        chunks = groups_of(MAX_PARTS)(list(dict.fromkeys(page_ids)))
        wanted = [{"page_ids": chunk, "part": Normalized.PART} for chunk in chunks]
        answers = await self._session.execute_many(_GET_PARTS, wanted)
        found = {page_id: value for rows in answers for page_id, value in rows}
        return {page_id: Normalized.of_row(unpack(found[page_id])) for page_id in page_ids if page_id in found}

    async def scan(self, after: int, upto: int, limit: int) -> list[tuple[int, UUID]]:
        rows = await self._session.execute(_SCAN, {"after": after, "upto": upto, "most": limit})
        return [(token, page_id) for page_id, token in rows]

    async def erase(self, page_id: UUID, before: int) -> None:
        await self._session.execute(_ERASE, {"page_id": page_id}, at=before - 1)


def write_of_group(page_id: UUID, group: LinkGroup) -> tuple[str, dict[str, Any]]:
    """Return the statement, with its parameters, that stores a group of links of a page."""
    value = pack({"urls": list(group.urls), "followed": group.followed})
    return _PUT_LINKS, {"page_id": page_id, "name": name_of_group(group), "value": value, "at": group.generation}


def read_group(value: bytes, at: int) -> LinkGroup:
    """Return the group of links in a row with this write time."""
    group = unpack(value)
    return LinkGroup(tuple(group["urls"]), at, group["followed"])


def name_of_group(group: LinkGroup) -> str:
    """Return the name of the row of a group: the same for the same links."""
    return str(page_id_of(" ".join((*group.urls, "followed" if group.followed else "nofollow"))))


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
