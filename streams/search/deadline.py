"""The time that one search has: the only place where its parts are bounded.

The embedding of the query, the ranks of hosts, the fingerprints and the similar pages get at most a share, since a
search is worth something without them. The index and the ranking get all the time that is left, since nothing replaces
them.
"""

import asyncio
from time import perf_counter

from streams.errors import DeadlineExceeded

EMBED_SHARE = 0.4
"""Maximum share of the deadline for the query's embedding."""
SIMILAR_SECONDS = 0.25
"""Maximum wait for the similar pages (seconds)."""
SENTENCES_SHARE = 0.25
"""Maximum share of the deadline for the second look at the statements of the first pages."""
RERANK_SHARE = 0.25
"""Maximum share of the deadline for the cross-encoder."""
AFTER_RESULTS_SECONDS = 0.25
"""Minimum time of a source that reads the results (seconds). The results themselves never wait for it."""
COPIES_SECONDS = 0.1
"""Maximum wait for the fingerprints that show which results are copies (seconds)."""
RANKS_SECONDS = 0.1
"""Maximum wait for the ranks of hosts (seconds)."""
RARE_WORDS_SECONDS = 0.3
"""Maximum wait for the pages that have a rare word of the query (seconds)."""


class Deadline:
    """The end of one search. Each part runs inside `async with`, and raises TimeoutError when its time is over.

    A thread calls `check` now and then instead.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = perf_counter() + seconds

    def for_embedding(self) -> asyncio.Timeout:
        return self._within(self._seconds * EMBED_SHARE)

    def for_index(self) -> asyncio.Timeout:
        return self._within(self._seconds)

    def for_ranking(self) -> asyncio.Timeout:
        return self._within(self._seconds)

    def for_source(self) -> asyncio.Timeout:
        return self._within(self._seconds)

    def for_source_of_results(self) -> asyncio.Timeout:
        """Return the time of a source that begins when the results are there: some time also behind late results."""
        return asyncio.timeout(max(AFTER_RESULTS_SECONDS, self.seconds_left))

    def check(self) -> None:
        """Raise DeadlineExceeded if the search should have ended."""
        if perf_counter() >= self._end:
            raise DeadlineExceeded("the search took too long")

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._end - perf_counter())

    def for_similar(self) -> asyncio.Timeout:
        return self._within(SIMILAR_SECONDS)

    def for_sentences(self) -> asyncio.Timeout:
        return self._within(self._seconds * SENTENCES_SHARE)

    @property
    def reranking_seconds(self) -> float:
        return min(self._seconds * RERANK_SHARE, self.seconds_left)

    def for_reranking(self) -> asyncio.Timeout:
        return self._within(self.reranking_seconds)

    def for_copies(self) -> asyncio.Timeout:
        return self._within(COPIES_SECONDS)

    def for_ranks(self) -> asyncio.Timeout:
        return self._within(RANKS_SECONDS)

    def for_rare_words(self) -> asyncio.Timeout:
        return self._within(RARE_WORDS_SECONDS)

    def _within(self, seconds: float) -> asyncio.Timeout:
        return asyncio.timeout(min(seconds, self.seconds_left))
