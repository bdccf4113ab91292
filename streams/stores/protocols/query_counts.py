"""The counts of queries that enough people asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

KEPT_DAYS = 90
"""Time for which the counts of a day are kept (days)."""


@dataclass(frozen=True, slots=True)
class DayCounts:
    """The counts of one query on one day."""

    asked: int = 0
    empty: int = 0
    """Number of times that the query had no result."""
    quarters: Mapping[int, int] = field(default_factory=dict)
    """Number of times asked by quarter of an hour of the day (0 to 95)."""
    partition: int = -1
    offset: int = -1
    """Place in Kafka of the last counted event. An event at or before it was counted already."""


@dataclass(frozen=True, slots=True)
class CountedQuery:
    """A query of a day, with its counts."""

    language: str
    query: str
    counts: DayCounts


class QueryCounts(Protocol):
    """Counts of queries by day. Days are numbers since 1970-01-01 (UTC). A query with counts was asked by enough people
    on that day."""

    async def days(self, language: str, query: str) -> dict[int, DayCounts]:
        """Return the counts of a query by day."""

    async def put(self, language: str, query: str, day: int, counts: DayCounts, at: int) -> None:
        """Store the counts of a day. An older write never replaces a newer one."""

    async def of_day(self, day: int, limit: int) -> list[CountedQuery]:
        """Return queries of a day, at most `limit`, in no order."""

    async def purge(self) -> None:
        """Delete all counts."""
