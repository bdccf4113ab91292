"""The clicks of counted queries: which pages were shown in which place, and clicked there.

A question that is counted (enough people asked it) notes the pages that it showed, and for a day which query its hash
means. A click has only the hash: if no counted query has it, the click is not counted. A person counts once a day for a
query, and once for each page clicked, so nobody can click a page up. The people are in memory, as salted hashes; after
a restart a person may count once more.

A row has absolute counts and the offset of the last counted event. All events of a row have one key, so they come one
after the other to one worker: a redelivered event changes nothing, and two workers never write one row. Each gateway
has another key for a query, so its clicks have a row of their own.
"""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from uuid import UUID

from schemas import QueryAsked, ResultClicked
from streams.caches import RecentCache
from streams.stores.protocols import PageClicks, PlaceCounts, QueryCounts

MAX_ROWS = 20_000
"""Maximum rows in memory. The row that was changed longest ago is read again."""
MAX_SEEN = 500_000
"""Maximum pairs of a person and a query, or page, in memory."""
MAX_PAGES = 100
"""Maximum pages of a row. Further ones are not counted."""
MAX_PLACE = 100
"""Maximum place that is counted."""
_Row = tuple[str, str, int, str]
"""Language, query, day and source."""


class ClickCounts:
    """The counts of shown and clicked pages, of the partitions of one worker."""

    def __init__(self, store: QueryCounts, salt: bytes) -> None:
        self._store, self._salt = store, salt
        self._rows: RecentCache[_Row, PageClicks] = RecentCache(MAX_ROWS)
        self._seen: RecentCache[bytes, bool] = RecentCache(MAX_SEEN)
        self._digests: RecentCache[str, bool] = RecentCache(MAX_ROWS)

    def clear(self) -> None:
        """Forget all rows: another worker may have changed them."""
        self._rows.clear()

    async def note_question(self, event: QueryAsked, day: int, offset: int, at: int) -> None:
        """Count the pages that a counted question showed."""
        if event.query_hash not in self._digests:
            await self._store.put_digest(event.query_hash, event.language, event.query, at)
            self._digests.put(event.query_hash, True)
        mark = self._mark(event.query_hash, event.person)
        if not event.shown or mark in self._seen:
            return
        places = [(page, place, "shown") for place, page in enumerate(event.shown, 1)]
        await self._add((event.language, event.query, day, "asked"), places, offset, at)
        self._seen.put(mark, True)

    async def note_click(self, event: ResultClicked, day: int, offset: int, at: int) -> None:
        """Count a click, if its query is counted."""
        if not event.asked_hash or not 1 <= event.position <= MAX_PLACE:
            return
        found = await self._store.of_digest(event.asked_hash)
        mark = self._mark(event.asked_hash, event.person, event.page_id.hex)
        if found is None or mark in self._seen:
            return
        key = (*found, day, f"clicked {event.query_hash}")
        await self._add(key, [(event.page_id, event.position, "clicked")], offset, at)
        self._seen.put(mark, True)

    async def _add(self, key: _Row, places: Iterable[tuple[UUID, int, str]], offset: int, at: int) -> None:
        language, query, day, source = key
        before = self._rows.get(key)
        if before is None:
            before = (await self._store.clicks_of(language, query)).get((day, source), PageClicks())
        if offset <= before.offset:
            return
        pages = dict(before.pages)
        for page, place, kind in places:
            if page not in pages and len(pages) >= MAX_PAGES:
                continue
            pages[page] = _add_one(pages.get(page, PlaceCounts()), place, kind)
        after = replace(before, pages=pages, offset=offset)
        await self._store.put_clicks(language, query, day, source, after, at)
        self._rows.put(key, after)

    def _mark(self, *parts: str) -> bytes:
        """Return the mark of a person with a query, or with a page. The hash of a query is another one each day."""
        return blake2b("\0".join(parts).encode(), key=self._salt, digest_size=8).digest()


def _add_one(counts: PlaceCounts, place: int, kind: str) -> PlaceCounts:
    if kind == "shown":
        return replace(counts, shown={**counts.shown, place: counts.shown.get(place, 0) + 1})
    return replace(counts, clicked={**counts.clicked, place: counts.clicked.get(place, 0) + 1})
