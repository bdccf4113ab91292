"""Reports about the stack's start: lines on a terminal, or messages of the detached supervisor through a pipe.

One message is one line of JSON, {"what": ..., ...details}. The last message is "up" or "failed". If the supervisor
was killed, the pipe ends without it.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.status import Status

from streams.errors import RiffleError
from streams.local.servers.server import Cancelled

EXIT_FAILED = 1
LAST = ("up", "failed")


class PipeReport:
    """A receiver of reports: it writes them to the log, and to the starting process as long as that reads the pipe."""

    def __init__(self, descriptor: int) -> None:
        self._pipe: int | None = descriptor

    def __call__(self, what: str, details: dict[str, Any]) -> None:
        line = json.dumps({"what": what, **details})
        with suppress(OSError):  # a full disk must not end who reports
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, (line + "\n").encode())
            listening = what not in LAST
        except OSError:  # the reader has ended
            listening = False
        if not listening:
            os.close(self._pipe)
            self._pipe = None

    def run_and_report(self, run: Callable[[], None]) -> int:
        """Call `run` and report its exception, if any, as "failed". Returns the exit status."""
        try:
            run()
        except Cancelled:
            self("failed", {"text": "the start was interrupted; nothing is left running"})
        except RiffleError as error:
            self("failed", {"text": str(error)})
        except Exception as error:
            traceback.print_exc()
            self("failed", {"text": f"the start failed with an unexpected error: {error!r}"})
        else:
            return 0
        return EXIT_FAILED


def read_reports(lines: Iterable[str], report: Callable[[str, dict[str, Any]], None]) -> bool:
    """Pass the reports of a pipe on up to the last one. Returns False if the pipe ended without it."""
    for line in lines:
        details = json.loads(line)
        what = details.pop("what")
        report(what, details)
        if what in LAST:
            return True
    return False


class TerminalReport:
    """A receiver of reports: it prints what is ready after how many seconds. A terminal shows what is not, too."""

    def __init__(self, console: Console, status: Status | None = None) -> None:
        self._console, self._status = console, status
        self._waiting: list[str] = []
        self.failure = ""
        self.settings: dict[str, dict[str, Any]] = {}

    def __call__(self, what: str, details: dict[str, Any]) -> None:
        match what:
            case "preparing":
                self._waiting.append(details["title"])
            case "ready":
                self._waiting.remove(details["title"])
                self._print_ready(details["title"], details["seconds"])
            case "external":
                self._console.print(f"{details['title']:<20} not started: uses {details['address']}", highlight=False)
            case "warning":
                self._warn(details["text"])
            case "ended":
                again = f"it starts again in {details['again_in_seconds']:.1f} s"
                self._warn(f"{details['title']} ended ({details['how']}); {again}")
            case "failed":
                self.failure = details["text"]
            case "up":
                self.settings = details["settings"]
        if self._status:
            self._status.update(f"Waiting for {', '.join(self._waiting)}" if self._waiting else "Working")

    def _warn(self, text: str) -> None:
        # Not as markup: a message may quote a log, and logs contain brackets.
        self._console.print(text, style="yellow", markup=False, highlight=False)

    def _print_ready(self, title: str, seconds: float) -> None:
        self._console.print(f"{title:<20} ready in {seconds:4.1f} s", highlight=False)
