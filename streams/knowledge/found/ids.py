"""The ids of entities that were found in the index: each is named by its page. Pure."""

from uuid import UUID

SOURCE = "index"
PREFIX = "page:"


def entity_id_of(page_id: UUID) -> str:
    """Return the id of the entity that a page is about."""
    return f"{PREFIX}{page_id}"


def page_of(entity_id: str) -> UUID | None:
    """Return the page of an entity that was found in the index; None for another entity."""
    try:
        return UUID(entity_id.removeprefix(PREFIX)) if entity_id.startswith(PREFIX) else None
    except ValueError:
        return None
