"""Entities in Cassandra: parts by entity and source, merged records, names, and the entities of articles.

All writes carry their own time and have no condition, so writes of several entities share requests
(`grouped_writes`): an entity has a part, a record and some names, each in a partition of its own.
"""

import asyncio
from collections.abc import Iterable, Sequence

from streams.stores.cassandra.session import CassandraSession, Params
from streams.stores.protocols import NamedEntity, PartPlace, StoredEntity, StoredPart
from streams.stores.rows import pack_row, unpack_row

_FIRST_TOKEN = -(1 << 63)
_PUT_PART = (
    "INSERT INTO entity_parts (entity_id, source, value) VALUES (:entity_id, :source, :value) USING TIMESTAMP :at"
)
_PARTS = "SELECT source, value FROM entity_parts WHERE entity_id = :entity_id"
_PART = "SELECT entity_id, value FROM entity_parts WHERE entity_id = :entity_id AND source = :source"
# `>=`: a limit may cut an entity's rows in two. The entity is read again then.
_WALK = (
    "SELECT token(entity_id), entity_id, source, value FROM entity_parts WHERE token(entity_id) >= :start LIMIT :most"
)
_NAME_ARTICLE = (
    "INSERT INTO entity_articles (article_id, entity_id) VALUES (:article_id, :entity_id) USING TIMESTAMP :at"
)
_ENTITY_OF = "SELECT article_id, entity_id FROM entity_articles WHERE article_id = :article_id"
_PUT = "INSERT INTO entities (entity_id, record) VALUES (:entity_id, :record) USING TIMESTAMP :at"
_GET = "SELECT entity_id, record, WRITETIME(record) FROM entities WHERE entity_id = :entity_id"
_PUT_NAME = "INSERT INTO entity_names (name, place, entity_id) VALUES (:name, :place, :entity_id) USING TIMESTAMP :at"
_REMOVE_NAME = (
    "DELETE FROM entity_names USING TIMESTAMP :at WHERE name = :name AND place = :place AND entity_id = :entity_id"
)
_FIND = "SELECT name, place, entity_id FROM entity_names WHERE name = :name LIMIT :most"
_ANY = "SELECT entity_id FROM entities LIMIT 1"


class CassandraEntities:
    """See `Entities`."""

    def __init__(self, session: CassandraSession) -> None:
        self._session = session

    async def put_part(self, entity_id: str, source: str, part: StoredPart) -> None:
        row = {"entity_id": entity_id, "source": source, "value": pack_row(part)}
        await self._write(_PUT_PART, [row], part.at)

    async def parts(self, entity_id: str) -> dict[str, StoredPart]:
        rows = await self._session.execute(_PARTS, {"entity_id": entity_id})
        return {source: unpack_row(StoredPart, value) for source, value in rows}

    async def stored(self, source: str, entity_ids: Sequence[str]) -> dict[str, StoredPart]:
        keys = [{"entity_id": one, "source": source} for one in entity_ids]
        answers = await self._session.execute_many(_PART, keys)
        return {entity_id: unpack_row(StoredPart, value) for rows in answers for entity_id, value in rows}

    async def walk(self, position: int, limit: int) -> tuple[list[PartPlace], int | None]:
        rows = await self._session.execute(_WALK, {"start": position + _FIRST_TOKEN, "most": limit})
        found = [PartPlace(entity_id, source, unpack_row(StoredPart, value)) for _, entity_id, source, value in rows]
        if len(rows) < limit:
            return found, None
        last = rows[-1][0] - _FIRST_TOKEN
        return found, last if last > position else last + 1

    async def name_article(self, article_id: str, entity_id: str, at: int) -> None:
        await self._write(_NAME_ARTICLE, [{"article_id": article_id, "entity_id": entity_id}], at)

    async def entities_of(self, article_ids: Sequence[str]) -> dict[str, str]:
        answers = await self._session.execute_many(_ENTITY_OF, [{"article_id": one} for one in article_ids])
        return {article_id: entity_id for rows in answers for article_id, entity_id in rows if entity_id}

    async def put(self, entity_id: str, record: bytes, at: int) -> None:
        await self._write(_PUT, [{"entity_id": entity_id, "record": record}], at)

    async def get(self, entity_ids: Sequence[str]) -> dict[str, StoredEntity]:
        answers = await self._session.execute_many(_GET, [{"entity_id": one} for one in entity_ids])
        return {entity_id: StoredEntity(record, at) for rows in answers for entity_id, record, at in rows}

    async def put_names(self, entity_id: str, names: Sequence[str], rank: int, at: int) -> None:
        await self._write(_PUT_NAME, _name_rows(entity_id, names, rank), at)

    async def remove_names(self, entity_id: str, names: Sequence[str], rank: int, at: int) -> None:
        await self._write(_REMOVE_NAME, _name_rows(entity_id, names, rank), at)

    async def find(self, names: Sequence[str], limit: int) -> dict[str, list[NamedEntity]]:
        answers = await self._session.execute_many(_FIND, [{"name": name, "most": limit} for name in names])
        found: dict[str, list[NamedEntity]] = {}
        for rows in answers:
            for name, place, entity_id in rows:
                found.setdefault(name, []).append(NamedEntity(entity_id, -place))
        return found

    async def is_empty(self) -> bool:
        return not await self._session.execute(_ANY)

    async def _write(self, cql: str, rows: Iterable[Params], at: int) -> None:
        """Run a small write once for each row. Raises the first failure, after which others may be done."""
        await asyncio.gather(*(self._session.execute_grouped((cql, {**row, "at": at})) for row in rows))


def _name_rows(entity_id: str, names: Sequence[str], rank: int) -> list[Params]:
    return [{"name": name, "place": -rank, "entity_id": entity_id} for name in names]
