"""Counts of queries in memory."""

from collections.abc import Sequence

from streams.stores.protocols import CountedQuery, DayCounts, PageClicks


class MemoryQueryCounts:
    """See `QueryCounts`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[int, tuple[int, DayCounts]]] = {}
        self._digests: dict[str, tuple[str, str]] = {}
        self._clicks: dict[tuple[str, str], dict[tuple[int, str], tuple[int, PageClicks]]] = {}
        self._examination: tuple[float, ...] = ()

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

    async def put_digest(self, digest: str, language: str, query: str, at: int) -> None:
        self._digests[digest] = language, query

    async def of_digest(self, digest: str) -> tuple[str, str] | None:
        return self._digests.get(digest)

    async def put_clicks(self, language: str, query: str, day: int, source: str, clicks: PageClicks, at: int) -> None:
        rows = self._clicks.setdefault((language, query), {})
        if (day, source) not in rows or rows[day, source][0] <= at:
            rows[day, source] = at, clicks

    async def clicks_of(self, language: str, query: str) -> dict[tuple[int, str], PageClicks]:
        return {key: clicks for key, (_, clicks) in self._clicks.get((language, query), {}).items()}

    async def put_examination(self, probabilities: Sequence[float], at: int) -> None:
        self._examination = tuple(probabilities)

    async def examination(self) -> tuple[float, ...]:
        return self._examination

    async def purge(self) -> None:
        self._rows.clear()
        self._digests.clear()
        self._clicks.clear()
        self._examination = ()
