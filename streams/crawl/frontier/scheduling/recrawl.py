"""When a page is visited again. Pure: the history of its visits, the last verdict and its host's budget decide.

Each visit of a page says something about the mean time between two of its changes (`visit_budget.learn`). With this
mean the page waits for its share of the visits that its host gets in a day (`visit_budget`). A page that fails waits
twice as long each time, and is given up after eight failures. `make bench ARGS=freshness` compares all of it with a
fixed interval and with the best policy.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from streams.crawl.frontier.policy import JITTER, SECOND
from streams.crawl.frontier.scheduling.change_hints import ChangeHints
from streams.crawl.frontier.scheduling.purposes import purpose_of
from streams.crawl.frontier.scheduling.visit_budget import (
    MAX_WAIT_SECONDS,
    NEW_PAGE_SECONDS,
    VisitBudget,
    bounded_mean,
    learn,
)
from streams.stores.protocols import FrontierUrl

FIRST_SECONDS = 3_600
"""Minimum time until the next visit after a failure (seconds). It is also the time until a new feed is read again."""
SITEMAP_SECONDS = 86_400
"""Time between two visits of a sitemap (seconds)."""
PROVEN_SITEMAP_SECONDS = 10_800
"""Time between two visits of a sitemap whose host's hints were right before (seconds)."""
MIN_FEED_SECONDS = 900
"""Minimum time between two visits of a feed that a page names (seconds)."""
FEED_SHARE = 2
"""Share of the mean time between two changes of a feed after which it is read again: one Nth."""
MAX_FAILURES = 8
"""Number of failures in a row after which a page is visited no more."""

Verdict = Literal["changed", "unchanged", "failed"]


def first_mean(stated_seconds: int, hints: ChangeHints) -> int:
    """Return the mean time between two changes of a new page (seconds).

    It is the interval that a sitemap states for the page, where the stated intervals of its host are true.
    """
    return bounded_mean(stated_seconds) if stated_seconds and hints.state_intervals else NEW_PAGE_SECONDS


def failed_seconds(wait_seconds: float, failures: int) -> float:
    """Return the time until the next visit after N failures in a row: doubled each time (seconds). 0: there is none."""
    if failures >= MAX_FAILURES:
        return 0.0
    return min(max(wait_seconds, FIRST_SECONDS) * 2.0**failures, MAX_WAIT_SECONDS)


def verdict_of(url: FrontierUrl) -> Verdict | None:
    """Return the verdict of a URL's last visit. None: it is not known yet, or the URL has no content to keep fresh."""
    if url.state != "done" or not url.why or not url.ok_generation:
        return None
    match url.outcome:
        case "ok" if url.settled_generation < url.generation:
            return None
        case "ok":
            return _SETTLED.get(url.verdict, "unchanged")
        case "not_modified":
            return "unchanged"
        case "removed" | "over_budget":
            return None
    return "failed"


SIGN_IN = "sign_in"
"""The verdict of a URL whose last answer was a sign-in page in place of its content."""
_SETTLED: dict[str, Verdict] = {
    "changed": "changed", "soft_404": "failed", SIGN_IN: "failed", "gone": "failed", "failed": "failed",
}  # fmt: skip
"""The verdicts of `pages.settled` that don't leave the content as it was."""


def plan_visit(
    url: FrontierUrl,
    now: int,
    random: float,
    place: Callable[[int], int],
    hints: ChangeHints,
    visits: VisitBudget,
    factor: float,
) -> FrontierUrl:
    """Return the URL with its next visit, or as it is if that is planned already, or not to be planned.

    `place` returns a place in the host's queue for a time. `hints` and `visits` are the host's records, and `factor`
    multiplies its budgets, by its quality. A visit that a hint brought forward says nothing of the page's own changes.
    """
    verdict = verdict_of(url)
    if verdict is None or url.planned_at == _visit_of(url):
        return url
    failures = url.visit_failures + 1 if verdict == "failed" else 0
    waited = max(_visit_of(url) - url.planned_at, 0) / SECOND if url.planned_at else 0.0
    mean = 0 if failures >= MAX_FAILURES else _mean_seconds(url, verdict, waited, hints)
    if url.purpose == "page":
        visits.move(url.mean_seconds, mean)
    wait = 0.0
    if mean:
        wait = _source_seconds(url, mean, hints)
        if url.purpose == "page":
            wait = visits.wait(url.page_id, mean, waited, factor)
    if failures:
        wait = failed_seconds(wait, failures)
    when = place(now + round(wait * (1 + JITTER * random) * SECOND)) if wait else 0
    return replace(
        url,
        at=max(now, url.at + 1),
        position=when or url.position,
        next_visit=when,
        mean_seconds=mean,
        visit_failures=failures,
        planned_at=_visit_of(url),
        is_hinted=False,
    )


def _mean_seconds(url: FrontierUrl, verdict: Verdict, waited: float, hints: ChangeHints) -> int:
    """Return the mean time between two changes of a page (seconds). The host's record counts what it stated."""
    is_changed = verdict == "changed"
    if not url.mean_seconds:
        return first_mean(url.change_seconds, hints) if url.purpose == "page" else FEED_SHARE * FIRST_SECONDS
    if verdict == "failed":
        return url.mean_seconds
    if url.is_hinted:
        hints.judge(was_right=is_changed)
        return url.mean_seconds
    if url.change_seconds and url.purpose == "page":
        hints.judge_interval(url.change_seconds, round(waited), changed=is_changed)
    return learn(url.mean_seconds, waited, is_changed=is_changed)


def _source_seconds(url: FrontierUrl, mean: int, hints: ChangeHints) -> float:
    """Return the time until a sitemap is read again, or a feed: a feed by how often it changes, a day at most."""
    if purpose_of(url) == "feed":
        return min(max(mean / FEED_SHARE, MIN_FEED_SECONDS), SITEMAP_SECONDS)
    return PROVEN_SITEMAP_SECONDS if hints.are_proven else SITEMAP_SECONDS


def hurry_visit(url: FrontierUrl, modified: int, cause: str, place: int, now: int) -> FrontierUrl:
    """Return a done URL with its next visit brought forward by a hint, from the event `cause`."""
    later = replace(url, at=max(now, url.at + 1), position=place, next_visit=place)
    return replace(later, hinted_at=modified, is_hinted=True, cause=cause)


def is_news(url: FrontierUrl, modified: int, now: int) -> bool:
    """Return whether a sitemap tells of a change after the last visit of a page that waits for its next one."""
    is_later = modified != url.hinted_at and modified * SECOND > url.generation
    return is_later and waits_for_visit(url) and url.next_visit > now


def _visit_of(url: FrontierUrl) -> int:
    """Return a number for the last visit: a visit without an answer has the time of its end."""
    return url.at if url.outcome == "disallowed" else url.generation


def waits_for_visit(url: FrontierUrl) -> bool:
    """Return whether the URL's place in the queue is its next visit."""
    return url.state == "done" and 0 < url.next_visit == url.position


def begin_visit(url: FrontierUrl, now: int) -> FrontierUrl:
    """Return the URL as it is queued for its next visit, at the same place."""
    return replace(
        url, state="queued", at=max(now, url.at + 1), attempt=0, redirects=0, forced=False, revisit=True, next_visit=0
    )
