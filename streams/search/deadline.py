"""The time that one search has, and its optional parts: the only place where the parts of a search are bounded.

The embedding of the query, the ranks of hosts, the fingerprints and the similar pages get at most a share, since a
search is worth something without them. The index and the ranking get all the time that is left, since nothing replaces
them.

Optional parts have their time, their failures are counted, and after failures a part rests. An answer is worth
something without such a part. So no failure of a part ends the answer: the part is missing, and its caller records the
reason.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic, perf_counter
from typing import Any, Literal, TypeVar

import structlog

from streams.errors import DeadlineExceeded, RiffleError
from streams.plain_text import message
from streams.servers import Store

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


OnFailure = Callable[[Store, BaseException], None]
"""Called with the role of the store that failed and its error, for the metrics."""
Reason = Literal["late", "failed", "resting"]
"""The reason for a missing part: its time was over, it failed, or it was not tried, since it failed shortly before."""
IN_WORDS: dict[Reason, str] = {
    "late": message("took too long"),
    "failed": message("did not answer"),
    "resting": message("has not answered lately"),
}
"""The reasons for people, as predicates."""

T = TypeVar("T")
log = structlog.get_logger(__name__)


class Rest:
    """The time after a failure without requests to a store, so that not every search waits for the store in vain."""

    def __init__(self, seconds: float, *, failures: int = 1, clock: Callable[[], float] = monotonic) -> None:
        self._seconds, self._failures, self._clock = seconds, failures, clock
        self._failures_in_a_row = 0
        self._until = 0.0

    @property
    def lasts(self) -> bool:
        """True while the store is not asked. Then one search tries it again."""
        return self._clock() < self._until

    def failed(self) -> None:
        """Count a failure. The rest begins at the last of `failures` in a row, and again at each one after it."""
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= self._failures:
            self._until = self._clock() + self._seconds

    def succeeded(self) -> None:
        self._failures_in_a_row = 0


class OptionalPart:
    """A part of an answer that may be missing. With a rest, one object serves all answers of a process."""

    def __init__(
        self, name: str, on_error: Callable[[BaseException], None] = lambda _: None, rest: Rest | None = None
    ) -> None:
        self._name, self._on_error, self._rest = name, on_error, rest or Rest(0.0)

    async def read(
        self,
        read: Callable[[], Awaitable[T]],
        within: AbstractAsyncContextManager[Any],
        on_missing: Callable[[Reason], None] = lambda _: None,
    ) -> T | None:
        """Return what `read` returns within its time. None: the part is missing, and `on_missing` has the reason.

        Raises nothing but what `on_error` and `on_missing` raise.
        """
        if self._rest.lasts:
            on_missing("resting")
            return None
        try:
            async with within:
                found = await read()
        except Exception as error:
            self._note(error)
            on_missing("late" if isinstance(error, TimeoutError | DeadlineExceeded) else "failed")
            return None
        self._rest.succeeded()
        return found

    def _note(self, error: Exception) -> None:
        self._rest.failed()
        if isinstance(error, RiffleError | TimeoutError):
            log.info("a part is left out", part=self._name, error=str(error) or type(error).__name__)
        else:  # a fault of this program, which the log should show whole
            log.exception("a part is left out", part=self._name)
        self._on_error(error)
