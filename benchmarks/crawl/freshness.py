"""Simulates a month of a crawl that keeps 10,000 pages fresh, by four policies with the same number of requests.

    python -m benchmarks freshness

Pages change by Poisson processes. Their mean intervals follow Cho and Garcia-Molina, "The Evolution of the Web and
Implications for an Incremental Crawler" (VLDB 2000), figure 2: 23 % of the pages change about daily, 15 % weekly,
16 % monthly, 46 % more seldom; within a class the intervals are spread log-uniformly. The policies:

    recrawl         the frontier's rule (`streams.crawl.frontier.scheduling.recrawl`) on hosts of 100 pages: it sees
                    only its own visits
    same requests   one fixed interval for all pages, with as many requests as `recrawl` made
    proportional    rates in proportion to the true rates of change, with as many requests
    optimal         the best rates for the average freshness by the true rates of change, with as many requests: Cho
                    and Garcia-Molina, "Effective Page Refresh Policies for Web Crawlers" (TODS 2003), the same as Azar
                    et al., "Tractable near-optimal policies for crawling" (PNAS 2018), for equal weights

Beside them `recrawl` with the hints of sitemaps (`lastmod`), as the frontier counts them: hosts of 100 pages each,
whose sitemaps are read by its rule, and count as requests. The hints are right at all hosts, at half of them, or at
none: such a host says "now" for all its pages, always.

And the first month of pages that their sites publish one after another, with the intervals that sitemaps state
(`changefreq`): the nearest word at all hosts, the same word for all pages of a host, or none.

Hosts of several kinds are simulated by themselves (`benchmarks.crawl.host_visits`).

Freshness is the share of the time in which the index has a page's present content; age is the time since the index's
content was outdated. A model runs only when a visit finds a change: `model_runs` beside `requests` is the saved time.
"""

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Annotated, Any

import typer

from benchmarks.crawl import host_visits
from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.crawl.frontier.scheduling.change_hints import ChangeHints
from streams.crawl.frontier.scheduling.recrawl import PROVEN_SITEMAP_SECONDS, SITEMAP_SECONDS, first_mean
from streams.crawl.sitemap_entries import CHANGE_SECONDS
from streams.pages.sitemap_events import NEWS_SECONDS

DAY = 86_400.0
PAGES = 10_000
DAYS = 30
SEED = 7
CLASSES = ((0.23, 0.5 * DAY, 2 * DAY), (0.15, 2 * DAY, 7 * DAY), (0.16, 7 * DAY, 30 * DAY), (0.46, 30 * DAY, 400 * DAY))
"""Share of the pages, and the bounds of their mean interval between two changes (seconds)."""
STEPS = 60
"""Number of bisections. Each halves the error."""

PAGES_PER_HOST = 100

Intervals = Callable[[int, bool | None], float]
"""The seconds until the next visit of a page, by the outcome of a visit: changed or not, None before the first one."""


@dataclass(slots=True)
class Outcome:
    """The figures of one policy."""

    requests: int = 0
    changes_found: int = 0
    fresh_seconds: float = 0.0
    ages: list[float] = field(default_factory=list)
    """Seconds for which the index had outdated content of a page, one number for each outdated time."""

    def figures(self, pages: int, days: float) -> dict[str, Any]:
        seconds = pages * days * DAY
        aged = sum(age * age / 2 for age in self.ages)
        return {
            "requests": self.requests,
            "requests_per_page_and_day": round(self.requests / pages / days, 3),
            "model_runs": self.changes_found,
            "model_runs_saved": round(1 - self.changes_found / max(self.requests, 1), 3),
            "freshness": round(self.fresh_seconds / seconds, 4),
            "mean_age_hours": round(aged / seconds / 3_600, 2),
        }


@command
def run(
    pages: Annotated[int, typer.Option(min=100)] = 10_000,
    days: Annotated[int, typer.Option(min=1)] = 30,
    as_json: AsJson = False,
) -> int:
    """Simulate how fresh an index stays by the rule for further visits, beside other policies with as many requests.

    Example:  python -m benchmarks freshness --pages 1000
    """
    print_figures("Freshness", measure(pages, days), as_json)
    return 0


