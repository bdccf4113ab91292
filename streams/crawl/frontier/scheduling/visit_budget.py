"""The visits of the pages of a host: one budget for each host and day, spent by how often pages change. Pure.

    budget      50 visits a day, one more for each 20 known pages, and one more for each two changes that are expected
                in a day (of a page one at most); all of it times 0.1 to 2.5 by the quality of the host
    wait        W of a page that changes each M on average: W (W - G) = M G, with one G for all pages of the host; a
                sixteenth of M at least
    front       a page whose visits led to new pages of its host. It waits by how often it leads to some, down to five
                minutes. A host has at most 24 fronts. 288 of their visits in a day stand outside of the budget, as one
                front needs; beyond that they spend half of it at most, and wait by an F of their own in place of G

The equation is the best policy for the harmonic penalty of outdated pages (Kolobov, Peres, Lu and Horvitz, "Staying up
to Date with Online Content Changes", NeurIPS 2019): a page that changes seldom is visited by the square root of its
rate of change, and pages that differ at each visit all wait for G. G is the shortest wait with which all pages of the
host together stay within the budget.

The host's row counts its pages by M, in classes that double. So the budget has no clock: whatever a clock did, it is
neither empty nor full. A crash may lose the last changes of the counts.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from streams.stores.rows import Row

DAY_SECONDS = 86_400
FREE_VISITS = 50
"""Visits of a host in a day that nothing has to justify."""
PAGES_PER_VISIT = 20
"""Number of known pages for each further visit in a day."""
CHANGES_PER_VISIT = 2
"""Number of changes that are expected in a day, for each further visit."""
MIN_SHARED_SECONDS = 900
"""Minimum G: the wait of a page that differs at each visit and leads to nothing new (seconds)."""
MIN_WAIT_SECONDS = 300
"""Minimum time between two visits of a front (seconds)."""
MAX_WAIT_SECONDS = 30 * DAY_SECONDS
"""Maximum time between two visits (seconds)."""
MIN_SHARE = 16
"""Share of the mean time between two changes that a page waits for at least: one Nth."""
MIN_MEAN_SECONDS, MAX_MEAN_SECONDS = 60, MIN_SHARE * MAX_WAIT_SECONDS
"""Bounds of the mean time between two changes (seconds)."""
NEW_PAGE_SECONDS = DAY_SECONDS
"""Mean time between two changes of a page of which nothing is known (seconds)."""
NEW_FRONT_SECONDS = 3_600
"""The same between two visits of a front that lead to new pages (seconds)."""
FREE_FRONT_VISITS = DAY_SECONDS // MIN_WAIT_SECONDS
"""Visits of all fronts of a host in a day that stand outside of the budget: one each five minutes."""
FRONTS_SHARE = 2
"""Share of the budget that the other visits of fronts may spend: one Nth."""
MAX_FRONTS = 24
"""Maximum number of pages of a host that count as fronts, or may soon. The one that led to nothing for longest goes."""
PROVEN_NEWS = 2
"""Minimum number of visits that led to new pages, before a page is a front."""
BISECTIONS = 12
"""Each halves the error of log G, which is 8 at first."""
MOVES_SHARE = 50
"""G is computed again when one Nth of the host's pages has another mean: it takes 0.1 ms."""
MAX_LOG = 50.0
"""Maximum number of mean times that a page waited, for the exponential function."""


def learn(mean_seconds: int, waited_seconds: float, *, is_changed: bool) -> int:
    """Return the mean time between two changes, after a visit that found one or none.

    It is a step up the gradient of the likelihood that a page which changes by chance did so within this time, by the
    logarithm of the mean. So a change after a short time halves the mean, a change after a long time says little, and
    no change doubles it at most. Any number of visits may be missed.
    """
    waited = min(max(waited_seconds / mean_seconds, 0.0), MAX_LOG)
    if not is_changed:
        return bounded_mean(mean_seconds * 2.0 ** min(waited, 1.0))
    return bounded_mean(mean_seconds / 2.0 ** (waited / math.expm1(waited) if waited else 1.0))


def bounded_mean(seconds: float) -> int:
    return min(max(round(seconds), MIN_MEAN_SECONDS), MAX_MEAN_SECONDS)


def wait_of(mean_seconds: float, shortest_seconds: float) -> float:
    """Return W, the time between two visits (seconds). `shortest_seconds`: G."""
    wait = (shortest_seconds + math.sqrt(shortest_seconds * (shortest_seconds + 4 * mean_seconds))) / 2
    return min(max(wait, mean_seconds / MIN_SHARE), MAX_WAIT_SECONDS)


def visits_a_day(counts: Mapping[int, int], factor: float) -> float:
    """Return the budget of a host in a day. `counts`: the number of its pages by class. `factor`: by its quality."""
    pages = changes = 0.0
    for of_class, number in counts.items():
        pages += number
        changes += number * min(1.0, DAY_SECONDS / _middle(of_class))
    return factor * (FREE_VISITS + pages / PAGES_PER_VISIT + changes / CHANGES_PER_VISIT)


def shortest_wait(counts: Mapping[int, int], factor: float, spent: float = 0.0) -> float:
    """Return G: with it, and not with a shorter one, the visits of all pages are within the budget (seconds).

    `spent`: the visits of a day that fronts take from it.
    """
    budget = visits_a_day(counts, factor) - spent
    return _shortest(lambda shortest: planned_visits(counts, shortest), budget, MIN_SHARED_SECONDS)


