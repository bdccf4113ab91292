"""The budgets of answers by a model that a whole installation has. Pure: the time is an argument.

`learn` adds what other gateways have counted. The budgets of people are buckets (streams/gateway/access/bucket.py).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

Refusal = Literal["", "person", "installation", "cost"]
"""The budget that is used up; empty: none."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets. 0: no limit."""

    per_person: int
    """Answers of one person in an hour, and the most at once."""
    per_hour: int
    """Answers of all gateways in an hour."""
    cost_per_day: float
    """Cost of the answers of all gateways in a day."""

    @property
    def are_of_installation(self) -> bool:
        """True if there is a limit for all people together."""
        return bool(self.per_hour or self.cost_per_day)


class TakesBudget(Protocol):
    """The budgets that an answer asks before it begins, and that get its cost."""

    async def take(self, address: str, now: datetime) -> Refusal:
        """Count one answer for the person at this address, unless a budget is used up."""

    def pay(self, cost: float, now: datetime) -> None:
        """Add the cost of a request."""


class Budgets:
    """The counts of one process, and what it knows of the others."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._hour, self._day = "", ""
        self._answers = self._other_answers = 0
        self.cost = self._other_cost = 0.0
        """Cost of this day."""

    def refusal(self, now: datetime) -> Refusal:
        """Return the budget that is used up."""
        self._turn(now)
        limits = self.limits
        if limits.cost_per_day and self.cost + self._other_cost >= limits.cost_per_day:
            return "cost"
        if limits.per_hour and self._answers + self._other_answers >= limits.per_hour:
            return "installation"
        return ""

    def count(self, now: datetime) -> None:
        """Count one answer."""
        self._turn(now)
        self._answers += 1

    def pay(self, cost: float, now: datetime) -> None:
        """Add the cost of a request."""
        self._turn(now)
        self.cost += cost

    def own(self, now: datetime) -> tuple[int, float]:
        """Return the answers of this process in this hour, and their cost on this day."""
        self._turn(now)
        return self._answers, self.cost

    def learn(self, now: datetime, answers: int, cost: float) -> None:
        """Note the answers of other gateways in this hour, and their cost on this day."""
        self._turn(now)
        self._other_answers, self._other_cost = answers, cost

    def _turn(self, now: datetime) -> None:
        """Forget the answers of the last hour, and the cost of the last day."""
        hour, day = now.strftime("%Y-%m-%d %H"), now.strftime("%Y-%m-%d")
        if hour != self._hour:
            self._hour, self._answers, self._other_answers = hour, 0, 0
        if day != self._day:
            self._day, self.cost, self._other_cost = day, 0.0, 0.0
