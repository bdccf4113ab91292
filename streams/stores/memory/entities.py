"""Entities in memory."""

from collections.abc import Iterator, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from streams.stores.packing import pack
from streams.stores.protocols import NamedEntity, PartPlace, StoredEntity, StoredPart


class MemoryEntities:
    """See `Entities`."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, StoredPart]] = {}
        self._articles: dict[str, tuple[int, str]] = {}
        self._records: dict[str, StoredEntity] = {}
        self._names: dict[str, dict[tuple[int, str], tuple[int, bool]]] = {}

    async def put_part(self, entity_id: str, source: str, part: StoredPart) -> None:
        rows = self._parts.setdefault(entity_id, {})
        if source not in rows or rows[source].at <= part.at:
            rows[source] = part

    async def parts(self, entity_id: str) -> dict[str, StoredPart]:
        return dict(self._parts.get(entity_id, {}))

    async def stored(self, source: str, entity_ids: Sequence[str]) -> dict[str, StoredPart]:
        found = {one: self._parts.get(one, {}).get(source) for one in entity_ids}
        return {one: part for one, part in found.items() if part}

    async def walk(self, position: int, limit: int) -> tuple[list[PartPlace], int | None]:
        places = [
            PartPlace(entity_id, source, part)
            for entity_id in sorted(self._parts)
            for source, part in self._parts[entity_id].items()
        ]
        end = position + limit
        return places[position:end], end if end < len(places) else None

    async def name_article(self, article_id: str, entity_id: str, at: int) -> None:
        if article_id not in self._articles or self._articles[article_id][0] <= at:
            self._articles[article_id] = at, entity_id

    async def entities_of(self, article_ids: Sequence[str]) -> dict[str, str]:
        found = {one: self._articles.get(one, (0, ""))[1] for one in article_ids}
        return {one: entity_id for one, entity_id in found.items() if entity_id}

    async def put(self, entity_id: str, record: bytes, at: int) -> None:
        if entity_id not in self._records or self._records[entity_id].at <= at:
            self._records[entity_id] = StoredEntity(record, at)

    async def get(self, entity_ids: Sequence[str]) -> dict[str, StoredEntity]:
        return {one: self._records[one] for one in entity_ids if one in self._records}

    async def put_names(self, entity_id: str, names: Sequence[str], rank: int, at: int) -> None:
        self._write(entity_id, names, rank, at, is_there=True)

    async def remove_names(self, entity_id: str, names: Sequence[str], rank: int, at: int) -> None:
        self._write(entity_id, names, rank, at, is_there=False)

    def _write(self, entity_id: str, names: Sequence[str], rank: int, at: int, *, is_there: bool) -> None:
        for name in names:
            rows = self._names.setdefault(name, {})
            row = (-rank, entity_id)
            # As in Cassandra: of two writes with one time, the removal stays.
            if row not in rows or (rows[row][0], not rows[row][1]) <= (at, not is_there):
                rows[row] = at, is_there

    async def find(self, names: Sequence[str], limit: int) -> dict[str, list[NamedEntity]]:
        found: dict[str, list[NamedEntity]] = {}
        for name in names:
            rows = sorted(row for row, (_, is_there) in self._names.get(name, {}).items() if is_there)
            if rows:
                found[name] = [NamedEntity(entity_id, -place) for place, entity_id in rows[:limit]]
        return found

    async def is_empty(self) -> bool:
        return not self._records

    def iter_rows(self) -> Iterator[tuple[UUID, bytes]]:
        """Yield the parts as rows with references of blobs."""
        for entity_id, parts in self._parts.items():
            for part in parts.values():
                yield uuid5(NAMESPACE_URL, entity_id), pack({"ref": part.ref})