def measure(pages: int = PAGES, days: int = DAYS) -> dict[str, Any]:
    """All figures. Two months are simulated; the first one, in which the rule learns, is not counted."""
    chance = random.Random(SEED)
    means = [_mean_interval(chance) for _ in range(pages)]
    changes = [_change_times(mean, 2 * days * DAY, chance) for mean in means]
    own = simulate(changes, days, _recrawl_policy(pages))
    rate = own.requests / pages / (days * DAY)
    rates = [1 / mean for mean in means]
    total = sum(rates)
    proportional = [rate * pages * each / total for each in rates]
    optimal = optimal_rates(rates, rate * pages)
    policies = {
        "recrawl": own,
        "same requests": simulate(changes, days, _fixed([rate] * pages)),
        "proportional": simulate(changes, days, _fixed(proportional)),
        "optimal": simulate(changes, days, _fixed(optimal)),
        "recrawl, all hints right": simulate_hints(changes, days, lambda host: True),
        "recrawl, half of the hosts": simulate_hints(changes, days, lambda host: host % 2 == 0),
        "recrawl, all say now": simulate_hints(changes, days, lambda host: False),
    }
    new = {
        "nothing stated": simulate_new(changes, days, lambda page: 0),
        "stated as they are": simulate_new(changes, days, lambda page: nearest_word(means[page])),
        "hourly for all": simulate_new(changes, days, lambda page: CHANGE_SECONDS["hourly"]),
        "daily for all": simulate_new(changes, days, lambda page: CHANGE_SECONDS["daily"]),
        "yearly for all": simulate_new(changes, days, lambda page: CHANGE_SECONDS["yearly"]),
    }
    return {
        "machine": machine(),
        "pages": pages,
        "days": days,
        "first_month": {name: outcome.figures(pages, days / 2) for name, outcome in new.items()},
        "policies": {name: outcome.figures(pages, days) for name, outcome in policies.items()},
        "hosts": host_visits.measure(),
    }


def simulate(changes: Sequence[Sequence[float]], days: int, intervals: Intervals) -> Outcome:
    """Visit the pages by a policy for twice the days, in the order of time, and count the second half."""
    outcome, begin, end = Outcome(), days * DAY, 2 * days * DAY
    seen, visited = [0] * len(changes), [0.0] * len(changes)
    queue = [(intervals(page, None), page) for page in range(len(changes))]
    heapify(queue)
    while queue:
        due, page = heappop(queue)
        times, visit = changes[page], min(due, end)
        outdated = times[seen[page]] if seen[page] < len(times) else math.inf
        _count(outcome, max(visited[page], begin), visit, max(outdated, begin) if outdated < visit else math.inf)
        found, seen[page] = seen[page], bisect_right(times, visit)
        visited[page] = visit
        if visit == end:
            continue
        if visit >= begin:
            outcome.requests += 1
            outcome.changes_found += seen[page] > found
        heappush(queue, (visit + intervals(page, seen[page] > found), page))
    return outcome


@dataclass(slots=True)
class _Page:
    times: Sequence[float]
    """When the page changes."""
    number: int
    due: float
    seen: int = 0
    """Number of changes that the index has."""
    visited_at: float = 0.0
    hinted_at: float = 0.0
    is_hinted: bool = False
    stated: int = 0
    """Time between two changes by the sitemap (seconds). 0: it states none."""


def simulate_hints(changes: Sequence[Sequence[float]], days: int, is_honest: Callable[[int], bool]) -> Outcome:
    """Visit pages by the rule and by their hosts' hints for twice the days, and count the second half."""
    outcome, begin, end = Outcome(), days * DAY, 2 * days * DAY
    for host, start in enumerate(range(0, len(changes), PAGES_PER_HOST)):
        hints, plan, read_at = ChangeHints(), host_visits.Budget(), DAY
        pages = [_new_page(times, number, plan) for number, times in enumerate(changes[start : start + PAGES_PER_HOST])]
        queue = [(page.due, number) for number, page in enumerate(pages)]
        heapify(queue)
        while min(read_at, queue[0][0]) < end:
            if read_at <= queue[0][0]:
                outcome.requests += read_at >= begin
                for number in _hurried(pages, hints, read_at, honest=is_honest(host)):
                    heappush(queue, (read_at, number))
                read_at += PROVEN_SITEMAP_SECONDS if hints.are_proven else SITEMAP_SECONDS
                continue
            at, number = heappop(queue)
            if at == pages[number].due:
                _visit(pages[number], hints, plan, at, outcome, begin)
                heappush(queue, (pages[number].due, number))
        for page in pages:
            _count_time(page, outcome, begin, end)
    return outcome


def _new_page(times: Sequence[float], number: int, plan: host_visits.Budget) -> _Page:
    return _Page(times, number, plan.wait(number, None, is_changed=True))


def nearest_word(mean: float) -> int:
    """Return the interval of the `changefreq` that is nearest to a mean interval between changes (seconds)."""
    return min(CHANGE_SECONDS.values(), key=lambda seconds: abs(math.log(seconds / mean)))


