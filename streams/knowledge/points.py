"""Ids of entities' points, and stored records. Pure."""

from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import ValidationError

from streams.errors import PoisonError
from streams.knowledge.entity import Entity


def point_id(entity_id: str) -> UUID:
    """Return the id of an entity's point."""
    return uuid5(NAMESPACE_URL, f"entity:{entity_id}")


def read_record(content: bytes) -> Entity:
    """Return a stored record. Raises PoisonError for bytes that are none."""
    try:
        return Entity.model_validate_json(content)
    except ValidationError as error:
        raise PoisonError(f"a stored entity can't be read ({error.error_count()} faults)") from error
