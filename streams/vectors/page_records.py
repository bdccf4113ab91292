"""The place of a page in the index, by the page's records. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from streams.stores.removals import Parts


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """A page that searches may show, as its records describe it. Two are equal if the same points follow from them."""

    page_id: UUID
    url: str
    generation: int
    statements: int
    """The number of its statements."""
    statements_ref: str
    """The reference of its statements. Empty in the records of a release that didn't keep it."""
    published: str


def indexed_page(page_id: UUID, parts: Parts) -> IndexedPage | None:
    """The page, or None if it was never indexed or is removed."""
    indexed, removed = parts.get("indexed"), parts.get("removed", {})
    if not indexed or "generation" not in indexed or int(removed.get("generation", -1)) >= int(indexed["generation"]):
        return None
    return IndexedPage(
        page_id,
        url=str(indexed.get("url", page_id)),
        generation=int(indexed["generation"]),
        statements=int(indexed["statements"]),
        statements_ref=_statements_ref(indexed, parts.get("chunked", {})),
        published=published(parts),
    )


def published(parts: Parts) -> str:
    """The ISO date of the page's publication, by its facts. Empty if it has none."""
    return str(parts.get("normalized", {}).get("published") or "")[:10]


def _statements_ref(indexed: Mapping[str, Any], chunked: Mapping[str, Any]) -> str:
    reference = indexed.get("statements_ref")
    if not reference and chunked.get("generation") == indexed["generation"]:
        reference = chunked.get("statements_ref")
    return str(reference or "")
