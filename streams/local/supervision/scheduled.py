"""Commands that a local stack runs from time to time, as the chart's scheduled commands do.

Time is the wall clock's, kept as the time of a file: a stack that was down for weeks sweeps soon after its next start.
"""

import os
from collections.abc import Callable
from pathlib import Path

from streams.local.child_process import Child, stop
from streams.local.servers.server import exit_words

WEEK_SECONDS = 7 * 86_400.0
"""Time between two sweeps of blobs that nothing refers to (seconds)."""
QUARTER_SECONDS = 900.0
"""Time between two looks at whether the suggestions are to be built anew (seconds)."""
MINUTE_SECONDS = 60.0
"""The same time in a new stack, whose index grows fast. It doubles with each look, up to a quarter of an hour."""
RETRY_SECONDS = 3_600.0
"""Time after which a command that failed is run again (seconds)."""
GRACE_SECONDS = 5.0
SCHEDULED: tuple[tuple[str, str, str, tuple[str, ...], float, float], ...] = (
    ("The weekly sweep of stored blobs", "swept", "sweep", ("blobs", "sweep", "--delete"), WEEK_SECONDS, WEEK_SECONDS),
    (
        "The build of suggestions", "suggested", "suggest-build", ("suggest", "build", "--if-grown"),
        QUARTER_SECONDS, MINUTE_SECONDS,
    ),
)  # fmt: skip
"""Title, file with the time of the last run, name of the log, arguments, interval, and interval in a new stack
(seconds) of each command."""


class ScheduledCommand:
    """A command with its interval. A new stack runs it first when the interval has passed once."""

    def __init__(
        self,
        title: str,
        mark: Path,
        start: Callable[[], Child],
        interval_seconds: float,
        new_seconds: float | None = None,
    ) -> None:
        """`start` starts the command's process. `mark`: a file whose time is the time of the last run.

        `new_seconds`: the interval until the first run of a new stack. It doubles with each run, up to the other one.
        """
        self._title, self._mark, self._start, self._longest = title, mark, start, interval_seconds
        self._interval = interval_seconds if new_seconds is None or mark.exists() else new_seconds
        self._child: Child | None = None
        self._not_before = 0.0

    def look(self, now: float) -> str:
        """Start a run that is due, and take the end of a running one. Returns what went wrong, if anything did.

        `now`: seconds since 1970.
        """
        if self._child is not None:
            return self._end(self._child, now)
        if now >= self._not_before and now - self._last_run(now) >= self._interval:
            try:
                self._child = self._start()
            except OSError as error:
                return self._fail(f"can't be started: {error}", now)
        return ""

    def stop(self) -> None:
        """End a run. A sweep continues where it was, and a build begins anew."""
        if self._child is not None:
            stop([self._child], GRACE_SECONDS)
            self._child = None

    def _end(self, child: Child, now: float) -> str:
        code = child.exit_code
        if code is None:
            return ""
        self._child = None
        if code:
            return self._fail(f"failed ({exit_words(code)}). Its log is {child.log}", now)
        self._note_run(now)
        self._interval = min(2 * self._interval, self._longest)
        return ""

    def _fail(self, how: str, now: float) -> str:
        self._not_before = now + RETRY_SECONDS
        return f"{self._title} {how}"

    def _last_run(self, now: float) -> float:
        if not self._mark.exists():
            self._note_run(now)
        last = self._mark.stat().st_mtime
        if last > now:  # a clock that was ahead must not put the next run off for years
            self._note_run(now)
        return min(last, now)

    def _note_run(self, now: float) -> None:
        self._mark.touch()
        os.utime(self._mark, (now, now))
