"""Optional parts of an answer: each part has its time, its failures are counted, and after failures the part rests.

An answer is worth something without such a part. So no failure of a part ends the answer: the part is missing, and its
caller records the reason.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any, Literal, TypeVar

import structlog

from streams.errors import DeadlineExceeded, RiffleError
from streams.servers import Store

OnFailure = Callable[[Store, BaseException], None]
"""Called with the role of the store that failed and its error, for the metrics."""
Reason = Literal["late", "failed", "resting"]
"""The reason for a missing part: its time was over, it failed, or it was not tried, since it failed shortly before."""
IN_WORDS: dict[Reason, str] = {
    "late": "took too long",
    "failed": "did not answer",
    "resting": "has not answered lately",
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
