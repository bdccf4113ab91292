"""The second search by meaning, with feedback (`streams.search.ranking.feedback`): a read of vectors, a dense search.

A search is worth something without it. It is left out if the deadline is near, and its failures end no search.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import structlog

from streams.errors import DeadlineExceeded, RiffleError
from streams.search.deadline import Deadline
from streams.search.failures import OnFailure
from streams.search.ranking.feedback import PAGES, SHARE, Feedback, examples, move_towards
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import Candidates, Hit

SearchMeaning = Callable[..., Awaitable[Candidates]]
"""Searches the index by the vector `dense` alone, under the conditions of the first search."""

log = structlog.get_logger(__name__)


class FeedbackSearch:
    """Searches by meaning again, towards the best statements of the first pages."""

    def __init__(self, stores: Stores, on_failure: OnFailure, pages: int = PAGES, share: float = SHARE) -> None:
        self._stores = stores  # its index may be opened later
        self._on_failure = on_failure
        self._pages = pages
        self._share = share

    async def search(
        self, first: Candidates, dense: Sequence[float] | None, again: SearchMeaning, deadline: Deadline, trace: Trace
    ) -> Candidates:
        """The lists with the dense one of the second search, or the first lists. Raises nothing."""
        if dense is None or not first.dense or not self._pages or trace.weight is None:
            return first
        if deadline.seconds_left < 2 * trace.timings_ms.get("retrieve_ms", 0.0) / 1_000:
            trace.feedback = Feedback(skipped="Too little time was left to search meaning again.")
            return first
        with trace.timed("feedback_ms"):
            statements = examples(first, trace.weight.meaning, self._pages)
            try:
                async with deadline.for_feedback():
                    return await self._search(first, dense, statements, again, trace)
            except (RiffleError, TimeoutError) as error:
                self._on_failure("vectors", error)
                slow = isinstance(error, TimeoutError | DeadlineExceeded)
                reason = "took too long" if slow else "failed"
                trace.feedback = Feedback(skipped=f"The second search by meaning {reason}.")
                log.warning("feedback is left out", error=str(error) or reason)
                return first

    async def _search(
        self,
        first: Candidates,
        dense: Sequence[float],
        statements: Sequence[Hit],
        again: SearchMeaning,
        trace: Trace,
    ) -> Candidates:
        vectors = await self._stores.vectors.dense_vectors([hit.id for hit in statements])
        if not vectors:  # they were removed meanwhile
            trace.feedback = Feedback(skipped="The statements that were found first are not in the index any more.")
            return first
        second = await again(dense=move_towards(dense, vectors, self._share))
        trace.feedback = Feedback(tuple(statements))
        return replace(first, dense=second.dense)
