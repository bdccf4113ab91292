"""Points of entities, one by one and several in a request, and stored records.

A request costs the client and Qdrant more than such a point. Events that are handled at once get their vectors from one
batch of the model, so their points come together. A point may be written twice (`grouped_calls`).
"""

from collections.abc import Awaitable, Callable, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from streams.errors import PoisonError, TransientError
from streams.grouped_calls import GroupedCalls, groups_of
from streams.knowledge.entity import Entity
from streams.stores.protocols import Point
from streams.stores.statement_payload import StatementPayload
from streams.vectors.bm25 import document_vector


def point_id(entity_id: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"entity:{entity_id}")


def point_of(entity: Entity, dense: Sequence[float]) -> Point:
    """Return the point of an entity with this vector of its text."""
    identity, text = point_id(entity.entity_id), entity.text_to_embed()
    payload = StatementPayload.of_row(
        {"page_id": str(identity), "url": entity.entity_id, "title": entity.label, "text": text, "kind": "entity"}
    )
    return Point(identity, dense, document_vector(" ".join((*entity.names, text))), payload)


def read_record(content: bytes) -> Entity:
    """Return a stored record. Raises PoisonError for bytes that are none."""
    try:
        return Entity.model_validate_json(content)
    except ValidationError as error:
        raise PoisonError(f"a stored entity can't be read ({error.error_count()} faults)") from error


def readable_record(content: bytes) -> Entity | None:
    """Return a stored record, or None for one that can't be read: a newer release may have written it."""
    try:
        return read_record(content)
    except PoisonError:
        return None


MAX_POINTS = 64
"""Maximum number of points of a request: as many as a batch of the model has texts."""

Upsert = Callable[[str, Sequence[Point]], Awaitable[None]]
"""Writes points to a collection."""


class GroupedPoints:
    """Groups the points of each collection, and tells each caller how its point ended."""

    def __init__(self, upsert: Upsert) -> None:
        self._upsert = upsert
        self._calls: dict[str, GroupedCalls[Point]] = {}

    async def upsert(self, collection: str, point: Point) -> None:
        """Write a point. Raises what the store raises: for this point only, unless the whole request failed."""
        if collection not in self._calls:

            async def send(points: Sequence[Point]) -> None:
                await self._upsert(collection, points)

            self._calls[collection] = GroupedCalls(send, groups_of(MAX_POINTS), TransientError)
        await self._calls[collection].call(point)
