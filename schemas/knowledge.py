"""Events of the knowledge base. They are keyed by entity, and their topic is compacted."""

from typing import ClassVar

from schemas.envelope import Event


class EntityChanged(Event):
    """The facts of an entity that a panel shows."""

    topic: ClassVar[str] = "entities.changed"
    key_field: ClassVar[str] = "entity_id"

    entity_id: str
    """Wikidata's id (`Q42`), an article (`enwiki:Douglas Adams`), or the id of an own entity."""
    record_ref: str | None = None
    """The blob with what the source says about the entity, as JSON. None: the source has removed the entity, or the
    event is an alias."""
    source: str = "wikidata"
    """The source: `wikidata`, `wikipedia`, `own`, or `redirect:` with the title of a redirect."""
    alias: str = ""
    """A further name of the entity."""

    def key(self) -> str:
        """Return a key of its own for each further source: the topic is compacted, and keeps the last event of each
        key."""
        return self.entity_id if self.source in ("wikidata", "wikipedia") else f"{self.entity_id} {self.source}"

    def subject(self) -> str:
        return self.entity_id
