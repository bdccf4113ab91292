"""The position-based model of clicks: how probably a place is looked at, apart from how good its page is.

A result is clicked if it is looked at and attracts. Whether it is looked at depends only on its place, and whether it
attracts only on the query and the page (Chuklin, Markov and de Rijke: Click Models for Web Search, 2015, section 3.3).
Both are estimated by expectation maximization over the counts of all counted queries. The model can tell the two apart
only if pages change their places from time to time; a page that always stood in one place gets what its neighbours of
the same query suggest.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from streams.queries.counts import list_queries
from streams.search.readers import sum_clicks
from streams.stores.protocols import PlaceCounts, QueryCounts

PLACES = 10
"""Places that have a probability of their own. Later ones count as the last."""
ROUNDS = 60
"""Rounds of the estimation. The probabilities change by less than 0.001 in the last ones."""
_PRIOR_SHOWN = 2.0
"""Number of times, added to each page, that it was shown and attracted as often as the pages of its query do."""
MAX_QUERIES = 10_000
"""Maximum queries whose clicks are read: those that were asked most."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The number of times that a page was shown in one place for one query, and clicked there."""

    shown: int
    clicked: int


ClickLog = Mapping[str, Mapping[str, Mapping[int, Shown]]]
"""Counts by query, page and place (from 1)."""


def estimate_examination(log: ClickLog, rounds: int = ROUNDS) -> tuple[float, ...]:
    """Return the probability for each place that a person looks at it, from 0 to 1. The first place has 1.

    Empty if nothing was clicked.
    """
    rows = [
        (query, page, min(place, PLACES) - 1, each)
        for query, pages in log.items()
        for page, places in pages.items()
        for place, each in places.items()
        if each.shown > 0 and place >= 1
    ]
    if not any(each.clicked for *_, each in rows):
        return ()
    examination = [1.0 / (1 + place) ** 0.5 for place in range(PLACES)]
    attraction = {(query, page): 0.5 for query, page, *_ in rows}
    for _ in range(rounds):
        attraction = _attractions(rows, examination, attraction)
        examination = _examinations(rows, examination, attraction)
    return tuple(round(min(each / max(examination[0], 1e-9), 1.0), 4) for each in examination)


_Rows = list[tuple[str, str, int, Shown]]


def _attractions(
    rows: _Rows, examination: list[float], before: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Return the expected attraction of each page of a query, drawn a little to the mean of the query."""
    gained: dict[tuple[str, str], float] = defaultdict(float)
    shown: dict[tuple[str, str], float] = defaultdict(float)
    of_query: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for query, page, place, each in rows:
        attracts, looks = before[query, page], examination[place]
        # A result without a click may attract people who did not look at it.
        unseen = attracts * (1 - looks) / max(1 - attracts * looks, 1e-9)
        gain = each.clicked + (each.shown - each.clicked) * unseen
        gained[query, page] += gain
        shown[query, page] += each.shown
        of_query[query][0] += gain
        of_query[query][1] += each.shown
    return {
        key: (gained[key] + _PRIOR_SHOWN * (of_query[key[0]][0] / of_query[key[0]][1])) / (shown[key] + _PRIOR_SHOWN)
        for key in gained
    }


def _examinations(rows: _Rows, before: list[float], attraction: Mapping[tuple[str, str], float]) -> list[float]:
    seen, shown = [0.0] * PLACES, [0.0] * PLACES
    for query, page, place, each in rows:
        attracts, looks = attraction[query, page], before[place]
        # A result without a click may have been looked at without attracting.
        unattractive = looks * (1 - attracts) / max(1 - attracts * looks, 1e-9)
        seen[place] += each.clicked + (each.shown - each.clicked) * unattractive
        shown[place] += each.shown
    return [seen[place] / shown[place] if shown[place] else before[place] for place in range(PLACES)]


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