def simulate_new(changes: Sequence[Sequence[float]], days: int, stated: Callable[[int], int]) -> Outcome:
    """Visit pages in the month in which their hosts publish them, one after another, and count all of it."""
    outcome, end = Outcome(), days * DAY
    for start in range(0, len(changes), PAGES_PER_HOST):
        hints, plan, numbers = (
            ChangeHints(),
            host_visits.Budget(),
            range(start, min(start + PAGES_PER_HOST, len(changes))),
        )
        published = {number: end * (number - start) / len(numbers) for number in numbers}
        pages: dict[int, _Page] = {}
        queue = [(at, number) for number, at in published.items()]
        heapify(queue)
        while queue[0][0] < end:
            at, number = heappop(queue)
            if number in pages:
                _visit(pages[number], hints, plan, at, outcome, 0)
            else:
                times = changes[number]
                wait = plan.wait(number, None, is_changed=True, first_mean=first_mean(stated(number), hints))
                pages[number] = _Page(times, number, at + wait, bisect_right(times, at), at)
                pages[number].stated = stated(number)
            heappush(queue, (pages[number].due, number))
        for page in pages.values():
            _count_time(page, outcome, 0, end)
    return outcome


def _hurried(pages: Sequence[_Page], hints: ChangeHints, now: float, *, honest: bool) -> Iterator[int]:
    """Yield the pages whose hints count, with their next visit brought forward."""
    for number, page in enumerate(pages):
        changed = bisect_right(page.times, now)
        named_at = (page.times[changed - 1] if changed else 0.0) if honest else now
        is_news = named_at > max(page.visited_at, now - NEWS_SECONDS) and named_at != page.hinted_at and page.due > now
        if is_news and hints.take(number, int(now)):
            page.hinted_at, page.is_hinted, page.due = named_at, True, now
            yield number


def _visit(
    page: _Page, hints: ChangeHints, plan: host_visits.Budget, now: float, outcome: Outcome, begin: float
) -> None:
    _count_time(page, outcome, begin, now)
    found, waited = bisect_right(page.times, now), now - page.visited_at
    changed, page.seen = found > page.seen, found
    if page.is_hinted:
        hints.judge(was_right=changed)
    elif page.stated:
        hints.judge_interval(page.stated, round(waited), changed=changed)
    wait = plan.wait(page.number, waited, is_changed=changed, says_more=not page.is_hinted)
    page.visited_at, page.is_hinted, page.due = now, False, now + wait
    if now >= begin:
        outcome.requests += 1
        outcome.changes_found += changed


def _count_time(page: _Page, outcome: Outcome, begin: float, end: float) -> None:
    outdated = page.times[page.seen] if page.seen < len(page.times) else math.inf
    _count(outcome, max(page.visited_at, begin), end, max(outdated, begin) if outdated < end else math.inf)


def _count(outcome: Outcome, begin: float, end: float, outdated: float) -> None:
    if end <= begin:
        return
    outcome.fresh_seconds += min(outdated, end) - begin
    if outdated < end:
        outcome.ages.append(end - outdated)


def optimal_rates(change_rates: Sequence[float], budget: float) -> list[float]:
    """Return the rates of visits with the highest average freshness, and with this sum.

    At the optimum each visited page has the same marginal gain m: (1 - (1 + r) exp(-r)) / change = m, where r is change
    rate by visit rate. Pages whose gain is below m are never visited.
    """
    low, high = 0.0, 1 / min(change_rates)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if sum(_visit_rate(each, middle) for each in change_rates) > budget:
            low = middle
        else:
            high = middle
    return [_visit_rate(each, high) for each in change_rates]


def _visit_rate(change: float, gain: float) -> float:
    wanted = gain * change
    if wanted >= 1:
        return 0.0
    low, high = 1e-9, 700.0
    for _ in range(STEPS):
        ratio = (low + high) / 2
        if 1 - (1 + ratio) * math.exp(-ratio) < wanted:
            low = ratio
        else:
            high = ratio
    return change / high


def _recrawl_policy(pages: int) -> Intervals:
    plans = [host_visits.Budget() for _ in range(0, pages, PAGES_PER_HOST)]
    waits = [0.0] * pages

    def interval(page: int, changed: bool | None) -> float:
        waited = None if changed is None else waits[page]
        waits[page] = plans[page // PAGES_PER_HOST].wait(page, waited, is_changed=bool(changed))
        return waits[page]

    return interval


def _fixed(rates: Sequence[float]) -> Intervals:
    chance = random.Random(SEED)

    def interval(page: int, changed: bool | None) -> float:
        if not rates[page]:
            return math.inf
        return (chance.random() if changed is None else 1.0) / rates[page]

    return interval


def _mean_interval(chance: random.Random) -> float:
    at = chance.random()
    for share, low, high in CLASSES[:-1]:
        if at < share:
            return float(low * (high / low) ** chance.random())
        at -= share
    _, low, high = CLASSES[-1]
    return float(low * (high / low) ** chance.random())


def _change_times(mean: float, until: float, chance: random.Random) -> list[float]:
    times: list[float] = []
    at = chance.expovariate(1 / mean)
    while at < until:
        times.append(at)
        at += chance.expovariate(1 / mean)
    return times
