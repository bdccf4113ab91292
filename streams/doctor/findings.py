"""Findings of the checks, and the parallel run of checks, each with a deadline.

Each check has a daemon thread of its own: a client library that hangs delays neither the other checks nor the end of
the process. What a check found before its deadline is kept.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from streams.errors import RiffleError


class Level(IntEnum):
    """The severity of a finding. The highest one is the exit status of `riffle doctor`."""

    OK = 0
    WARNING = 1
    """Nothing is broken now, but somebody should do something."""
    FAILURE = 2
    """Something is broken."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking one thing."""

    check: str
    """Name of the check, such as `topics`."""
    level: Level
    says: str
    """The result, as a sentence or list."""
    advice: str = ""
    """The next step. Empty if nothing is to be done."""
    details: tuple[str, ...] = field(default=())
    """Further lines, one for each topic, file or server concerned."""


def ok(check: str, says: str, *details: str) -> Finding:
    return Finding(check, Level.OK, says, details=details)


def warning(check: str, says: str, advice: str, *details: str) -> Finding:
    return Finding(check, Level.WARNING, says, advice, details)


def failure(check: str, says: str, advice: str, *details: str) -> Finding:
    return Finding(check, Level.FAILURE, says, advice, details)


def highest_level(findings: Iterable[Finding]) -> Level:
    """Return the highest level of the findings. OK if there is none."""
    return max((finding.level for finding in findings), default=Level.OK)


@dataclass(frozen=True, slots=True)
class Check:
    """A named check. Its function yields findings, and may raise."""

    name: str
    run: Callable[[], Iterable[Finding]]


@dataclass(slots=True)
class _Run:
    check: Check
    findings: list[Finding] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        try:
            for finding in self.check.run():
                self.findings.append(finding)
        except RiffleError as error:
            self.findings.append(failure(self.check.name, str(error), ""))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self.findings.append(failure(self.check.name, f"The check itself failed ({reason})", "Report this."))
        self.ended.set()


def run_checks(checks: Sequence[Check], deadline_seconds: float) -> Iterator[list[Finding]]:
    """Yield the findings of each check, in the order of the checks, each as soon as the earlier checks have ended."""
    runs = [_Run(check) for check in checks]
    for run in runs:
        threading.Thread(target=run, name=f"check-{run.check.name}", daemon=True).start()
    end = time.monotonic() + deadline_seconds
    for run in runs:
        in_time = run.ended.wait(max(end - time.monotonic(), 0))
        found = list(run.findings)
        yield found if in_time else [*found, _overdue(run.check.name, deadline_seconds)]


def _overdue(name: str, deadline_seconds: float) -> Finding:
    return failure(
        name,
        f"No answer within {deadline_seconds:g} s",
        "Check that the server is not overloaded and that the network lets this machine reach it. "
        "A longer deadline: riffle doctor --deadline SECONDS",
    )
