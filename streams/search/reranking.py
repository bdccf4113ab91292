"""The cross-encoder's scores of the first results, if the operator has set up its model.

A search is worth something without it: when the model is slow or down, the order of the scores stays, and the answer
says so. After a failure the model is not asked for some seconds.
"""

from collections.abc import Sequence
from functools import partial

from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Reason, Rest
from streams.search.ranking.context import RankingContext
from streams.search.ranking.reranking import text_of
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import PageHits

PAGES = 50
"""Maximum pages that the model reads."""
REST_SECONDS = 5.0
"""Pause after a failure before the model is asked again (seconds)."""


class Reranking:
    """The reader of the model's scores. Each process has one reader, which remembers the model's failures."""

    def __init__(self, stores: Stores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("cross-encoder", partial(on_failure, "models"), Rest(REST_SECONDS))

    async def read(
        self, context: RankingContext, pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> Sequence[float] | None:
        """Read the model's scores of the first pages, for the pass `rerank`. None: there is nothing to order by."""
        if len(pages) < 2 or trace.leave_out("rerank"):
            return None
        texts = [text_of(page) for page in pages[:PAGES]]
        with trace.timed("rerank_ms"):
            scores = await self._part.read(
                lambda: self._stores.reranker.scores(context.text, texts, deadline_seconds=deadline.reranking_seconds),
                deadline.for_reranking(),
                lambda why: trace.fail("rerank", _sentence(why)),
            )
        if scores is not None:
            trace.states["rerank"] = "ok"
        return scores


def _sentence(why: Reason) -> str:
    return f"The cross-encoder {IN_WORDS[why]}; results are in the order of their scores."
