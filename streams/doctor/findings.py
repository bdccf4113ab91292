"""Findings of the checks, and the exit status that follows from them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum


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
