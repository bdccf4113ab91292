"""The budgets of answers by a model: per person and per installation. Pure: time and keys are arguments.

A person is a keyed hash of their address. The key is drawn anew each hour, kept only in memory, and forgotten with the
hour's counts, so that nobody can find out later who asked. `learn` adds what other gateways have counted.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Literal, Protocol

MAX_PEOPLE = 20_000
"""Maximum people counted in an hour. Further people share one count."""
_OTHERS = b"others"

Refusal = Literal["", "person", "installation", "cost"]
"""The budget that is used up; empty: none."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The budgets. 0: no limit."""

    per_person: int
    """Answers of one person in an hour."""
    per_hour: int
    """Answers of all gateways in an hour."""
    cost_per_day: float
    """Cost of the answers of all gateways in a day."""

    @property
    def are_shared(self) -> bool:
        """True if there is a limit for all gateways together."""
        return bool(self.per_hour or self.cost_per_day)


class TakesBudget(Protocol):
    """The budgets that an answer asks before it begins, and that get its cost."""

    async def take(self, address: str, now: datetime) -> Refusal:
        """Count one answer for the person at this address, unless a budget is used up."""

    def pay(self, cost: float, now: datetime) -> None:
        """Add the cost of a request."""


class Budgets:
    """The counts of one process, and what it knows of the others."""

    def __init__(self, limits: Limits, draw_key: Callable[[], bytes]) -> None:
        self.limits, self._draw_key = limits, draw_key
        self._hour, self._day = "", ""
        self._key = b""
        self._people: Counter[bytes] = Counter()
        self._answers = self._other_answers = 0
        self.cost = self._other_cost = 0.0
        """Cost of this day."""

    def take(self, address: str, now: datetime) -> Refusal:
        """Count one answer for the person at this address, unless a budget is used up."""
        self._turn(now)
        limits, person = self.limits, self._person(address)
        if limits.cost_per_day and self.cost + self._other_cost >= limits.cost_per_day:
            return "cost"
        if limits.per_hour and self._answers + self._other_answers >= limits.per_hour:
            return "installation"
        if limits.per_person and self._people[person] >= limits.per_person:
            return "person"
        self._people[person] += 1
        self._answers += 1
        return ""

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
        """Forget the counts of the last hour with its key, and the cost of the last day."""
        hour, day = now.strftime("%Y-%m-%d %H"), now.strftime("%Y-%m-%d")
        if hour != self._hour:
            self._hour, self._key = hour, self._draw_key()
            self._people, self._answers, self._other_answers = Counter(), 0, 0
        if day != self._day:
            self._day, self.cost, self._other_cost = day, 0.0, 0.0

    def _person(self, address: str) -> bytes:
        person = blake2b(address.encode(), key=self._key, digest_size=16).digest()
        return person if person in self._people or len(self._people) < MAX_PEOPLE else _OTHERS
