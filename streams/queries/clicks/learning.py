"""Learning from the clicks of all counted queries: how probably people look at each place."""

from datetime import datetime

from streams.queries.clicks.model import ClickLog, Shown, estimate_examination
from streams.queries.counts import list_queries
from streams.search.readers import sum_clicks
from streams.stores.protocols import PlaceCounts, QueryCounts

MAX_QUERIES = 10_000
"""Maximum queries whose clicks are read: those that were asked most."""


async def read_clicks(store: QueryCounts, now: datetime, days: int) -> dict[tuple[str, str], dict[str, PlaceCounts]]:
    """Return the counts of the pages of each query by language and query: of the queries that were asked most."""
    found = {}
    for language, query, _ in (await list_queries(store, now, days))[:MAX_QUERIES]:
        pages = sum_clicks((await store.clicks_of(language, query)).values())
        found[language, query] = {str(page): counts for page, counts in pages.items()}
    return found


async def learn_examination(store: QueryCounts, now: datetime, days: int) -> tuple[float, ...]:
    """Estimate the probability of each place, and store it. Empty: there are no clicks, and nothing is stored."""
    clicks = await read_clicks(store, now, days)
    log: ClickLog = {
        f"{language} {query}": {page: _places(counts) for page, counts in pages.items()}
        for (language, query), pages in clicks.items()
    }
    found = estimate_examination(log)
    if found:
        await store.put_examination(found, int(now.timestamp() * 1_000_000))
    return found


def _places(counts: PlaceCounts) -> dict[int, Shown]:
    return {
        place: Shown(max(shown, counts.clicked.get(place, 0)), counts.clicked.get(place, 0))
        for place, shown in counts.shown.items()
    }
