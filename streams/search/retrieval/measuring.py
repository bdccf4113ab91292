"""The measurements of one gateway over its own index, in the background after a search: nobody waits for them.

**The bound of the confidence**, from the scores of made nonsense. The bound of a model was measured on small
collections. An index about everything has most words of any query, and a statement near anything: nonsense scores
higher there, and so do the queries that the index answers. So a gateway asks made nonsense over its index from time to
time, one query after the other, and keeps the bound in memory: it is always about the index as it is. What a single
site has counts nothing, or its owner could raise the bound by a page with the words of the made queries.

**The recall of searches.** A small share of the searches is compared with an exact search of the same vector. The index
finds the nearest vectors by a graph, and a graph that is damaged, or built with too few links, loses some of them
without an error. Nobody would see the loss in single answers, so it goes to a metric. An exact search reads all
vectors: at most one runs at a time, and seldom.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

import structlog

from streams.crawl.domains import owner_of
from streams.errors import InvalidQuery, RiffleError
from streams.search.deadline import Deadline, OnFailure, OptionalPart
from streams.search.options import SearchOptions
from streams.search.ranking.confidence import READ_STATEMENTS, bound_of_index, measure_second_site, model_bounds
from streams.search.request import parse
from streams.search.retrieval.lists import Retrieval, read_lists
from streams.search.retrieval.nonsense import all_nonsense
from streams.search.retrieval.query import QueryReader
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.stores.protocols import FOR_EVERYBODY

FIRST_SECONDS = 60.0
"""Time from the start of a gateway to its first measurement: the first searches have the machine for themselves."""
INTERVAL_SECONDS = 3_600.0
"""Minimum time between two measurements (seconds)."""
MIN_SCORES = 100
"""Minimum made queries with a score: the model may have been away during a part of them."""
QUERY_PAUSE_SECONDS = 0.25
"""Pause between two made queries (seconds)."""
PROBE_PAUSE_SECONDS = 30.0
"""Minimum time between two exact searches of one gateway (seconds)."""
PROBE_SECONDS = 10.0
"""Maximum duration of an exact search (seconds)."""

log = structlog.get_logger(__name__)


class IndexBound:
    """The bound for the index of one gateway. The vectors of the made queries are kept for the next measurement."""

    def __init__(
        self,
        stores: SeenStores,
        options: SearchOptions,
        *,
        on_failure: OnFailure,
        clock: Callable[[], float] = monotonic,
        pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(QUERY_PAUSE_SECONDS),
        site_of: Callable[[str], str] = owner_of,
    ) -> None:
        self._stores, self._options, self._on_failure = stores, options, on_failure
        self._queries = QueryReader(stores, on_failure, options.model_languages)
        self._clock, self._pause, self._site_of = clock, pause, site_of
        self._next_at = clock() + FIRST_SECONDS if options.min_confidence is None else float("inf")
        self._running: asyncio.Task[None] | None = None
        self._bounds: dict[str, float] = {}

    def of(self, model: str) -> float | None:
        """Return the bound for the vectors of a model. None: it is not measured, or the model has no bound."""
        return self._bounds.get(model)

    def offer(self) -> None:
        """Measure the bound in the background, if it is due."""
        if self._running is None and self._clock() >= self._next_at:
            self._running = asyncio.create_task(self.measure())

    async def drain(self) -> None:
        """End a running measurement."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def measure(self) -> None:
        """Measure the bound. After a failure the former one stays, and the next measurement comes soon."""
        wait, scores = FIRST_SECONDS, dict[str, list[float]]()
        try:
            for text in all_nonsense():
                found = await self._score(text)
                if found is not None:
                    scores.setdefault(found[0], []).append(found[1])
                await self._pause()
            # While an index is filled with the vectors of another model, the queries may have had both.
            if len(scores) == 1 and len(next(iter(scores.values()))) >= MIN_SCORES:
                ((name, measured),) = scores.items()
                self._bounds = {name: bound_of_index(model_bounds()[name], measured)}
                log.info("the bound of the confidence was measured", model=name, bound=self._bounds[name])
                wait = INTERVAL_SECONDS
        except RiffleError as error:
            log.info("the bound of the confidence was not measured", error=str(error))
        except Exception:  # a fault of this program, which the log should show whole
            log.exception("the bound of the confidence was not measured")
        finally:
            self._running = None
            self._next_at = self._clock() + wait

    async def _score(self, text: str) -> tuple[str, float] | None:
        """Return the model and the confidence in the results of a query. None: they would not be judged."""
        deadline, trace = Deadline(self._options.deadline_seconds), Trace()
        try:
            query = await self._queries.read(parse(text, options=self._options, visible=FOR_EVERYBODY), deadline, trace)
        except InvalidQuery:
            return None
        retrieval = Retrieval(self._stores, query.request.visible, query.filters, READ_STATEMENTS, query.collection)
        found = await read_lists(retrieval, query, deadline, trace, self._on_failure)
        if trace.model is None or trace.model.name not in model_bounds() or not found.dense:
            return None
        return trace.model.name, measure_second_site(found, query.words, self._site_of).certain_score


class RecallProbe:
    """The comparison of some searches of one gateway. `chance` returns random numbers from 0 up to 1.

    `on_recall` gets the share of the nearest vectors that a search found; `on_failure` is called if a probe failed.
    """

    def __init__(
        self,
        stores: SeenStores,
        share: float,
        chance: Callable[[], float],
        *,
        on_recall: Callable[[float], None],
        on_failure: Callable[[], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stores = stores
        self._share = share
        self._chance = chance
        self._on_recall = on_recall
        self._part = OptionalPart("comparison with an exact search", lambda _error: on_failure())
        self._clock = clock
        self._next_at = float("-inf")
        self._running: asyncio.Task[None] | None = None

    def offer(self, vector: Sequence[float], collection: str | None = None) -> None:
        """Compare the search of this vector in the background, if it is chosen."""
        if self._chance() >= self._share or self._running is not None or self._clock() < self._next_at:
            return
        self._running = asyncio.create_task(self._probe(vector, collection))

    async def drain(self) -> None:
        """End a running probe: nobody waits for the probe."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _probe(self, vector: Sequence[float], collection: str | None) -> None:
        try:
            recall = await self._part.read(
                lambda: self._stores.compare_searches(vector, collection), asyncio.timeout(PROBE_SECONDS)
            )
            if recall is not None and recall.expected:
                self._on_recall(recall.share)
        finally:
            self._running = None
            self._next_at = self._clock() + PROBE_PAUSE_SECONDS
