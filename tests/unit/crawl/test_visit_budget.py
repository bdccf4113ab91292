"""The budget of a host's visits: how often a page changes, how long it waits, and which pages are fronts."""

import random
from heapq import heapify, heappop, heappush
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.scheduling.visit_budget import (
    FREE_FRONT_VISITS,
    FRONTS_SHARE,
    MAX_FRONTS,
    MAX_MEAN_SECONDS,
    MAX_WAIT_SECONDS,
    MIN_MEAN_SECONDS,
    MIN_SHARED_SECONDS,
    MIN_WAIT_SECONDS,
    PROVEN_NEWS,
    VisitBudget,
    class_of,
    learn,
    planned_visits,
    shortest_front_wait,
    shortest_wait,
    spent_by_fronts,
    wait_of,
)

HOUR, DAY = 3_600, 86_400


LEARNT = [
    # mean, waited, changed, mean afterwards
    (DAY, HOUR, True, 0.51 * DAY, "a change after a short time: half the mean, nearly"),
    (DAY, DAY, True, 0.67 * DAY, "a change after the mean time says less"),
    (DAY, 8 * DAY, True, 1.0 * DAY, "a change after a long time says nothing"),
    (DAY, HOUR, False, 1.03 * DAY, "no change in a short time says little"),
    (DAY, DAY, False, 2 * DAY, "no change in the mean time"),
    (DAY, 400 * DAY, False, 2 * DAY, "twice the mean at most, whatever a clock did"),
    (DAY, 0, True, DAY / 2, "half the mean at least"),
    (DAY, -30 * DAY, False, DAY, "a clock that was set back"),
    (MIN_MEAN_SECONDS, 1, True, MIN_MEAN_SECONDS, "the bounds hold"),
    (MAX_MEAN_SECONDS, 30 * DAY, False, MAX_MEAN_SECONDS, "the bounds hold"),
]


@pytest.mark.parametrize(("mean", "waited", "changed", "later", "why"), LEARNT)
def test_what_a_visit_says_about_a_page(mean: int, waited: float, changed: bool, later: float, why: str) -> None:
    assert learn(mean, waited, is_changed=changed) == pytest.approx(later, rel=0.02), why


@pytest.mark.parametrize("true_mean", [2 * HOUR, DAY, 10 * DAY], ids=str)
@pytest.mark.parametrize("share", [0.25, 1.0, 3.0], ids=str)
def test_the_mean_is_learnt_whatever_the_visits_are(true_mean: float, share: float) -> None:
    """Visits after a fixed share of the true mean time. The mean of many estimates, by their logarithms, is near it."""
    chance, mean, product = random.Random(1), DAY, 1.0
    for number in range(2_000):
        is_changed = chance.expovariate(1 / true_mean) < share * true_mean
        mean = learn(mean, share * true_mean, is_changed=is_changed)
        product *= (mean / true_mean) ** (1 / 1_900) if number >= 100 else 1.0
    assert 0.6 < product < 1.7


COUNTS = st.dictionaries(st.integers(class_of(MIN_MEAN_SECONDS), class_of(MAX_MEAN_SECONDS)), st.integers(1, 10**6))


@given(COUNTS, st.floats(0.1, 2.5))
def test_the_visits_of_all_pages_stay_within_the_budget(counts: dict[int, int], factor: float) -> None:
    budget = VisitBudget(counts)
    visits = planned_visits(counts, shortest_wait(counts, factor))
    least = sum(counts.values()) * DAY / MAX_WAIT_SECONDS
    assert visits <= max(budget.daily_visits(factor), least) * 1.001, "each page is visited once in 30 days"


@given(st.integers(MIN_MEAN_SECONDS, MAX_MEAN_SECONDS), st.floats(MIN_WAIT_SECONDS, MAX_WAIT_SECONDS))
def test_a_page_that_changes_more_seldom_waits_longer(mean: int, shortest: float) -> None:
    assert shortest * 0.999 <= wait_of(mean, shortest) <= wait_of(2 * mean, shortest) <= MAX_WAIT_SECONDS


HOSTS = [
    # pages by mean, quality's factor; visits in a day, at most; the wait of a page with the first mean, at least
    ({MIN_MEAN_SECONDS: 320}, 1.0, 250, DAY, "pages that differ at each visit"),
    ({MIN_MEAN_SECONDS: 320}, 0.1, 25, 12 * DAY, "the same on a host of made pages"),
    ({60 * DAY: 5_000}, 1.0, 400, 12 * DAY, "a shop whose pages change seldom"),
    ({HOUR: 1, 60 * DAY: 5_000}, 1.0, 400, HOUR, "its page of offers"),
    ({MAX_MEAN_SECONDS: 1}, 1.0, 1, 30 * DAY, "a page that never changes"),
    ({MIN_MEAN_SECONDS: 1}, 2.5, 96, MIN_SHARED_SECONDS, "a page that always changes, by itself"),
]


