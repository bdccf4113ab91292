"""The opening of the store with the role `vectors`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from streams.settings import Settings
from streams.stores.qdrant.index import QdrantIndex


@dataclass(frozen=True, slots=True)
class Vectors:
    """The index in Qdrant, with the name that `Stores` has for it."""

    vectors: QdrantIndex
    close: Callable[[], Awaitable[None]]


async def open_vectors(settings: Settings) -> Vectors:
    """Return the index. It opens no connection before its first call."""
    index = QdrantIndex(settings.qdrant, production=settings.profile == "production")
    return Vectors(index, index.close)
