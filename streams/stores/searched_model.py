"""The model of the collection that searches read: queries are embedded by it, whatever the settings name.

So the model of a running installation changes at one moment, when `riffle reindex` moves the alias. A process sees this
within CHECK_SECONDS. It loads the next model first, and uses the former one and its collection meanwhile: no vector
of one model is compared with a vector of another one.

A model that can't be opened here (it is in no model repository any more) leaves the settings' own: then the search
leaves meaning out (`streams.search.retrieval.model_fit`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import NamedTuple

import structlog

from schemas.pages import ModelName
from streams.errors import RiffleError
from streams.models.protocols import Embedder, ModelInfo, OtherModels, TextRole, Vectors
from streams.stores.vector_collection import ALIAS, collection_name

CHECK_SECONDS = 15.0
"""Maximum age of the searched collection's name before it is read again (seconds)."""
MAX_SECONDS = 0.2
"""Maximum time that the first search waits for the name (seconds)."""
ASK_AGAIN_SECONDS = 60.0
"""Time between two questions to the server (seconds): a worker that it does not answer loses no more time to it."""

log = structlog.get_logger(__name__)


class Searched(NamedTuple):
    """A collection, with the embedder and the description of its model."""

    collection: str
    embedder: Embedder
    model: ModelInfo


class ModelInUse(NamedTuple):
    """The model of one search, and the collection that has its vectors. A switch meanwhile does not change them."""

    embedder: Embedder
    collection: str | None
    """None: the name is not known, so it is the alias's."""


class SearchedModel:
    """The embedder of the model of the searched collection (see `Embedder`)."""

    def __init__(
        self,
        own: Callable[[], Embedder],
        others: Callable[[], OtherModels],
        read: Callable[[], Awaitable[str | None]],
        *,
        alias: str = ALIAS,
        role: TextRole = "query",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`own` and `others` return the settings' model and the other ones; `read` reads the collection's name."""
        self._own, self._others, self._read, self._alias, self._role = own, others, read, alias, role
        self._clock, self._looked_at = clock, float("-inf")
        self._reading = asyncio.Lock()
        self._look: asyncio.Task[None] | None = None
        self._found: Searched | None = None
        self._collection: str | None = None

    @property
    def in_use(self) -> ModelInUse:
        return ModelInUse(self._found.embedder if self._found else self._own(), self._collection)

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return await self.in_use.embedder.info(role)

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        return await self.in_use.embedder.embed(texts, role, deadline_seconds=deadline_seconds)

    async def look(self) -> ModelInUse:
        """Return the model of a search that begins, and look beside it now and then whether the alias was moved.

        Raises nothing.
        """
        is_looking = self._look is not None and not self._look.done()
        if self._clock() - self._looked_at >= CHECK_SECONDS and not is_looking:
            self._look = asyncio.create_task(self._refresh_or_log())
            if self._collection is None:
                await asyncio.wait([self._look], timeout=MAX_SECONDS)
        return self.in_use

    async def refresh(self) -> None:
        """Return when the model is the searched collection's, as it was at most CHECK_SECONDS ago.

        Raises the errors of the index and of the models' servers.
        """
        async with self._reading:
            if self._clock() - self._looked_at < CHECK_SECONDS:
                return
            name = await self._read()
            if name and name != self._collection:
                found = await self._find(name)
                if self._collection:
                    log.warning("searches read another collection", before=self._collection, now=name)
                self._collection, self._found = name, found
            self._looked_at = self._clock()

    def other_than(self, model: ModelName) -> Searched | None:
        """Return the searched collection, if it is of another model that this process has."""
        return self._found if self._found and self._found.model.model != model else None

    async def _refresh_or_log(self) -> None:
        try:
            await self.refresh()
        except RiffleError as error:
            self._looked_at = self._clock()
            log.info("unknown which collection searches read", error=str(error))

    async def _find(self, collection: str) -> Searched | None:
        own = self._own()
        model = await own.info(self._role)
        if collection_name(self._alias, model) == collection:
            return None if self._role == "query" else Searched(collection, own, model)
        other = await self._others().find(lambda info: collection_name(self._alias, info) == collection)
        if other is None:
            return None
        await other.embed(["ready"], self._role)  # it is loaded before anybody waits for it
        return Searched(collection, other, await other.info(self._role))


class CurrentModel:
    """The name of the settings' model as its server said it last, or None if it did not answer.

    It is for a stage that makes no vectors itself, and does not wait for the server.
    """

    def __init__(self, embedder: Embedder, monotonic: Callable[[], float]) -> None:
        self._embedder, self._monotonic = embedder, monotonic
        self._name: ModelName | None = None
        self._asked = float("-inf")

    async def read(self) -> ModelName | None:
        now = self._monotonic()
        if now - self._asked >= ASK_AGAIN_SECONDS:
            self._asked = now
            try:
                self._name = (await self._embedder.info()).model
            except RiffleError as error:
                self._name = None
                log.warning("nobody says the model's name: unchanged pages are passed on", error=str(error))
        return self._name
