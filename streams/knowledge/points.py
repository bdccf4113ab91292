"""Points of entities, and stored records. Pure."""

from collections.abc import Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from streams.errors import PoisonError
from streams.knowledge.entity import Entity
from streams.stores.protocols import Point
from streams.stores.statement_payload import StatementPayload
from streams.vectors.bm25 import document_vector


def point_id(entity_id: str) -> UUID:
    """Return the id of an entity's point."""
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
