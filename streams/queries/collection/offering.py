"""Counted queries as suggestions: a query is offered when its count of the day has grown by a quarter."""

from collections.abc import Callable
from datetime import datetime

from streams.queries.counts import quarter_of, sum_days
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.normal_form import normalize_query
from streams.queries.suggestions.prefix_lists import offer
from streams.stores.protocols import DayCounts, QueryCounts, StoredSuggestion, Suggestions

GROWTH = 1.25
"""Factor by which the count of a day grows between two offers: a query that is asked a million times has 50 offers."""


class SuggestedQueries:
    """The offers of queries to the lists of suggestions."""

    def __init__(
        self,
        counts: QueryCounts,
        suggestions: Suggestions,
        clock: Callable[[], datetime],
        blocked: BlockedWords,
    ) -> None:
        self._counts, self._suggestions = counts, suggestions
        self._clock, self._blocked = clock, blocked

    async def offer(self, language: str, query: str, day: int, counts: DayCounts, at: int) -> None:
        """Offer a query with counts that are about to be stored, if they grew enough. The same call changes nothing."""
        text = normalize_query(query)
        if not is_due(counts.asked) or counts.empty >= counts.asked or not text or self._blocked.blocks(text):
            return
        now = self._clock()
        total = sum_days({**await self._counts.days(language, query), day: counts}, now)
        share = 1 - counts.empty / counts.asked
        quarter = quarter_of(now)
        weight = share * total.total
        found = StoredSuggestion(text, language, weight, share * total.recent, quarter, apart=weight)
        await offer(self._suggestions, [found], quarter, at)


def is_due(asked: int) -> bool:
    """Return True for the counts at which a query is offered: each is a quarter above the one before."""
    step = 1
    while step < asked:
        step = max(int(step * GROWTH), step + 1)
    return step == asked
