"""Simulates the further visits of hosts of several kinds, as the frontier plans them: requests in a day, and freshness.

    news        20 fronts with a new article each 15 minutes to 4 hours; 4,000 old articles; a new one changes for a day
    shop        5,000 pages that change each 60 days on average, and one page of offers that changes each 3 hours
    wiki        3,000 pages with 300 changes in a day, most of them of few pages; its list of changes names 5 new pages
    forum       10 boards with a new thread each 1 to 6 hours; a thread changes each hour, and less after two days
    blog        20 pages of which one names a new page each 3 days
    counters    320 pages that differ at each visit
    calendar    730 pages that never change

`fresh` is the share of the time in which the index has the present content of a page, over all pages. `delay` is the
median time until a new page is found. The first half of the days is not counted: the rule learns.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from statistics import median
from typing import Any, Protocol
from uuid import UUID

from streams.crawl.frontier.policy import JITTER
from streams.crawl.frontier.scheduling.visit_budget import NEW_PAGE_SECONDS, VisitBudget, learn

HOUR, DAY = 3_600.0, 86_400.0
FOR_EVER = 3_650 * DAY
SEED = 7


@dataclass(slots=True)
class Page:
    """A page of a simulated host."""

    changes: list[float]
    """When it changes."""
    always: bool = False
    """It differs at each visit."""
    news: list[float] = field(default_factory=list)
    """When it begins to name a further new page."""
    visited_at: float = 0.0
    failed: bool = False


@dataclass(slots=True)
class Kind:
    """A kind of host."""

    pages: list[Page]
    new_page: Callable[[float], Page] | None = None
    """Returns a page that is published at a time."""


class Policy(Protocol):
    """Decides when pages are visited again."""

    def wait(self, page: int, waited: float | None, *, is_changed: bool) -> float:
        """Return the seconds until the next visit. `waited`: since the last one; None: the page is new."""

    def note_new_page(self, page: int, visit: int) -> None:
        """Note that a visit of the page led to a new page."""


class Budget:
    """The frontier's rule."""

    def __init__(self) -> None:
        self._visits = VisitBudget()
        self._means: dict[int, int] = {}

    def wait(
        self,
        page: int,
        waited: float | None,
        *,
        is_changed: bool,
        first_mean: int = NEW_PAGE_SECONDS,
        says_more: bool = True,
    ) -> float:
        """Return the seconds until the next visit. `says_more`: no hint brought this one forward."""
        former = self._means.get(page, 0)
        mean = former or first_mean
        if former and waited is not None and says_more:
            mean = learn(former, waited, is_changed=is_changed)
        self._visits.move(former, mean)
        self._means[page] = mean
        return self._visits.wait(UUID(int=page), mean, waited or 0.0, 1.0)

    def note_new_page(self, page: int, visit: int) -> None:
        self._visits.note_new_page(UUID(int=page), visit)


def measure(days: float = 40, policy: Callable[[], Policy] = Budget, kinds: str = "") -> dict[str, Any]:
    """Return the figures of each kind of host."""
    found = {}
    for name, make in KINDS.items():
        if not kinds or name in kinds.split():
            found[name] = simulate(make(random.Random(SEED), days * DAY), policy(), days)
    return found


def simulate(host: Kind, policy: Policy, days: float) -> dict[str, Any]:
    """Visit the pages of a host, and count the second half of the days."""
    chance, begin, end = random.Random(SEED), days * DAY / 2, days * DAY
    pages, delays, fresh, requests = host.pages, list[float](), 0.0, 0
    queue = [(float(number), number, True) for number in range(len(pages))]
    heapify(queue)
    lived = [0.0] * len(pages)
    while queue[0][0] < end:
        now, number, is_first = heappop(queue)
        page, since = pages[number], max(pages[number].visited_at, begin)
        if now > begin and not is_first:
            requests += 1
            fresh += _fresh_seconds(page, since, now)
            lived[number] += now - since
        is_changed = page.always or _count(page.changes, page.visited_at, now) > 0
        for published in () if is_first else _between(page.news, page.visited_at, now):
            assert host.new_page
            pages.append(host.new_page(published))
            lived.append(0.0)
            heappush(queue, (now + 60, len(pages) - 1, True))
            policy.note_new_page(number, int(now))
            if published > begin:
                delays.append(now - published)
        wait = policy.wait(number, None if is_first else now - page.visited_at, is_changed=is_changed)
        page.visited_at = now
        heappush(queue, (now + wait * (1 + JITTER * chance.random()), number, False))
    for page, number in ((pages[number], number) for _, number, is_first in queue if not is_first):
        since = max(page.visited_at, begin)
        fresh, lived[number] = fresh + _fresh_seconds(page, since, end), lived[number] + end - since
    return {
        "pages": len(pages),
        "requests_a_day": round(requests / (days / 2)),
        "fresh": None if pages[0].always else round(fresh / sum(lived), 3),
        "delay_minutes": round(median(delays) / 60) if delays else None,
    }


