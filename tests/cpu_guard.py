"""A guard against code that hangs: it ends a block of a test by CPU time, in the middle of a regular expression too."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def cpu_guard(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block once it took this much CPU time of the process. For the main thread alone.

    A guard is no target for speed: it is many times what the block needs.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {seconds} CPU seconds")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
