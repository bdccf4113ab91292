"""Suggestions in memory."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from streams.stores.protocols import PartKind, PrefixRow, StoredSuggestion
from streams.stores.protocols.suggestions import MAX_ROWS


class MemorySuggestions:
    """See `Suggestions`."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], dict[str, tuple[int, StoredSuggestion | None]]] = defaultdict(dict)
        self._parts: dict[tuple[str, str, int], dict[str, bytes]] = defaultdict(dict)

    async def of_prefix(self, language: str, prefix: str) -> list[StoredSuggestion]:
        rows = self._rows.get((language, prefix), {})
        return [found for _, (_, found) in sorted(rows.items()) if found is not None][:MAX_ROWS]

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

    async def purge(self) -> None:
        self._rows.clear()
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
