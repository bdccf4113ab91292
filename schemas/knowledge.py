"""Events of the knowledge base. They are keyed by entity, and their topic is compacted."""

from typing import ClassVar

from schemas.envelope import Event


class EntityChanged(Event):
    """The facts of an entity that a panel shows."""

    topic: ClassVar[str] = "entities.changed"
    key_field: ClassVar[str] = "entity_id"

    entity_id: str
    """Wikidata's id, such as Q42."""
    label: str = ""
    description: str = ""
    record_ref: str | None = None
