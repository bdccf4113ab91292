"""The check that the index holds vectors of the model that embeds queries.

`riffle reindex` may switch the index to another model while gateways run. Vectors of two models of the same length can
be compared, but the answers would be nonsense, and nobody would see why. So meaning is then left out, with a reason,
until the gateways have the new model. Only names are compared, since versions of one model on other runtimes give the
same vectors.
"""

from asyncio import timeout
from collections.abc import Callable
from time import monotonic

import structlog

from streams.models.protocols import ModelInfo
from streams.search.optional import OptionalPart
from streams.stores.protocols import VectorIndex
from streams.stores.vector_collection import ALIAS

CHECK_SECONDS = 15.0
"""Maximum age of the active collection's name before it is read again (seconds)."""

MAX_SECONDS = 0.2
"""Maximum time that a search waits for the name (seconds)."""

log = structlog.get_logger(__name__)


class ActiveModel:
    """The model of the active collection. The collection's name is read again after CHECK_SECONDS."""

    def __init__(self, index: Callable[[], VectorIndex], alias: str = ALIAS) -> None:
        self._index, self._alias = index, alias
        # The search itself counts an index that is away.
        self._part = OptionalPart("name of the active collection")
        self._collection = ""
        self._asked_at = float("-inf")

    async def mismatch(self, model: ModelInfo) -> str:
        """Return the reason why vectors of this model must not be searched, or an empty string."""
        collection = await self._active()
        if not collection or collection.startswith(f"{self._alias}-{model.name}-"):
            return ""
        return (
            f"The index is {collection}, but queries are embedded by {model.name} {model.version}; meaning was not "
            "searched, words were. Restart the gateway with the index's model."
        )

    async def _active(self) -> str:
        if monotonic() - self._asked_at >= CHECK_SECONDS:
            self._asked_at = monotonic()
            collection = await self._part.read(self._read, timeout(MAX_SECONDS))
            if collection is None:
                return self._collection
            if self._collection and collection != self._collection:
                log.warning("the index was switched", before=self._collection, now=collection)
            self._collection = collection
        return self._collection

    async def _read(self) -> str:
        return await self._index().active() or ""
