"""A weak prior from the clicks of people, freed from the places in which pages stood. Pure.

A page that stands first is clicked more than an equally good page that stands fifth, because more people look at it.
So clicks are divided by the expected number of people who looked (Chapelle and Zhang, 2009; Joachims, Swaminathan and
Schnabel, 2017). A page gains if it attracts more people who look at it than the other pages of the query do, and loses
if it attracts fewer: at most the weight, which is small, and only with enough clicks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits, PlaceCounts

MIN_LOOKED = 30.0
"""Expected number of people who looked, added to each page of a query, that attracts as the query's pages do: a page
that few people saw gains and loses little."""
MIN_CLICKS = 10
"""Minimum clicks on all pages of a query. Below it, clicks change nothing."""


@dataclass(frozen=True, slots=True)
class QueryClicks:
    """The clicks of one query."""

    places: Mapping[UUID, PlaceCounts]
    """Counts of each page, by its places."""
    examination: Sequence[float]
    """Probability for each place, from the first one, that a person looks at it."""


def click_values(context: RankingContext, _pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `clicks`: how much more than others a page attracts."""
    return gains_of(context.read["clicks"])


def gains_of(known: QueryClicks) -> dict[UUID, float]:
    """Return the gain of each page, from -1 to 1: how far its attraction is above the mean of the query's pages."""
    clicks = {page: float(sum(counts.clicked.values())) for page, counts in known.places.items()}
    looked = {page: _looked(counts, known.examination) for page, counts in known.places.items()}
    total = sum(clicks.values())
    if total < MIN_CLICKS or not known.examination:
        return {}
    mean = total / max(sum(looked.values()), total)
    gains = {}
    for page in known.places:
        attraction = (clicks[page] + MIN_LOOKED * mean) / (looked[page] + MIN_LOOKED)
        gains[page] = max(-1.0, min(1.0, (attraction - mean) / mean))
    return gains


def _looked(counts: PlaceCounts, examination: Sequence[float]) -> float:
    """Return the expected number of people who looked at a page: at least those who clicked it."""
    if not examination:
        return 0.0
    looked = sum(
        shown * examination[min(place, len(examination)) - 1] for place, shown in counts.shown.items() if place >= 1
    )
    return max(looked, float(sum(counts.clicked.values())))
