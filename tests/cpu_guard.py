"""The assertion that a block of a test ends: it fails by CPU time, in the middle of a regular expression too."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def cpu_guard(seconds: float) -> Iterator[None]:
    """Assert that the block takes less CPU time of the process: TimeoutError is raised in it at that time. Only for the
    main thread.

    A guard is no target for speed: it is many times what the block needs, and far less than quadratic work takes.
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
