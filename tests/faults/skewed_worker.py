"""`riffle` with a clock that is ahead or behind: `python -m tests.faults.skewed_worker SECONDS worker STAGE...`.

All times that Riffle's own code reads in a worker are shifted. The times of the kernel and of the libraries are not
shifted: no promise depends on them.

If RIFFLE_TEST_BEGUN names a file, each request that the fetch stage begins is a line of it: the time by the steady
clock that the pace counted, and the windows in which the request took a place.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
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


def note_begun_requests(path: str) -> None:
    """Write a line for each request that takes a place in its windows, at once: `kill -9` loses none."""
    from streams.crawl.fetch.pace import Pace, Window

    file, count = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), Pace.count

    def count_and_note(pace: Pace, windows: Sequence[Window], now: float) -> None:
        count(pace, windows, now)
        line = json.dumps([now, [[window.key, window.requests, window.seconds] for window in windows]])
        os.write(file, f"{line}\n".encode())

    setattr(Pace, "count", count_and_note)  # noqa: B010 - mypy takes an assignment for a mistake


if __name__ == "__main__":
    from streams.cli import main

    skew(float(sys.argv.pop(1)))
    if begun := os.environ.get("RIFFLE_TEST_BEGUN"):
        note_begun_requests(begun)
    main()
