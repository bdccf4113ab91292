"""The knowledge about entities: the parts of their sources, merged records, and names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredPart:
    """The part of one source: its blob, and when it was stored."""

    ref: str
    """The reference of the blob. Empty: the source has removed the entity."""
    at: int
    alias: str = ""
    """A further name of the entity, in place of a blob: the source is a redirect."""


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """A merged record, and the time of its write (microseconds)."""

    record: bytes
    at: int


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that has a name."""

    entity_id: str
    rank: int
    """A measure of how widely known the entity is."""


@dataclass(frozen=True, slots=True)
class PartPlace:
    """A stored part, as a walk over all parts finds it."""

    entity_id: str
    source: str
    part: StoredPart


class Entities(Protocol):
    """Parts, records and names of entities. A name is a key that `streams.knowledge.names` made."""

    async def put_part(self, entity_id: str, source: str, part: StoredPart) -> None:
        """Store what a source says. An older write never replaces a newer one."""

    async def parts(self, entity_id: str) -> dict[str, StoredPart]:
        """Return the parts of an entity by their sources. Removed parts are among them."""

    async def stored(self, source: str, entity_ids: Sequence[str]) -> dict[str, StoredPart]:
        """Return the parts that this source has stored, by entity, without unknown entities."""

    async def walk(self, position: int, limit: int) -> tuple[list[PartPlace], int | None]:
        """Return parts from a position on, and the position of the next call: None at the end. The first is 0.

        A part may be returned twice.
        """

    async def name_article(self, article_id: str, entity_id: str, at: int) -> None:
        """Store which entity an article is about. Empty: none any more."""

    async def entities_of(self, article_ids: Sequence[str]) -> dict[str, str]:
        """Return the entities that articles are about, without unknown articles."""

    async def put(self, entity_id: str, record: bytes, at: int) -> None:
        """Store a merged record."""

    async def get(self, entity_ids: Sequence[str]) -> dict[str, StoredEntity]:
        """Return merged records, without unknown entities."""

    async def put_names(self, entity_id: str, names: Sequence[str], rank: int, at: int) -> None: ...

    async def remove_names(self, entity_id: str, names: Sequence[str], rank: int, at: int) -> None: ...

    async def find(self, names: Sequence[str], limit: int) -> dict[str, list[NamedEntity]]:
        """Return the entities with these names, at most `limit` for each, the most widely known first.

        A name found is a hint: the record of the entity decides whether it still has the name.
        """

    async def is_empty(self) -> bool:
        """Return whether no entity was ever stored."""
