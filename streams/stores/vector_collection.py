"""Names of collections, the order of a page's statements, and refusals: the same for Qdrant and in memory."""

import re
from collections.abc import Sequence
from uuid import UUID

from streams.errors import StoreUnavailable, UsageError
from streams.models.protocols import ModelInfo
from streams.stores.protocols import Filters, Hit

ALIAS = "statements"
ENTITIES_ALIAS = "entities"
ANY = Filters()


class MissingCollection(StoreUnavailable):
    """The collection was never made, or was dropped. The index stage makes it again with its next event."""


def collection_name(alias: str, model: ModelInfo) -> str:
    """Return the name `<alias>-<model>-<version>`, with only characters that Qdrant takes in a name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{alias}-{model.name}-{model.version}")


def by_ordinal(hit: Hit) -> tuple[int, UUID]:
    """Return the sort key for the order of a page's statements."""
    return hit.payload.ordinal, hit.id


def check_dimensions(name: str, held: int | None, model: ModelInfo) -> None:
    """Raise UsageError if the collection was made for vectors of another length."""
    if held != model.dimensions:
        raise UsageError(
            f"Collection {name} holds vectors of {held} dimensions, but model {model.name} {model.version} makes "
            f"{model.dimensions}. Give the changed model a new version, so that it gets a collection of its own"
        )


def no_collection(name: str, known: Sequence[str]) -> UsageError:
    return UsageError(f"There is no collection {name}; there are {', '.join(known) or 'none'}")


def still_active(name: str) -> UsageError:
    return UsageError(f"Searches read {name}. Activate another collection first")
