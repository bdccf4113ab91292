"""The budgets of answers by a model that a whole installation has. Pure: the time is an argument.

`learn` adds what other gateways have counted. The budgets of people are buckets (streams/gateway/access/bucket.py).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Refusal = Literal["", "person", "installation"]
"""The budget that is used up; empty: none."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets. 0: no limit."""

    per_person: int
    """Answers of one person in an hour, and the most at once."""
    per_hour: int
    """Answers of all gateways in an hour."""


class TakesBudget(Protocol):
    """The budgets that an answer asks before it begins."""

    async def take(self, address: str, now: datetime) -> Refusal:
        """Count one answer for the person at this address, unless a budget is used up."""


class Budgets:
    """The counts of one process, and what it knows of the others."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._hour = ""
        self._answers = self._other_answers = 0

    def refusal(self, now: datetime) -> Refusal:
        """Return the budget that is used up."""
        self._turn(now)
        if self.limits.per_hour and self._answers + self._other_answers >= self.limits.per_hour:
            return "installation"
        return ""

    def count(self, now: datetime) -> None:
        self._turn(now)
        self._answers += 1

    def own(self, now: datetime) -> int:
        """Return the answers of this process in this hour."""
        self._turn(now)
        return self._answers

    def learn(self, now: datetime, answers: int) -> None:
        """Note the answers of other gateways in this hour."""
        self._turn(now)
        self._other_answers = answers

    def _turn(self, now: datetime) -> None:
        """Forget the answers of the last hour."""
        hour = now.strftime("%Y-%m-%d %H")
        if hour != self._hour:
            self._hour, self._answers, self._other_answers = hour, 0, 0
