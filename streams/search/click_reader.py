"""The clicks of a counted query, from Cassandra: an extra that is read within a short time, or left out."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import monotonic
from uuid import UUID

from streams.search.deadline import Deadline
from streams.search.optional import IN_WORDS, OnFailure, OptionalPart, Rest
from streams.search.query_language.query import normalize_query
from streams.search.ranking.clicks import QueryClicks
from streams.search.ranking.context import RankingContext
from streams.search.trace import Trace
from streams.stores.opener import Stores
from streams.stores.protocols import PageClicks, PageHits, PlaceCounts

TTL_SECONDS = 600.0
"""Age at which the probabilities of places are read again (seconds)."""
REST_SECONDS = 2.0
"""Pause after a failure before clicks are read again (seconds)."""


class ClickReader:
    """The reader of clicks. Each process has one reader, which remembers the probabilities of places."""

    def __init__(self, stores: Stores, on_failure: OnFailure, *, clock: Callable[[], float] = monotonic) -> None:
        self._stores, self._clock = stores, clock
        self._examination: tuple[float, ...] = ()
        self._read_again = float("-inf")
        self._part = OptionalPart("clicks", partial(on_failure, "records"), Rest(REST_SECONDS, clock=clock))

    async def read(
        self, context: RankingContext, _pages: Sequence[PageHits], deadline: Deadline, trace: Trace
    ) -> QueryClicks | None:
        """Read the clicks of the query, for the pass `clicks`. None: there are none, or they can't be read."""
        query = normalize_query(context.asked)
        if not query or trace.leave_out("clicks"):
            return None
        return await self._part.read(
            partial(self._find, context.language, query),
            deadline.for_ranks(),
            lambda why: trace.fail("clicks", f"The store of clicks {IN_WORDS[why]}; results are in an order without."),
        )

    async def _find(self, language: str, query: str) -> QueryClicks | None:
        if self._clock() >= self._read_again:
            self._examination = await self._stores.query_counts.examination()
            self._read_again = self._clock() + TTL_SECONDS
        if not self._examination:  # nothing was learned yet
            return None
        found = await self._stores.query_counts.clicks_of(language, query)
        return QueryClicks(sum_clicks(found.values()), self._examination) if found else None


def sum_clicks(parts: Iterable[PageClicks]) -> dict[UUID, PlaceCounts]:
    """Return the counts of each page in all parts together."""
    shown: dict[UUID, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    clicked: dict[UUID, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for part in parts:
        for page, counts in part.pages.items():
            for place, number in counts.shown.items():
                shown[page][place] += number
            for place, number in counts.clicked.items():
                clicked[page][place] += number
    return {page: PlaceCounts(dict(shown[page]), dict(clicked[page])) for page in shown.keys() | clicked.keys()}
