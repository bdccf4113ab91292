"""Embeds queries: with a cache of recent vectors, and a rest for a model that failed several times in a row."""

from collections import OrderedDict
from collections.abc import Sequence

import structlog

from streams.errors import DeadlineExceeded, RiffleError
from streams.models.protocols import ModelInfo
from streams.search.deadline import Deadline
from streams.search.failures import OnFailure, Rest
from streams.search.ranking.long_query import mean_vector, parts_of
from streams.search.trace import Trace
from streams.stores.opener import Stores

CACHED_VECTORS = 4_096
"""Maximum query vectors kept: 384 dimensions as Python floats make about 12 KB each, 50 MB in all."""
FAILURES_BEFORE_REST = 3
REST_SECONDS = 2.0
"""Seconds without a call to the model after three failures in a row. Then one query tries it again."""

log = structlog.get_logger(__name__)


class VectorCache:
    """The vectors of recent queries, all of one model. Another model empties it; the least recently used go first."""

    def __init__(self, size: int = CACHED_VECTORS) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Sequence[float]] = OrderedDict()
        self.model: ModelInfo | None = None

    def get(self, text: str) -> Sequence[float] | None:
        if text in self._vectors:
            self._vectors.move_to_end(text)
        return self._vectors.get(text)

    def put(self, model: ModelInfo, text: str, vector: Sequence[float]) -> None:
        if model != self.model:
            self._vectors.clear()
            self.model = model
        self._vectors[text] = vector
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)


class QueryEmbedder:
    """Embeds the queries of one process."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._on_failure = on_failure
        self._cache = VectorCache()
        self._rest = Rest(REST_SECONDS, failures=FAILURES_BEFORE_REST)

    async def embed(self, text: str, deadline: Deadline, trace: Trace) -> Sequence[float] | None:
        """The query's vector, or None with the reason in the trace. Raises nothing: words can be searched alone."""
        with trace.timed("embed_ms"):
            vector = self._cache.get(text)
            if vector is not None:
                trace.states["dense"], trace.model = "cached", self._cache.model
                return vector
            if self._rest.lasts:
                trace.fail("dense", _reason("has not answered lately"))
                return None
            return await self._ask(text, deadline, trace)

    async def _ask(self, text: str, deadline: Deadline, trace: Trace) -> Sequence[float] | None:
        embedder = self._stores.embedder
        try:
            async with deadline.for_embedding():
                model = await embedder.info(urgent=True)
                vector = mean_vector(await embedder.embed(parts_of(text), urgent=True))
        except (RiffleError, TimeoutError) as error:
            self._failed(error, trace)
            return None
        except Exception as error:
            # A fault of the model's client must not end the search by words.
            log.exception("embedding a query failed")
            self._failed(error, trace)
            return None
        self._rest.succeeded()
        self._cache.put(model, text, vector)
        trace.states["dense"], trace.model = "ok", model
        return vector

    def _failed(self, error: Exception, trace: Trace) -> None:
        self._on_failure("models", error)
        self._rest.failed()
        slow = isinstance(error, TimeoutError | DeadlineExceeded)
        trace.fail("dense", _reason("took too long" if slow else "did not answer"))


def _reason(event: str) -> str:
    return f"The embedding model {event}; meaning was not searched, words were."
