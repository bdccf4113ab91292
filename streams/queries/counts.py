"""Counts of queries that enough people asked, read for suggestions and for operators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from streams.stores.protocols import KEPT_DAYS, DayCounts, QueryCounts

HALF_LIFE_DAYS = 14.0
"""Age at which a question counts half (days)."""
RECENT_QUARTERS = 8
"""Number of quarters of an hour that are recent: two hours."""
_QUARTERS_PER_DAY = 96
MAX_LISTED = 10_000
"""Maximum number of queries of a day that are read for a list."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one query."""

    total: float = 0.0
    """Number of questions, the older the less (`HALF_LIFE_DAYS`)."""
    recent: int = 0
    """Number of questions of the last two hours."""
    empty: float = 0.0
    """Number of questions without results, the older the less."""


async def list_queries(store: QueryCounts, now: datetime, days: int) -> Sequence[tuple[str, str, Counts]]:
    """Return language, query and counts of the queries of the last days, the most asked first."""
    today = quarter_of(now) // _QUARTERS_PER_DAY
    found: dict[tuple[str, str], dict[int, DayCounts]] = {}
    for day in range(today, today - min(days, KEPT_DAYS), -1):
        for each in await store.of_day(day, MAX_LISTED):
            found.setdefault((each.language, each.query), {})[day] = each.counts
    listed = [(language, query, sum_days(counts, now)) for (language, query), counts in found.items()]
    return sorted(listed, key=lambda row: (-row[2].total, row[1], row[0]))


async def list_unanswered(store: QueryCounts, now: datetime, days: int) -> Sequence[tuple[str, str, Counts]]:
    """Return language, query and counts of the queries without results in the last days, the most frequent first."""
    rows = [row for row in await list_queries(store, now, days) if row[2].empty > 0]
    return sorted(rows, key=lambda row: -row[2].empty)


def sum_days(days: Mapping[int, DayCounts], now: datetime) -> Counts:
    last = quarter_of(now)
    total = empty = 0.0
    recent = 0
    for day, counts in days.items():
        age_days = max(last // _QUARTERS_PER_DAY - day, 0)
        share = 0.5 ** (age_days / HALF_LIFE_DAYS)
        total, empty = total + share * counts.asked, empty + share * counts.empty
        first = day * _QUARTERS_PER_DAY
        recent += sum(n for number, n in counts.quarters.items() if last - RECENT_QUARTERS < first + number)
    return Counts(total, recent, empty)


def quarter_of(time: datetime) -> int:
    """Return the number of a quarter of an hour since 1970 (UTC)."""
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(minutes=15)
