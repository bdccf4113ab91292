"""The one search of the gateway, for the HTML pages and the API: search, publish the query, build the answer."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import structlog

from schemas.ids import query_hash
from streams.errors import RiffleError
from streams.gateway.access.bucket import cost_of_search
from streams.gateway.access.clients import limit
from streams.gateway.access.guard import Charge
from streams.gateway.context import GatewayContext
from streams.gateway.search.answer_model import SearchAnswer
from streams.gateway.search.answers import add_beside, found_statements, to_search_answer
from streams.gateway.search.query_events import (
    AskedQueries,
    BackgroundEvents,
    DailySecret,
    Publish,
    person_keys,
    query_made,
)
from streams.gateway.search.spelling import SearchSpelling, apply_correction
from streams.gateway.suggest.service import blocked_words
from streams.queries.quick import checks
from streams.queries.quick.checks import find_definition
from streams.queries.quick.model import QuickCheck
from streams.queries.spelling.corrector import Correction
from streams.queries.spelling.decision import Spelling
from streams.search.core import MAX_AT_ONCE, AnySource, Beside, SearchCore, read_optional_parts
from streams.search.options import SearchOptions
from streams.search.request import FIRST_PAGE, Parameters, SearchRequest
from streams.search.retrieval.measuring import IndexBound, RecallProbe
from streams.search.searcher import Found, Searcher
from streams.stores.protocols import FOR_EVERYBODY, Visible

MODEL_LOAD_SECONDS = 5.0
"""Maximum time to wait until the model for queries is loaded, before the first search (seconds)."""

Correct = Callable[[Found], Awaitable[tuple[Found, Spelling | None]]]
"""Return what to show in place of the results found, with the correction of the query, if there is one."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunningSearch:
    """A search that runs: the answer with the results, and the answers beside them, perhaps later."""

    request: SearchRequest
    results: asyncio.Task[SearchAnswer]
    beside: asyncio.Task[Beside]
    found: asyncio.Future[Found]
    """The results as data, once `results` is done: the corrected query's, if they are shown."""

    async def answer(self) -> SearchAnswer:
        """Wait for the whole answer. Raises SearchUnavailable if there are no results in time."""
        try:
            return add_beside(await self.results, await self.beside)
        finally:
            self.cancel()

    def cancel(self) -> None:
        """Cancel the tasks that still run. A finished task ignores the call."""
        self.results.cancel()
        self.beside.cancel()


