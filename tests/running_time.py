"""A clock that stands still while the whole machine does, for the deadlines of tests and of the code that they test.

Machines of continuous integration pause for 10 to 30 seconds now and then, and every deadline that runs then ends,
though nothing was late. A thread ticks every hundredth of a second, and between two ticks at most `LONGEST_SECONDS`
count: so a pause counts next to nothing, and on a crowded machine time passes as slowly as the process does.

In the processes of the tests it takes the place of `time.monotonic` and `time.perf_counter`, so event loops have it,
too, and `time.sleep` waits by it. Other processes, the time of day, locks of threads and the timeouts of blocking
sockets keep the clock of the machine. A time that is compared between processes is `clock_gettime(CLOCK_MONOTONIC)`.
"""

import threading
import time
from collections.abc import Callable
from typing import SupportsIndex

TICK_SECONDS = 0.01
LONGEST_SECONDS = 0.05
"""Less than every deadline of the code. Its shortest ones are a tenth of a second."""


class RunningTime:
    """The clock. It goes on while something calls `tick`."""

    def __init__(self, read: Callable[[], float]) -> None:
        self._read = read
        at = read()
        self._tick = (at, at)
        """When the last tick was, by `read` and by this clock. It is replaced as a whole, since all threads read it."""

    def tick(self) -> None:
        now = self._read()
        self._tick = (now, self._counted(now))

    def now(self) -> float:
        return self._counted(self._read())

    def _counted(self, now: float) -> float:
        read, counted = self._tick
        return counted + min(now - read, LONGEST_SECONDS)


def use_running_time() -> None:
    """Make it the clock of this process, for the modules that are imported from now on, and for event loops."""
    clock, pause = RunningTime(time.monotonic), time.sleep

    def go_on() -> None:
        while True:
            pause(TICK_SECONDS)
            clock.tick()

    def sleep(seconds: float | SupportsIndex) -> None:
        end = clock.now() + float(seconds)
        pause(seconds)
        while (left := end - clock.now()) > 0:
            pause(left)

    threading.Thread(target=go_on, name="running-time", daemon=True).start()
    time.monotonic = time.perf_counter = clock.now
    time.sleep = sleep
