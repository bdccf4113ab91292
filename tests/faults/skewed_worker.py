"""`riffle` with a clock that is ahead or behind: `python -m tests.faults.skewed_worker SECONDS worker STAGE...`.

All times that Riffle's own code reads in a worker are shifted. The times of the kernel and of the libraries are not
shifted: no promise depends on them.
"""

import sys
import time
from datetime import datetime, timedelta, tzinfo
from types import ModuleType
from typing import Self

_now, _now_ns = time.time, time.time_ns


class SkewedTime(datetime):
    """The class `datetime` with a shifted `now`."""

    offset = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + cls.offset


def skew(seconds: float) -> None:
    """Shift the clock of this process."""
    from streams import clock
    from streams.runtime import processing, producer, worker

    SkewedTime.offset = timedelta(seconds=seconds)
    modules: tuple[ModuleType, ...] = (processing, producer, worker)
    for module in modules:
        assert module.__dict__["datetime"] is datetime, f"{module.__name__} reads its clock elsewhere now"
        module.__dict__["datetime"] = SkewedTime
    assert clock.__dict__["time"] is time
    time.time = lambda: _now() + seconds
    time.time_ns = lambda: _now_ns() + round(seconds * 1e9)


if __name__ == "__main__":
    from streams.cli import main

    skew(float(sys.argv.pop(1)))
    main()
