"""Counts of queries, and the weight that a query has among suggestions. Pure.

Counts of long ago decay, and the last two hours count on top: so a query of the day rises, and falls again.
"""

import math
from dataclasses import dataclass

HALF_LIFE_DAYS = 30.0
"""Time after which a count of former days counts half (days)."""
RECENT_WEIGHT = 10.0
"""Weight of a count of the last two hours, in counts of former days."""


@dataclass(frozen=True, slots=True)
class QueryCount:
    """The counts of one query in one language, as they are collected: estimates, if queries are sampled."""

    query: str
    language: str
    count: float
    """Number of times that the query was asked, decayed."""
    recent: float = 0.0
    """Number of times in the last two hours."""

    @property
    def weight(self) -> float:
        """The blend of both counts."""
        return self.count + RECENT_WEIGHT * self.recent


def decay(count: float, days: float) -> float:
    """Return what a count is worth after some days."""
    return count * math.exp2(-max(days, 0.0) / HALF_LIFE_DAYS)
