"""The checks of a running worker's clock: once a minute for the metrics, and whether it is set meanwhile.

Riffle compares clocks of different machines in three places: leases, retry times, and Cassandra's write times. Each
stays right while any two clocks differ by less than `RIFFLE_CRAWL__CLOCK_BOUND_SECONDS`. `open_stores` compares with
Cassandra's clock before a worker or a command writes, so the clocks of two workers may differ by up to twice the bound.
Then some leases end early and their URLs are fetched later. Nothing is lost.

A clock that is set forward by days and back again would leave times in the store at which hosts are asked next, days
ahead. So a worker ends at once when its clock is set by more than the bound, and is checked when it starts again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from streams.errors import RiffleError

log = structlog.get_logger()

COMPARE_SECONDS = 60.0
"""Time between two comparisons with Cassandra's clock, for the metrics (seconds)."""
MIN_STEP_SECONDS = 1.0
"""Minimum change of a clock that counts (seconds), whatever the bound is."""
READ_SECONDS = 0.1
"""Maximum time between two readings of clocks that are compared (seconds): a busy machine may stop the process."""


async def compare_clocks(
    clock_ahead: Callable[[], Awaitable[float]],
    show: Callable[[float], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Show again and again how far this clock is ahead of Cassandra's (seconds), until cancelled.

    While Cassandra is away, the last difference stays. `sleep`: for tests.
    """
    while True:
        try:
            show(await clock_ahead())
        except RiffleError as error:
            log.debug("the clocks are not compared", error=str(error))
        await sleep(COMPARE_SECONDS)


class ClockWasSet(RiffleError):
    """This machine's clock was set while the worker ran."""


class ClockWatch:
    """Notices that this machine's clock is set by more than the bound.

    It compares with a steady clock that goes on while the machine sleeps. Where there is none, it notices nothing.
    """

    def __init__(
        self, bound_seconds: float, wall: Callable[[], float] = time.time, steady: Callable[[], float] | None = None
    ) -> None:
        self._bound_seconds = max(bound_seconds, MIN_STEP_SECONDS)
        self._wall = wall
        self._steady = steady or _steady_clock()
        self._ahead = self._read()

    def change(self) -> ClockWasSet | None:
        """Return by how much the clock was set since the last call, if that is beyond the bound."""
        ahead = self._read()
        if ahead is None:
            return None
        before, self._ahead = self._ahead, ahead
        if before is None or abs(ahead - before) <= self._bound_seconds:
            return None
        return ClockWasSet(
            f"the clock of this machine was set by {ahead - before:+.1f} s, and {self._bound_seconds:g} s are allowed. "
            "The worker is checked against Cassandra's clock when it starts again"
        )

    def _read(self) -> float | None:
        """Return how far the clock is ahead of the steady one, or None if the process was stopped between them."""
        if self._steady is None:
            return None
        begin = self._steady()
        ahead = self._wall() - begin
        return ahead if self._steady() - begin < READ_SECONDS else None


def _steady_clock() -> Callable[[], float] | None:
    number = getattr(time, "CLOCK_BOOTTIME", None)
    return None if number is None else lambda: time.clock_gettime(number)
