"""The one search of the gateway, for the HTML pages and the API: check, search, publish the query, build the answer."""

import asyncio
import random

import structlog

from streams.gateway.context import GatewayContext
from streams.gateway.search.answers import SearchAnswer, to_search_answer
from streams.gateway.search.query_events import Publish, QueryEvents
from streams.search.block_lists import BlockLists
from streams.search.errors import SearchUnavailable
from streams.search.ranking.priors import PriorWeights
from streams.search.recall_probe import RecallProbe
from streams.search.request import SearchRequest, parse
from streams.search.searcher import Filtering, Searcher
from streams.vectors.bm25 import query_vector

MAX_AT_ONCE = 32
"""Maximum searches that are answered at the same time. More of them would only make each other late."""

log = structlog.get_logger(__name__)


class SearchService:
    """Answers the searches of one gateway process."""

    def __init__(self, context: GatewayContext, publish: Publish | None, max_at_once: int = MAX_AT_ONCE) -> None:
        self._slots = asyncio.Semaphore(max_at_once)
        self._limits = context.settings.gateway
        self._metrics = context.metrics
        self._events = QueryEvents(publish, context.metrics)
        self.recall = RecallProbe(
            context.stores,
            self._limits.recall_share,
            random.random,
            on_recall=context.metrics.recall.observe,
            on_failure=context.metrics.recall_failures.inc,
        )
        self._searcher = Searcher(
            context.stores,
            query_vector,
            deadline_seconds=self._limits.deadline_seconds,
            on_failure=context.metrics.store_failed,
            priors=PriorWeights(
                self._limits.authority_weight, self._limits.freshness_weight, self._limits.freshness_half_life_days
            ),
            clock=context.clock,
            rerank=bool(context.settings.triton.rerank_model),
            filtering=Filtering(
                BlockLists(self._limits.block_lists), self._limits.hide_adult, self._limits.results_per_host
            ),
            feedback_pages=self._limits.feedback_pages,
            feedback_share=self._limits.feedback_share,
            answer_weight=self._limits.answer_weight,
            neighbour_weight=self._limits.neighbour_weight,
            recall=self.recall,
        )

    @property
    def default_languages(self) -> tuple[str, ...]:
        """The languages that are searched when a request names none; empty: all."""
        return self._limits.languages

    def request(
        self, text: str, *, page: int, host: str, language: str, per_page: int = 10, explain: bool = False
    ) -> SearchRequest:
        """The checked request. Raises InvalidQuery."""
        return parse(
            text,
            page=page,
            per_page=per_page,
            host=host,
            language=language,
            explain=explain,
            max_chars=self._limits.max_query_chars,
            default_languages=self._limits.languages,
        )

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Raises SearchUnavailable when the index does not answer in time, or no other search ends in time."""
        await self._wait_for_slot()
        try:
            found = await self._searcher.search(request)
            for part in found.trace.failed:
                self._metrics.partial_answers.labels(part).inc()
            for name, count in found.trace.filtered.items():
                self._metrics.filtered.labels(name).inc(count)
            self._events.publish_query(found)
            return to_search_answer(found)
        finally:
            self._slots.release()

    async def _wait_for_slot(self) -> None:
        try:
            async with asyncio.timeout(self._limits.deadline_seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise SearchUnavailable("Too many searches are being answered.") from None

    def warm_up(self) -> None:
        """Load the language model and the stemmers, which the first query would wait for otherwise."""
        query_vector("warm up", "")

    async def rehearse(self) -> None:
        """Search once for nobody: it opens the connections that the first person's search would wait for.

        Raises nothing: the process is as ready as it would be without it.
        """
        try:
            await self._searcher.search(self.request("rehearsal of a search", page=1, host="", language=""))
        except Exception as error:
            log.warning("the search before the first one of a person failed", error=str(error))

    async def drain(self) -> None:
        """Wait for the query events that are being sent, and end what runs in the background."""
        await self._events.drain()
        await self.recall.drain()