def _fresh_seconds(page: Page, since: float, until: float) -> float:
    changes = page.changes
    place = bisect_right(changes, page.visited_at)
    outdated = changes[place] if place < len(changes) else math.inf
    return max(min(outdated, until) - since, 0.0)


def _between(times: list[float], after: float, until: float) -> list[float]:
    return times[bisect_right(times, after) : bisect_right(times, until)]


def _count(times: list[float], after: float, until: float) -> int:
    return bisect_right(times, until) - bisect_right(times, after)


def _times(chance: random.Random, mean: float, begin: float, end: float) -> Iterator[float]:
    at = begin + chance.expovariate(1 / mean)
    while at < end:
        yield at
        at += chance.expovariate(1 / mean)


def _log_uniform(chance: random.Random, low: float, high: float) -> float:
    return low * math.pow(high / low, chance.random())


def _news(chance: random.Random, end: float) -> Kind:
    def article(at: float) -> Page:
        return Page([*_times(chance, 6 * HOUR, at, min(at + DAY, end)), *_times(chance, 300 * DAY, at + DAY, end)])

    fronts = [list(_times(chance, _log_uniform(chance, HOUR / 4, 4 * HOUR), 0, end)) for _ in range(20)]
    old = [Page(list(_times(chance, 300 * DAY, 0, end))) for _ in range(4_000)]
    return Kind([*(Page(times, news=times) for times in fronts), *old], article)


def _shop(chance: random.Random, end: float) -> Kind:
    offers = Page(list(_times(chance, 3 * HOUR, 0, end)))
    return Kind([offers, *(Page(list(_times(chance, 60 * DAY, 0, end))) for _ in range(5_000))])


def _wiki(chance: random.Random, end: float) -> Kind:
    weights = [1 / (rank + 3) for rank in range(3_000)]
    means = [DAY * sum(weights) / weight / 300 for weight in weights]
    changes = Page([], news=list(_times(chance, DAY / 5, 0, end)), always=True)
    pages = [Page(list(_times(chance, mean, 0, end))) for mean in means]
    return Kind([*pages, changes], lambda at: Page(list(_times(chance, 10 * DAY, at, end))))


def _forum(chance: random.Random, end: float) -> Kind:
    def thread(at: float) -> Page:
        return Page([*_times(chance, HOUR, at, min(at + 2 * DAY, end)), *_times(chance, 100 * DAY, at + 2 * DAY, end)])

    boards = [list(_times(chance, _log_uniform(chance, HOUR, 6 * HOUR), 0, end)) for _ in range(10)]
    old = [Page(list(_times(chance, 100 * DAY, 0, end))) for _ in range(3_000)]
    return Kind([*(Page(times, news=times) for times in boards), *old], thread)


def _blog(chance: random.Random, end: float) -> Kind:
    news = list(_times(chance, 3 * DAY, 0, end))
    still = [Page(list(_times(chance, 200 * DAY, 0, end))) for _ in range(19)]
    return Kind([Page(news, news=news), *still], lambda at: Page(list(_times(chance, 200 * DAY, at, end))))


KINDS: dict[str, Callable[[random.Random, float], Kind]] = {
    "news": _news,
    "shop": _shop,
    "wiki": _wiki,
    "forum": _forum,
    "blog": _blog,
    "counters": lambda chance, end: Kind([Page([], always=True) for _ in range(320)]),
    "calendar": lambda chance, end: Kind([Page([]) for _ in range(730)]),
}