class SearchService:
    """The searches of one gateway process."""

    def __init__(
        self,
        context: GatewayContext,
        publish: Publish | None,
        sources: Sequence[AnySource] = (),
        *,
        people: Callable[[], Awaitable[Visible]],
        max_at_once: int = MAX_AT_ONCE,
    ) -> None:
        """`people`: returns what people without a key see now."""
        self._stores, self._clock = context.stores, context.clock
        metrics, options = context.metrics, SearchOptions.of(context.settings)
        self._metrics = metrics
        published = publish if context.settings.gateway.publish_queries else None
        self._events = BackgroundEvents(published, metrics)
        self.asked = AskedQueries(
            person_keys(context.settings), publish, metrics, context.clock, context.settings.access.trusted_proxies
        )
        self._secret = DailySecret(context.clock)
        self.recall = RecallProbe(
            context.stores,
            options.recall_share,
            random.random,
            on_recall=metrics.recall.observe,
            on_failure=metrics.recall_failures.inc,
        )
        self.index_bound = IndexBound(context.stores, options, on_failure=metrics.count_failure)
        self.searcher = Searcher(
            context.stores,
            options,
            on_failure=metrics.count_failure,
            clock=context.clock,
            recall=self.recall,
            index_bound=self.index_bound,
        )
        self._core = SearchCore(self.searcher, sources, max_at_once=max_at_once)
        self.reranks = options.rerank
        """True if a cross-encoder reads the first results."""
        self.spelling = SearchSpelling(
            context.stores,
            context.clock,
            blocked_words(context.settings),
            people,
            is_on=context.settings.gateway.spelling,
        )
        self.default_languages = options.languages
        """The languages that are searched when a request names none; empty: all."""

    def start(
        self, text: str, visible: Visible, given: Parameters = FIRST_PAGE, *, exact: bool = False, person: str = ""
    ) -> RunningSearch:
        """Begin a search of the pages that a client may see.

        `exact`: the spelling of the query is right. `person`: hash of the person, see `asked`. Raises InvalidQuery.
        """
        given = limit(given, visible)
        running = self._core.start(text, given, visible=visible)
        correcting = None if exact else self.spelling.start(running.request)
        correct = partial(self._correct, given, visible, correcting) if correcting else None
        shown: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        quick = self._check(running.request)
        results = asyncio.create_task(self._answer(running.results, quick, correct, person, shown))
        running.beside.add_done_callback(self._count_missing)
        return RunningSearch(running.request, results, running.beside, shown)

    def cost_of(self, answer: SearchAnswer) -> int:
        """Return the work units of a page of results."""
        return cost_of_search(answer.page, answer.per_page, len(answer.operators), reranks=self.reranks)

    async def ask(
        self, text: str, charge: Charge, given: Parameters = FIRST_PAGE, *, exact: bool = False
    ) -> SearchAnswer:
        """Return the whole answer to a program, which pays for it. Raises InvalidQuery and SearchUnavailable."""
        answer = await self.start(text, charge.visible, given, exact=exact).answer()
        charge.spend(self.cost_of(answer))
        return answer

    async def find(self, text: str, visible: Visible) -> Found:
        """Return the first results of a query as data, without what comes beside them. Raises SearchUnavailable."""
        running = self._core.start(text, limit(FIRST_PAGE, visible), visible=visible)
        try:
            return await running.results
        finally:
            running.results.cancel()
            running.beside.cancel()

    def _check(self, request: SearchRequest) -> QuickCheck | None:
        """Return the answer that follows from the query by itself. It takes a few milliseconds at most."""
        if request.page > 1:
            return None
        try:
            return checks.check_query(request.text, self._clock())
        except Exception as error:
            log.error("a quick check failed with an unexpected error", exc_info=error)
            return None

    async def _correct(
        self, given: Parameters, visible: Visible, correcting: asyncio.Task[Correction | None], found: Found
    ) -> tuple[Found, Spelling | None]:
        seconds = self.searcher.options.deadline_seconds
        start = partial(self._core.start, given=given, visible=visible)
        return await apply_correction(found, correcting, start, seconds)

    async def _answer(
        self,
        results: asyncio.Task[Found],
        quick: QuickCheck | None,
        correct: Correct | None,
        person: str,
        shown: asyncio.Future[Found],
    ) -> SearchAnswer:
        found, spelling = await results, None
        self.asked.send(found, person)
        if correct is not None and quick is None:
            found, spelling = await correct(found)
        if not shown.done():
            shown.set_result(found)
        for part in found.failed:
            self._metrics.partial_answers.labels(part).inc()
        for name, count in found.notes.passes.get("filters", {}).items():
            self._metrics.filtered.labels(name).inc(count)
        if self._events.is_on:
            self._events.send(query_made(found, self._secret.value()))
        answer = to_search_answer(found)
        if quick is None and found.request.page == 1 and not answer.nearest_only:
            quick = find_definition(found.request.text, found_statements(answer))
        return answer.model_copy(update={"quick": quick, "spelling": spelling})

    def hash_of(self, query: str) -> str:
        """Return the hash of a query, as its events have it: another one each day."""
        return query_hash(query, self._secret.value())

    def _count_missing(self, beside: asyncio.Task[Beside]) -> None:
        if not beside.cancelled() and beside.exception() is None:
            for name in beside.result().missing:
                self._metrics.partial_answers.labels(name).inc()

    def warm_up(self) -> None:
        """Load the language model and the units, which the first query would wait for otherwise."""
        self._core.warm_up()
        checks.warm_up()
        self.spelling.load_in_background()

    async def rehearse(self) -> None:
        """Search once for nobody, so that no person waits for connections to be opened, nor for a model to be loaded.

        Loading a model may take longer than a search may, so the model is asked before. Optional parts are read by
        themselves, since a search without results reads none of them. Raises nothing: a failed rehearsal leaves the
        process as ready as none.
        """
        try:
            with suppress(TimeoutError, RiffleError):
                async with asyncio.timeout(MODEL_LOAD_SECONDS):
                    await self._stores.embedder.refresh()
                    await self._stores.embedder.embed(["rehearsal of a search"], "query")
            running = self._core.start("rehearsal of a search", visible=FOR_EVERYBODY)
            await asyncio.gather(running.results, running.beside, read_optional_parts(self._stores))
        except Exception as error:
            log.warning("the search before the first one of a person failed", error=str(error))

    async def drain(self) -> None:
        """Wait for the query events that are being sent, and end the tasks in the background."""
        await self.spelling.close()
        await self._events.drain()
        await self.asked.drain()
        await self.recall.drain()
        await self.index_bound.drain()
