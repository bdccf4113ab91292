"""The opening of the store with the role `vectors`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streams.settings import Settings
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.vector_collection import ENTITIES_ALIAS


@dataclass(frozen=True, slots=True)
class Vectors:
    """The indexes in Qdrant, with the names that `Stores` has for them."""

    vectors: QdrantIndex
    entity_vectors: QdrantIndex
    close: Callable[[], Awaitable[None]]


async def open_vectors(settings: Settings) -> Vectors:
    """Return the indexes. They open no connection before their first call."""
    in_production = settings.profile == "production"
    statements = QdrantIndex(settings.qdrant, production=in_production)
    entities = QdrantIndex(settings.qdrant, production=in_production, alias=ENTITIES_ALIAS)

    async def close() -> None:
        await asyncio.gather(statements.close(), entities.close())

    return Vectors(statements, entities, close)
