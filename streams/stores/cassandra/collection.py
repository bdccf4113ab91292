"""All blobs and all references to blobs in Cassandra, read in the order of tokens.

Whole tables are read here, a bounded number of rows at a time.
"""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from streams.stores.blobs import references_in
from streams.stores.cassandra.session import CassandraSession
from streams.stores.host_buckets import BUCKETS
from streams.stores.protocols import StoredBlob

_FIRST_TOKEN = -(1 << 63)
_POSITIONS = 1 << 64
BUCKETS_AT_ONCE = 64
"""Maximum number of buckets of hosts that are read at once."""

# `>=`: a limit may cut a page's rows in two. The page is read again then.
_PAGES = "SELECT token(page_id), page_id, value FROM pages WHERE token(page_id) >= :start LIMIT :count"
_FINGERPRINTS = "SELECT token(page_id), page_id, value FROM fingerprints WHERE token(page_id) >= :start LIMIT :count"
_ENTITIES = "SELECT token(entity_id), entity_id, value FROM entity_parts WHERE token(entity_id) >= :start LIMIT :count"
_HOSTS = "SELECT state FROM frontier_hosts WHERE bucket = :bucket"
_STORED = (
    "SELECT token(ref), ref, WRITETIME(chunks) FROM blobs WHERE token(ref) >= :start PER PARTITION LIMIT 1 LIMIT :count"
)
_FIND = "SELECT WRITETIME(chunks) FROM blobs WHERE ref = :ref"
_SIZES = "SELECT content FROM blobs WHERE ref = :ref"
_DELETE = "DELETE FROM blobs USING TIMESTAMP :at WHERE ref = :ref"
_CANDIDATES = "SELECT token(ref), ref FROM blob_candidates WHERE token(ref) >= :start LIMIT :count"
_SINCE = "SELECT ref, since FROM blob_candidates WHERE ref = :ref"
_NOTE = "INSERT INTO blob_candidates (ref, since) VALUES (:ref, :since)"
_DROP = "DELETE FROM blob_candidates WHERE ref = :ref"
_TABLES = {"pages": _PAGES, "fingerprints": _FINGERPRINTS, "entities": _ENTITIES}


class CassandraBlobCollection:
    """The tables that contain blobs, candidates and references."""

    sources: Sequence[str] = (*_TABLES, "hosts")

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def references(
        self, source: str, position: int, limit: int, without: Collection[UUID] = ()
    ) -> tuple[list[bytes], int | None]:
        if source == "hosts":
            return await self._references_of_hosts(position)
        rows, following = await self._scan(_TABLES[source], position, limit)
        values = [value for _, page_id, value in rows if value and page_id not in without]
        return [ref for value in values for ref in references_in(value)], following

    async def stored(self, position: int, limit: int) -> tuple[list[StoredBlob], int | None]:
        rows, following = await self._scan(_STORED, position, limit)
        return [StoredBlob(ref.hex(), written_at) for _, ref, written_at in rows], following

    async def candidates(self, position: int, limit: int) -> tuple[list[str], int | None]:
        rows, following = await self._scan(_CANDIDATES, position, limit)
        return [ref.hex() for _, ref in rows], following

    async def candidates_since(self, refs: Sequence[str]) -> dict[str, int]:
        answers = await self._session.execute_many(_SINCE, [_key(ref) for ref in refs])
        return {ref.hex(): since for rows in answers for ref, since in rows}

    async def note_candidates(self, refs: Sequence[str], at: int) -> None:
        await self._session.execute_many(_NOTE, [{**_key(ref), "since": at} for ref in refs])

    async def drop_candidates(self, refs: Sequence[str]) -> None:
        await self._session.execute_many(_DROP, [_key(ref) for ref in refs])

    async def find(self, ref: str) -> StoredBlob | None:
        rows = await self._session.execute(_FIND, _key(ref))
        return StoredBlob(ref, max(written_at for (written_at,) in rows)) if rows else None

    async def size_bytes(self, ref: str) -> int:
        rows = await self._session.execute(_SIZES, _key(ref), page_rows=4)
        return sum(len(content) for (content,) in rows)

    async def delete(self, blob: StoredBlob) -> None:
        """Delete the blob with the write time of the blob, so that a blob that is stored again meanwhile stays."""
        await self._session.execute(_DELETE, _key(blob.ref), at=blob.written_at)
        await self._session.execute(_DROP, _key(blob.ref))

    async def _scan(self, statement: str, position: int, limit: int) -> tuple[list[Any], int | None]:
        """Return rows from a position on, each with its token first, and the position of the next read."""
        start = position + _FIRST_TOKEN
        rows = await self._session.execute(statement, {"start": start, "count": limit})
        if len(rows) < limit:
            return rows, None
        last = rows[-1][0] - _FIRST_TOKEN
        following = last if last > position else last + 1
        return rows, following if following < _POSITIONS else None

    async def _references_of_hosts(self, position: int) -> tuple[list[bytes], int | None]:
        """Return references to robots.txt files in the states of hosts, by buckets."""
        step = _POSITIONS // BUCKETS
        first = position // step
        buckets = range(first, min(first + BUCKETS_AT_ONCE, BUCKETS))
        answers = await self._session.execute_many(_HOSTS, [{"bucket": bucket} for bucket in buckets])
        found = [ref for rows in answers for (state,) in rows if state for ref in references_in(state)]
        return found, buckets.stop * step if buckets.stop < BUCKETS else None


def _key(ref: str) -> dict[str, Any]:
    return {"ref": bytes.fromhex(ref)}
