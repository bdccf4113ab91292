"""The second search by meaning, with feedback (`streams.search.ranking.feedback`): a read of vectors, a dense search.

A search is worth something without feedback. Feedback is left out if the deadline is near, and its failures end no
search.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from streams.search.deadline import Deadline
from streams.search.optional import OnFailure, OptionalPart, Reason
from streams.search.ranking.feedback import Feedback, examples, move_towards
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import Candidates, Hit

SearchMeaning = Callable[..., Awaitable[Candidates]]
"""A search of the index only by the vector `dense`, under the conditions of the first search."""


class FeedbackSearch:
    """The second search by meaning, towards the best statements of the first `pages`. 0: there is no second search."""

    def __init__(self, stores: Stores, on_failure: OnFailure, pages: int, share: float) -> None:
        self._stores = stores  # the index may be opened later
        self._part = OptionalPart("feedback", partial(on_failure, "vectors"))
        self._pages = pages
        self._share = share

    async def search(
        self, first: Candidates, dense: Sequence[float] | None, again: SearchMeaning, deadline: Deadline, trace: Trace
    ) -> Candidates:
        """Return the lists with the dense list of the second search, or the first lists. Raises nothing."""
        if dense is None or not first.dense or not self._pages or trace.weight is None:
            return first
        if deadline.seconds_left < 2 * trace.timings_ms.get("retrieve_ms", 0.0) / 1_000:
            trace.feedback = Feedback(skipped="Too little time was left to search meaning again.")
            return first
        with trace.timed("feedback_ms"):
            statements = examples(first, trace.weight.meaning, self._pages)
            trace.feedback = Feedback(tuple(statements))
            second = await self._part.read(
                lambda: self._search(dense, statements, again, trace),
                deadline.for_feedback(),
                lambda why: _skip(trace, why),
            )
        return replace(first, dense=second.dense) if second else first

    async def _search(
        self, dense: Sequence[float], statements: Sequence[Hit], again: SearchMeaning, trace: Trace
    ) -> Candidates | None:
        """Search meaning again. None: the statements were removed meanwhile."""
        vectors = await self._stores.vectors.dense_vectors([hit.id for hit in statements])
        if vectors:
            return await again(dense=move_towards(dense, vectors, self._share))
        trace.feedback = Feedback(skipped="The statements that were found first are not in the index any more.")
        return None


def _skip(trace: Trace, why: Reason) -> None:
    event = "took too long" if why == "late" else "failed"
    trace.feedback = Feedback(skipped=f"The second search by meaning {event}.")
