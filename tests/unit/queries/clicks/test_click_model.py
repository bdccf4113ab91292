"""The click model, on simulated clicks of people whose eyes begin at the top: it finds places and relevance again."""

import random
from collections import defaultdict
from itertools import combinations
from uuid import UUID

import pytest

from streams.queries.click_model import PLACES, Shown, estimate_examination
from streams.search.ranking.clicks import MIN_CLICKS, QueryClicks, gains_of
from streams.stores.protocols import PlaceCounts

LOOKS = (1.0, 0.62, 0.45, 0.36, 0.3, 0.25, 0.21, 0.18, 0.16, 0.14)
"""The true probability for each place that a person looks at it."""
Log = dict[str, dict[UUID, PlaceCounts]]
Relevance = dict[tuple[str, UUID], float]


def simulate(seed: int, queries: int = 30, questions: int = 300, swaps: int = 3) -> tuple[Log, Relevance]:
    """Clicks on ten pages of each query. The ranking is better than chance, and changes a little with each question."""
    chance = random.Random(seed)
    log: Log = {}
    relevance: Relevance = {}
    for number in range(queries):
        query, pages = f"query {number}", [UUID(int=page + 1) for page in range(PLACES)]
        own = {page: chance.choice((0.05, 0.2, 0.5, 0.8)) for page in pages}
        relevance |= {(query, page): value for page, value in own.items()}
        ranking = sorted(pages, key=lambda page: -own[page] + chance.gauss(0, 0.5))
        shown: dict[UUID, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        clicked: dict[UUID, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for _ in range(questions):
            order = list(ranking)
            for _ in range(swaps):
                place = chance.randrange(PLACES - 1)
                order[place], order[place + 1] = order[place + 1], order[place]
            for place, page in enumerate(order, 1):
                shown[page][place] += 1
                if chance.random() < LOOKS[place - 1] * own[page]:
                    clicked[page][place] += 1
        log[query] = {page: PlaceCounts(dict(shown[page]), dict(clicked[page])) for page in pages}
    return log, relevance


def examination_of(log: Log) -> tuple[float, ...]:
    return estimate_examination(
        {
            query: {
                str(page): {place: Shown(n, counts.clicked.get(place, 0)) for place, n in counts.shown.items()}
                for page, counts in pages.items()
            }
            for query, pages in log.items()
        }
    )


def right_pairs(relevance: Relevance, scores: Relevance) -> float:
    """The share of pairs of pages of one query, one more relevant than the other, that the scores put in order."""
    by_query: dict[str, list[UUID]] = defaultdict(list)
    for query, page in relevance:
        by_query[query].append(page)
    pairs = [
        (scores[query, a] - scores[query, b]) * (relevance[query, a] - relevance[query, b]) > 0
        for query, pages in by_query.items()
        for a, b in combinations(pages, 2)
        if relevance[query, a] != relevance[query, b]
    ]
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_places_and_relevance_are_found_again_and_better_than_by_the_rate_of_clicks(seed: int) -> None:
    log, relevance = simulate(seed)
    examination = examination_of(log)
    assert examination[0] == 1.0
    assert max(abs(found - true) for found, true in zip(examination, LOOKS, strict=True)) < 0.12
    gains = {
        (query, page): gain for query in log for page, gain in gains_of(QueryClicks(log[query], examination)).items()
    }
    rates = {
        (query, page): sum(counts.clicked.values()) / sum(counts.shown.values())
        for query, pages in log.items()
        for page, counts in pages.items()
    }
    raw, debiased = right_pairs(relevance, rates), right_pairs(relevance, gains)
    assert debiased > raw + 0.02, (raw, debiased)
    assert debiased > 0.9


def counts(shown: dict[int, int], clicked: dict[int, int]) -> PlaceCounts:
    return PlaceCounts(shown, clicked)


A, B, C = UUID(int=1), UUID(int=2), UUID(int=3)
EXAMINATION = (1.0, 0.5, 0.25)
CASES = [
    pytest.param({A: counts({1: 100}, {1: 40}), B: counts({2: 100}, {2: 20})}, "equal", id="place explains all"),
    pytest.param({A: counts({1: 100}, {1: 40}), B: counts({2: 100}, {2: 40})}, "B", id="as many clicks, lower place"),
    pytest.param({A: counts({1: 100}, {1: 60}), B: counts({2: 100}, {2: 5})}, "A", id="more than the place explains"),
    pytest.param({A: counts({1: 10}, {1: MIN_CLICKS - 1})}, "none", id="too few clicks"),
    pytest.param({}, "none", id="nothing"),
    pytest.param({A: counts({}, {99: 50}), B: counts({2: 10}, {})}, "A", id="clicks without being shown"),
]


@pytest.mark.parametrize(("places", "best"), CASES)
def test_a_page_gains_what_its_place_does_not_explain(places: dict[UUID, PlaceCounts], best: str) -> None:
    gains = gains_of(QueryClicks(places, EXAMINATION))
    assert all(-1 <= gain <= 1 for gain in gains.values())
    if best == "none":
        assert gains == {}
    elif best == "equal":
        assert max(map(abs, gains.values())) < 1e-9
    else:
        assert max(gains, key=lambda page: gains[page]) == {"A": A, "B": B}[best]


def test_without_clicks_or_probabilities_nothing_is_learned() -> None:
    assert estimate_examination({}) == ()
    assert estimate_examination({"q": {"a": {1: Shown(5, 0)}, "b": {0: Shown(3, 1)}}}) == ()
    assert gains_of(QueryClicks({A: counts({1: 100}, {1: 60})}, ())) == {}


def test_a_page_that_few_people_saw_gains_little() -> None:
    seen = {A: counts({1: 1000}, {1: 300}), B: counts({2: 1000}, {2: 150}), C: counts({3: 4}, {3: 1})}
    assert gains_of(QueryClicks(seen, EXAMINATION))[C] < 0.1
