"""Failures of a store during a search: each is counted, and the store is not asked for some seconds."""

from collections.abc import Callable
from time import monotonic

from streams.servers import Store

OnFailure = Callable[[Store, BaseException], None]
"""Called with the role of the store that failed and its error, for the metrics."""


class Rest:
    """The time after a failure in which a store is not asked, so that not every search waits for it in vain."""

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