@pytest.mark.parametrize(("pages", "factor", "most", "least", "why"), HOSTS, ids=[row[-1] for row in HOSTS])
def test_the_visits_of_a_host(pages: dict[int, int], factor: float, most: int, least: float, why: str) -> None:
    budget = VisitBudget({class_of(mean): number for mean, number in pages.items()})
    waits = {mean: budget.wait(uuid4(), mean, 0, factor) for mean in pages}
    assert sum(number * DAY / waits[mean] for mean, number in pages.items()) <= most * 1.3, why
    assert waits[next(iter(pages))] >= least, why


def visit(budget: VisitBudget, page: UUID, number: int, *, leads: bool, waited: float = HOUR) -> float:
    """Return the wait after the Nth visit of a page among 5,000."""
    if leads:
        budget.note_new_page(page, number)
    return budget.wait(page, DAY, waited, 1.0)


def test_a_page_whose_visits_lead_to_new_pages_is_a_front() -> None:
    budget, front, other = VisitBudget({class_of(DAY): 5_000}), uuid4(), uuid4()
    waits = [visit(budget, front, number, leads=True, waited=600) for number in range(PROVEN_NEWS, 12)]
    assert waits[0] > 20 * HOUR, "once may be chance"
    assert MIN_WAIT_SECONDS <= waits[-1] < HOUR / 4
    assert visit(budget, other, 1, leads=False) == waits[0]
    quiet = [visit(budget, front, number, leads=False, waited=DAY) for number in range(12, 30)]
    assert quiet[-1] > 10 * HOUR, "nothing new for 18 days"


MEANS = st.lists(st.integers(MIN_MEAN_SECONDS, MAX_MEAN_SECONDS), max_size=MAX_FRONTS)


@given(MEANS, COUNTS, st.floats(0.1, 2.5))
def test_the_visits_of_pages_and_fronts_stay_within_the_budget_and_those_of_one_front(
    means: list[int], counts: dict[int, int], factor: float
) -> None:
    budget, spent = VisitBudget(counts).daily_visits(factor), spent_by_fronts(means, counts, factor)
    fronts = sum(DAY / wait_of(mean, shortest_front_wait(means, counts, factor)) for mean in means)
    pages = planned_visits(counts, shortest_wait(counts, factor, spent))
    least = (sum(counts.values()) + len(means)) * DAY / MAX_WAIT_SECONDS
    assert fronts <= FREE_FRONT_VISITS * min(factor, 1) + spent + 0.001
    assert spent <= budget / FRONTS_SHARE * 1.001
    assert fronts + pages <= (FREE_FRONT_VISITS * min(factor, 1) + budget) * 1.001 + least


def test_a_host_that_changes_its_front_at_each_visit_is_asked_as_one_front_is() -> None:
    """Each visit leads to a new page, of as many fronts as there may be."""
    budget, fronts, asked = VisitBudget({class_of(DAY): 100}), [uuid4() for _ in range(MAX_FRONTS)], 0
    queue = [(0.0, 0.0, number) for number in range(MAX_FRONTS)]
    heapify(queue)
    while queue[0][0] < 3 * DAY:
        now, last, number = heappop(queue)
        asked += now >= 2 * DAY
        budget.note_new_page(fronts[number], round(now) + 1)
        heappush(queue, (now + budget.wait(fronts[number], DAY, now - last, 1.0), now, number))
    allowed = FREE_FRONT_VISITS + budget.daily_visits(1.0) / FRONTS_SHARE
    assert 0.8 * allowed <= asked <= 1.1 * allowed < 400, "6,900 in a day without a bound"


def test_the_new_pages_of_one_visit_count_once() -> None:
    budget, page = VisitBudget(), uuid4()
    for _ in range(9):
        budget.note_new_page(page, 1)
    assert [front.news for front in budget.fronts.values()] == [1]


def test_a_host_has_a_bounded_number_of_fronts() -> None:
    budget, front = VisitBudget(), uuid4()
    for number in range(10 * MAX_FRONTS):
        budget.note_new_page(uuid4(), 2 * number)
        budget.note_new_page(front, 2 * number + 1)
    assert len(budget.fronts) == MAX_FRONTS
    assert max(each.news for each in budget.fronts.values()) == 10 * MAX_FRONTS, "a true front stays"


def test_the_row_of_a_host_has_its_counts_and_fronts() -> None:
    host = Host(1, "a.example")
    assert "visits" not in host.to_row(None, 1).state
    host.visits.move(0, DAY)
    host.visits.note_new_page(uuid4(), 7)
    assert Host.from_row(host.to_row(None, 2)).visits == host.visits


def test_counts_that_a_crash_lost_are_never_negative() -> None:
    budget = VisitBudget()
    budget.move(DAY, HOUR)
    budget.move(DAY, 0)
    assert budget.counts == {class_of(HOUR): 1}
