"""Opens the store of the role `vectors`."""

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
    """Opens no connection before the first call."""
    index = QdrantIndex(settings.qdrant, production=settings.profile == "production")
    return Vectors(index, index.close)
