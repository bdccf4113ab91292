"""The weekly sweep of a local stack: blobs that nothing refers to are deleted, as the chart's scheduled command does.

Time is the wall clock's, kept as the time of a file: a stack that was down for weeks sweeps soon after its next start.
"""

import os
from collections.abc import Callable
from pathlib import Path

from streams.local.child_process import Child, stop
from streams.local.server import exit_words

WEEK_SECONDS = 7 * 86_400.0
RETRY_SECONDS = 3_600.0
"""Time after which a sweep that failed is tried again (seconds)."""
GRACE_SECONDS = 5.0


class WeeklySweep:
    """`start` starts the sweep's process. `mark`: a file whose time is the time of the last sweep."""

    def __init__(self, mark: Path, start: Callable[[], Child]) -> None:
        self._mark, self._start = mark, start
        self._child: Child | None = None
        self._not_before = 0.0

    def look(self, now: float) -> str:
        """Start a sweep that is due, and take the end of a running one. Returns what went wrong, if anything did.

        `now`: seconds since 1970. Stored data of a new stack are a week old at the first sweep.
        """
        if self._child is not None:
            return self._end(self._child, now)
        if now >= self._not_before and now - self._last_sweep(now) >= WEEK_SECONDS:
            try:
                self._child = self._start()
            except OSError as error:
                return self._fail(f"can't be started: {error}", now)
        return ""

    def stop(self) -> None:
        """End a running sweep. The next one continues where it was."""
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
        self._note_sweep(now)
        return ""

    def _fail(self, how: str, now: float) -> str:
        self._not_before = now + RETRY_SECONDS
        return f"The weekly sweep of stored blobs {how}"

    def _last_sweep(self, now: float) -> float:
        if not self._mark.exists():
            self._note_sweep(now)
        last = self._mark.stat().st_mtime
        if last > now:  # a clock that was ahead must not put the sweep off for years
            self._note_sweep(now)
        return min(last, now)

    def _note_sweep(self, now: float) -> None:
        self._mark.touch()
        os.utime(self._mark, (now, now))
