"""The points of all entities in the collection of another model, from their stored records, while searches read the
former collection."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from streams.knowledge.points import point_id, point_of, readable_record
from streams.models.protocols import Embedder
from streams.stores.opener import Stores

WALK_ROWS = 500
BATCH = 32
"""Number of entities that are embedded at once."""


@dataclass(slots=True)
class Reindexed:
    """The counts of a pass."""

    entities: int = 0
    """Number of entities with a panel."""
    written: int = 0
    """Number of points that the collection did not have."""


class EntityReindexer:
    """The job. It may end at any moment and begin again: points that are there are not computed again."""

    def __init__(self, stores: Stores, embedder: Embedder, collection: str) -> None:
        self._stores, self._embedder, self._collection = stores, embedder, collection

    async def run(self) -> AsyncIterator[Reindexed]:
        """Visit all entities, and yield the counts so far after each step. Raises the stores' errors."""
        counts = Reindexed()
        seen = ""
        position: int | None = 0
        while position is not None:
            rows, position = await self._stores.entities.walk(position, WALK_ROWS)
            ids = list(dict.fromkeys(row.entity_id for row in rows if row.entity_id != seen))
            seen = rows[-1].entity_id if rows else seen
            for first in range(0, len(ids), BATCH):
                await self._visit(ids[first : first + BATCH], counts)
            yield counts

    async def _visit(self, ids: Sequence[str], counts: Reindexed) -> None:
        stored = await self._stores.entities.get(ids)
        found = [
            record for row in stored.values() if (record := readable_record(row.record)) and record.kind == "entity"
        ]
        counts.entities += len(found)
        index = self._stores.entity_vectors
        missing = [one for one in found if not await index.count(self._collection, point_id(one.entity_id))]
        if missing:
            vectors = await self._embedder.embed([one.text_to_embed() for one in missing], "passage")
            points = [point_of(one, vector.tolist()) for one, vector in zip(missing, vectors, strict=True)]
            await index.upsert(self._collection, points)
            counts.written += len(missing)
