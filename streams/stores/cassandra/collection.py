"""All blobs and all references to blobs in Cassandra, read in the order of tokens.

Whole tables are read here, a bounded number of rows at a time.
"""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from streams.stores.blobs import BlobPlace, references_in
from streams.stores.cassandra.session import CassandraSession
from streams.stores.protocols import StoredBlob

_FIRST_TOKEN = -(1 << 63)
_POSITIONS = 1 << 64

# `>=`: a limit may cut a page's rows in two. The page is read again then.
# ALLOW FILTERING: the server reads only rows of these kinds of each partition, and none to filter it.
_PAGES = (
    "SELECT token(page_id), page_id, value FROM pages WHERE token(page_id) >= :start AND kind <= 1 LIMIT :count "
    "ALLOW FILTERING"
)
_ENTITIES = "SELECT token(entity_id), entity_id, value FROM entity_parts WHERE token(entity_id) >= :start LIMIT :count"
# The first row of a host's partition is the host itself, with the references to its files.
_HOSTS = (
    "SELECT token(host, part), host, value FROM frontier_hosts WHERE token(host, part) >= :start "
    "PER PARTITION LIMIT 1 LIMIT :count"
)
_STORED = (
    "SELECT token(ref), ref, WRITETIME(chunks) FROM blobs WHERE token(ref) >= :start PER PARTITION LIMIT 1 LIMIT :count"
)
_STORED_WITH_PAGES = (
    "SELECT token(page_id), page_id, name, WRITETIME(content) FROM pages "
    "WHERE token(page_id) >= :start AND kind = 3 LIMIT :count ALLOW FILTERING"
)
_OF_PAGE = "SELECT name, WRITETIME(content) FROM pages WHERE page_id = :page_id AND kind = 3"
_WITH_PAGE = "FROM pages WHERE page_id = :page_id AND kind = 3 AND name = :name"
_DELETE_WITH_PAGE = _WITH_PAGE.replace("FROM pages", "DELETE FROM pages USING TIMESTAMP :at")
_FIND = "SELECT WRITETIME(chunks) FROM blobs WHERE ref = :ref"
_SIZES = "SELECT content FROM blobs WHERE ref = :ref"
_DELETE = "DELETE FROM blobs USING TIMESTAMP :at WHERE ref = :ref"
_CANDIDATES = "SELECT token(ref), ref FROM blob_candidates WHERE token(ref) >= :start LIMIT :count"
_SINCE = "SELECT ref, since FROM blob_candidates WHERE ref = :ref"
_NOTE = "INSERT INTO blob_candidates (ref, since) VALUES (:ref, :since)"
_DROP = "DELETE FROM blob_candidates WHERE ref = :ref"
_TABLES = {"pages": _PAGES, "entities": _ENTITIES, "hosts": _HOSTS}


class CassandraBlobCollection:
    """The tables that contain blobs, candidates and references."""

    sources: Sequence[str] = tuple(_TABLES)
    tables: Sequence[str] = ("blobs", "pages")

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def references(
        self, source: str, position: int, limit: int, without: Collection[UUID] = ()
    ) -> tuple[list[bytes], int | None]:
        rows, following = await self._scan(_TABLES[source], position, limit)
        values = [value for _, key, value in rows if value and key not in without]
        return [ref for value in values for ref in references_in(value)], following

    async def stored(self, table: str, position: int, limit: int) -> tuple[list[StoredBlob], int | None]:
        if table == "pages":
            rows, following = await self._scan(_STORED_WITH_PAGES, position, limit)
            if following is not None and rows[0][0] == rows[-1][0]:  # a page with more blobs than a read has rows
                return await self.of_page(rows[0][1]), following
            return [_blob_of_page(page_id, name, written_at) for _, page_id, name, written_at in rows], following
        rows, following = await self._scan(_STORED, position, limit)
        return [StoredBlob(ref.hex(), written_at) for _, ref, written_at in rows], following

    async def of_page(self, page_id: UUID) -> list[StoredBlob]:
        rows = await self._session.execute(_OF_PAGE, {"page_id": page_id})
        return [_blob_of_page(page_id, name, written_at) for name, written_at in rows]

    async def candidates(self, position: int, limit: int) -> tuple[list[str], int | None]:
        rows, following = await self._scan(_CANDIDATES, position, limit)
        return [BlobPlace.of_key(ref).ref for _, ref in rows], following

    async def candidates_since(self, refs: Sequence[str]) -> dict[str, int]:
        answers = await self._session.execute_many(_SINCE, [_key(ref) for ref in refs])
        return {BlobPlace.of_key(ref).ref: since for rows in answers for ref, since in rows}

    async def note_candidates(self, refs: Sequence[str], at: int) -> None:
        await self._session.execute_many(_NOTE, [{**_key(ref), "since": at} for ref in refs])

    async def drop_candidates(self, refs: Sequence[str]) -> None:
        await self._session.execute_many(_DROP, [_key(ref) for ref in refs])

    async def find(self, ref: str) -> StoredBlob | None:
        if BlobPlace.of(ref).page_id:
            rows = await self._session.execute(f"SELECT WRITETIME(content) {_WITH_PAGE}", _row_key(ref))
        else:
            rows = await self._session.execute(_FIND, _key(ref))
        return StoredBlob(ref, max(written_at for (written_at,) in rows)) if rows else None

    async def size_bytes(self, ref: str) -> int:
        if BlobPlace.of(ref).page_id:
            rows = await self._session.execute(f"SELECT content {_WITH_PAGE}", _row_key(ref))
        else:
            rows = await self._session.execute(_SIZES, _key(ref), page_rows=4)
        return sum(len(content) for (content,) in rows)

    async def delete(self, blob: StoredBlob) -> None:
        """Delete the blob with the write time of the blob, so that a blob that is stored again meanwhile stays."""
        if BlobPlace.of(blob.ref).page_id:
            await self._session.execute(_DELETE_WITH_PAGE, _row_key(blob.ref), at=blob.written_at)
        else:
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


def _key(ref: str) -> dict[str, Any]:
    return {"ref": BlobPlace.of(ref).key}


def _row_key(ref: str) -> dict[str, Any]:
    """Return the key of the row of a blob that is stored with a page."""
    place = BlobPlace.of(ref)
    return {"page_id": place.page_id, "name": place.hash.hex()}


def _blob_of_page(page_id: UUID, name: str, written_at: int) -> StoredBlob:
    return StoredBlob(BlobPlace(bytes.fromhex(name), page_id).ref, written_at)
