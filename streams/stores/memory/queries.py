"""Counts of queries, and suggestions, in memory."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from streams.stores.protocols import (
    CountedQuery,
    DayCounts,
    NewTitle,
    PageClicks,
    PartKind,
    PrefixRow,
    StoredSuggestion,
)
from streams.stores.protocols.queries import MAX_ROWS


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


class MemorySuggestions:
    """See `Suggestions`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, tuple[int, StoredSuggestion | None]]] = defaultdict(dict)
        self._titles: dict[tuple[str, str, str], tuple[int, StoredSuggestion | None]] = {}
        """By key, language and text. None: it was removed."""
        self._parts: dict[tuple[str, str, int], dict[str, bytes]] = defaultdict(dict)

    async def of_prefix(self, language: str, prefix: str, since: int = 0) -> list[StoredSuggestion]:
        rows = [written for _, written in sorted(self._rows.get((language, prefix), {}).items()) if written[1]]
        return [found for at, found in rows[:MAX_ROWS] if found and at >= since]

    async def of_prefixes(self, language: str, prefixes: Collection[str]) -> dict[str, list[StoredSuggestion]]:
        return {prefix: await self.of_prefix(language, prefix) for prefix in prefixes}

    async def put(self, rows: Iterable[PrefixRow], at: int) -> None:
        for row in rows:
            self._write(row, row.suggestion, at)

    async def replace(self, rows: Sequence[PrefixRow], at: int) -> None:
        for prefix in {(row.language, row.prefix) for row in rows}:
            for text, (written, _) in self._rows[prefix].items():
                if written < at:
                    self._rows[prefix][text] = (at - 1, None)
        await self.put(rows, at)

    async def remove(self, rows: Iterable[PrefixRow], at: int) -> None:
        for row in rows:
            self._write(row, None, at)

    async def add_titles(self, titles: Sequence[NewTitle]) -> None:
        for title in titles:
            self._write_title(title, title.suggestion)

    async def titles(self, beginning: str) -> list[StoredSuggestion]:
        rows = sorted(self._titles.items(), key=lambda row: row[0])
        begin = beginning or "\U0010ffff"
        return [found for (key, _, _), (_, found) in rows if found is not None and key.startswith(begin)][:MAX_ROWS]

    async def remove_title(self, title: NewTitle) -> None:
        self._write_title(title, None)

    async def drop_titles(self, before: int) -> None:
        for place, (at, _) in self._titles.items():
            if at < before:
                self._titles[place] = (before - 1, None)

    async def purge(self) -> None:
        self._rows.clear()
        self._titles.clear()
        self._parts.clear()

    async def put_part(self, build: str, kind: PartKind, shard: int, part: str, value: bytes) -> None:
        self._parts[build, kind, shard][part] = value

    async def parts(self, build: str, kind: PartKind, shard: int) -> list[bytes]:
        return [value for _, value in sorted(self._parts.get((build, kind, shard), {}).items())]

    async def drop_parts(self, build: str, kind: PartKind, shard: int) -> None:
        self._parts.pop((build, kind, shard), None)

    def _write(self, row: PrefixRow, value: StoredSuggestion | None, at: int) -> None:
        rows = self._rows[row.language, row.prefix]
        text = row.suggestion.text
        if text not in rows or rows[text][0] <= at:
            rows[text] = (at, value)

    def _write_title(self, title: NewTitle, value: StoredSuggestion | None) -> None:
        place = title.key, title.suggestion.language, title.suggestion.text
        if place not in self._titles or self._titles[place][0] <= title.at:
            self._titles[place] = (title.at, value)
