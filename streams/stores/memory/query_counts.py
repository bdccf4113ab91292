"""Counts of queries in memory."""

from streams.stores.protocols import CountedQuery, DayCounts


class MemoryQueryCounts:
    """See `QueryCounts`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[int, tuple[int, DayCounts]]] = {}

    async def days(self, language: str, query: str) -> dict[int, DayCounts]:
        return {day: counts for day, (_, counts) in self._rows.get((language, query), {}).items()}

    async def put(self, language: str, query: str, day: int, counts: DayCounts, at: int) -> None:
        rows = self._rows.setdefault((language, query), {})
        if day not in rows or rows[day][0] <= at:
            rows[day] = at, counts

    async def of_day(self, day: int, limit: int) -> list[CountedQuery]:
        found = [
            CountedQuery(language, query, rows[day][1]) for (language, query), rows in self._rows.items() if day in rows
        ]
        return found[:limit]

    async def purge(self) -> None:
        self._rows.clear()
