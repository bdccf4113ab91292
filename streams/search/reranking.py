"""The cross-encoder's order of the first results, if the operator has set up its model.

A search is worth something without it: when the model is slow or down, the order of the scores stays, and the answer
says so. After a failure the model is not asked for some seconds.
"""

from streams.errors import DeadlineExceeded, RiffleError
from streams.search.deadline import Deadline
from streams.search.failures import OnFailure, Rest
from streams.search.ranking.reranking import reorder, text_of
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import PageHits

PAGES = 50
"""Maximum pages that the model reads."""
REST_SECONDS = 5.0
"""Seconds after a failure in which the model is not asked."""


class Reranking:
    """Asks the model. There is one in each process: it remembers when it failed."""

    def __init__(self, stores: Stores, on_failure: OnFailure, *, enabled: bool, pages: int = PAGES) -> None:
        self._stores, self._on_failure = stores, on_failure
        self._enabled, self._pages = enabled, pages
        self._rest = Rest(REST_SECONDS)

    async def of(self, query: str, pages: list[PageHits], deadline: Deadline, trace: Trace) -> list[PageHits]:
        """The pages, the first of them in the model's order. Raises nothing."""
        if not self._enabled or len(pages) < 2:
            return pages
        if self._rest.lasts:
            trace.fail("rerank", "The cross-encoder has not answered lately; results are in the order of their scores.")
            return pages
        first = pages[: self._pages]
        with trace.timed("rerank_ms"):
            try:
                async with deadline.for_reranking():
                    scores = await self._stores.reranker.scores(
                        query, [text_of(page) for page in first], deadline_seconds=deadline.reranking_seconds
                    )
            except (RiffleError, TimeoutError) as error:
                self._on_failure("models", error)
                self._rest.failed()
                slow = isinstance(error, TimeoutError | DeadlineExceeded)
                event = "took too long" if slow else "did not answer"
                trace.fail("rerank", f"The cross-encoder {event}; results are in the order of their scores.")
                return pages
        trace.states["rerank"] = "ok"
        trace.reranked = {page.page_id: score for page, score in zip(first, scores, strict=True)}
        return [*reorder(first, scores), *pages[self._pages :]]