def shortest_front_wait(means: Collection[int], counts: Mapping[int, int], factor: float) -> float:
    """Return F: with it the visits of all fronts are within their part (seconds). `means`: their times between news."""
    allowed = _free_front_visits(factor) + visits_a_day(counts, factor) / FRONTS_SHARE
    return _shortest(lambda shortest: _front_visits(means, shortest), allowed, MIN_WAIT_SECONDS / min(factor, 1.0))


def spent_by_fronts(means: Collection[int], counts: Mapping[int, int], factor: float) -> float:
    """Return the number of visits of a day that fronts take from the budget of the host."""
    visits = _front_visits(means, shortest_front_wait(means, counts, factor))
    return max(visits - _free_front_visits(factor), 0.0)


def _front_visits(means: Collection[int], shortest: float) -> float:
    return sum(DAY_SECONDS / wait_of(mean, shortest) for mean in means)


def _free_front_visits(factor: float) -> float:
    return FREE_FRONT_VISITS * min(factor, 1.0)


def _shortest(planned: Callable[[float], float], budget: float, least: float) -> float:
    """Return the shortest wait with which the planned visits of a day are within a budget, `least` at least."""
    if planned(least) <= budget:
        return least
    low, high = math.log(least), math.log(MAX_WAIT_SECONDS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if planned(math.exp(middle)) > budget:
            low = middle
        else:
            high = middle
    return math.exp(high)


def planned_visits(counts: Mapping[int, int], shortest: float) -> float:
    """Return the number of visits of all pages in a day with this G (seconds)."""
    return sum(number * DAY_SECONDS / wait_of(_middle(of_class), shortest) for of_class, number in counts.items())


def class_of(mean_seconds: int) -> int:
    """Return the class of a page: the number of bits of its mean."""
    return mean_seconds.bit_length()


def _middle(of_class: int) -> float:
    """Return the geometric middle of a class (seconds)."""
    return math.pow(2.0, of_class - 0.5)


@dataclass(slots=True)
class Front:
    """A page whose visits led to new pages, or may soon be known for it."""

    mean_seconds: int = NEW_FRONT_SECONDS
    """Mean time between two visits that lead to new pages, as if they came by chance (seconds)."""
    found_at: int = 0
    """The last visit that led to a new page: its generation."""
    news: int = 0
    """Number of visits that led to new pages."""
    judged: int = 0
    """Number of them that the mean knows."""


@dataclass(slots=True)
class VisitBudget:
    """A host's part in the plan of visits."""

    COLUMNS: ClassVar = frozenset({"shortest_seconds", "moves"})

    counts: dict[int, int] = field(default_factory=dict)
    """Number of pages with further visits, by class."""
    fronts: dict[int, Front] = field(default_factory=dict)
    """Fronts, by a part of their page's id."""
    shortest_seconds: float = field(default=0.0, compare=False)
    """G, as it was computed last. It is not part of the row."""
    moves: int = field(default=0, compare=False)
    """Number of pages that may get a mean of another class before it is computed again."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    def move(self, former_mean: int, mean: int) -> None:
        """Count a page with another mean. 0: it was not visited yet, or it is visited no more."""
        former, present = (class_of(each) if each else 0 for each in (former_mean, mean))
        if former == present:
            return
        if former:
            self.counts[former] = self.counts.get(former, 0) - 1
            if self.counts[former] <= 0:  # below: a crash lost counts
                del self.counts[former]
        if present:
            self.counts[present] = self.counts.get(present, 0) + 1
        self.moves -= 1

    def daily_visits(self, factor: float) -> float:
        """Return the budget of the host in a day."""
        return visits_a_day(self.counts, factor)

    def note_new_page(self, page: UUID, generation: int) -> None:
        """Note that a visit of a page led to a new page of the host."""
        key = _key(page)
        if key not in self.fronts and len(self.fronts) >= MAX_FRONTS:
            del self.fronts[min(self.fronts, key=lambda each: self.fronts[each].found_at)]
        front = self.fronts.setdefault(key, Front())
        if front.found_at != generation:
            front.found_at, front.news = generation, front.news + 1

    def wait(self, page: UUID, mean_seconds: int, waited_seconds: float, factor: float) -> float:
        """Return the time until the next visit of a page (seconds), and learn of a front whether it led to new pages.

        The new pages of a visit may come after its plan: they count for the next one.
        """
        if self.moves <= 0:
            spent = spent_by_fronts(self._front_means(), self.counts, factor)
            self.shortest_seconds = shortest_wait(self.counts, factor, spent)
            self.moves = sum(self.counts.values()) // MOVES_SHARE
        own = wait_of(mean_seconds, self.shortest_seconds)
        front = self.fronts.get(_key(page))
        if front is None:
            return own
        front.mean_seconds = learn(front.mean_seconds, waited_seconds, is_changed=front.news > front.judged)
        front.judged = front.news
        if front.news < PROVEN_NEWS:
            return own
        return min(own, wait_of(front.mean_seconds, shortest_front_wait(self._front_means(), self.counts, factor)))

    def _front_means(self) -> list[int]:
        """Return the mean time between two visits that lead to new pages, of each proven front (seconds)."""
        return [front.mean_seconds for front in self.fronts.values() if front.news >= PROVEN_NEWS]


def _key(page: UUID) -> int:
    return page.int & 0xFFFF_FFFF
