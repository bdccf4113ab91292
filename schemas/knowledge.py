"""Events of the knowledge base: keyed by entity, compacted."""

from typing import ClassVar

from schemas.envelope import Event


class EntityChanged(Event):
    """The facts that a panel shows of an entity."""

    topic: ClassVar[str] = "entities.changed"
    key_field: ClassVar[str] = "entity_id"

    entity_id: str
    """Wikidata's, such as Q42."""
    label: str = ""
    description: str = ""
    record_ref: str | None = None
