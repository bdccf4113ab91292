"""When a page is visited again. Pure: the history of its visits and the last verdict decide.

A new page is visited again after an hour. An unchanged page waits twice as long as before, up to 30 days; a changed one
half as long, down to five minutes; a page that fails waits twice as long, and is given up after eight failures.
So the rate of visits follows the rate of changes of each page, without a model of it (`make bench ARGS=freshness`
compares it with a fixed interval and with the best policy).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from streams.crawl.frontier.policy import JITTER, SECOND
from streams.crawl.frontier.scheduling.change_hints import ChangeHints
from streams.crawl.frontier.scheduling.purposes import purpose_of
from streams.stores.protocols import FrontierUrl

FIRST_SECONDS = 3_600
"""Time until the first visit after a new page (seconds)."""
MIN_SECONDS = 300
"""Minimum time between two visits (seconds)."""
MAX_SECONDS = 30 * 86_400
"""Maximum time between two visits (seconds)."""
SITEMAP_SECONDS = 86_400
"""Time between two visits of a sitemap (seconds)."""
PROVEN_SITEMAP_SECONDS = 10_800
"""Time between two visits of a sitemap whose host's hints were right before (seconds)."""
MIN_FIRST_SECONDS, MAX_FIRST_SECONDS = 900, 43_200
"""Bounds of the time until the first visit after a new page by its `changefreq` (seconds)."""
FIRST_SHARE = 0.35
"""Share of a stated interval until that visit (`make bench ARGS=freshness`)."""
MIN_FEED_SECONDS = 900
"""Minimum time between two visits of a feed that a page names (seconds)."""
MAX_FAILURES = 8
"""Number of failures in a row after which a page is visited no more."""

Verdict = Literal["changed", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class History:
    """The visits of a page so far."""

    interval_seconds: int = 0
    """Time between the last visit and the next one (seconds). 0: none is planned."""
    failures: int = 0
    """Number of failures in a row."""


def recrawl(history: History, verdict: Verdict) -> History:
    """Return the history with the interval until the next visit."""
    if verdict == "failed":
        failures = history.failures + 1
        if failures >= MAX_FAILURES:
            return History(0, failures)
        return History(_bounded(2 * (history.interval_seconds or FIRST_SECONDS)), failures)
    if not history.interval_seconds:
        return History(FIRST_SECONDS)
    seconds = history.interval_seconds * 2 if verdict == "unchanged" else history.interval_seconds // 2
    return History(_bounded(seconds))


def first_seconds(stated_seconds: int, hints: ChangeHints) -> int:
    """Return the time until the first visit after a new page (seconds).

    An interval that a sitemap states for the page decides, where the stated intervals of its host are true.
    """
    if not stated_seconds or not hints.state_intervals:
        return FIRST_SECONDS
    return min(max(round(FIRST_SHARE * stated_seconds), MIN_FIRST_SECONDS), MAX_FIRST_SECONDS)


def _bounded(seconds: int) -> int:
    return min(max(seconds, MIN_SECONDS), MAX_SECONDS)


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


_SETTLED: dict[str, Verdict] = {"changed": "changed", "soft_404": "failed", "gone": "failed", "failed": "failed"}
"""The verdicts of `pages.settled` that don't leave the content as it was."""


def plan_visit(
    url: FrontierUrl, now: int, random: float, place: Callable[[int], int], hints: ChangeHints
) -> FrontierUrl:
    """Return the URL with its next visit, or as it is if that is planned already, or not to be planned.

    `place` returns a place in the host's queue for a time. `hints` is the host's record: it counts a visit that a hint
    brought forward. Such a visit says nothing about the page's own interval.
    """
    verdict = verdict_of(url)
    if verdict is None or url.planned_at == _visit_of(url):
        return url
    history = recrawl(History(url.interval_seconds, url.visit_failures), verdict)
    if verdict != "failed" and url.purpose == "page":
        if not url.interval_seconds:
            history = History(first_seconds(url.change_seconds, hints))
        elif url.change_seconds and not url.is_hinted:
            hints.judge_interval(url.change_seconds, url.interval_seconds, changed=verdict == "changed")
    if url.is_hinted and verdict != "failed":
        hints.judge(was_right=verdict == "changed")
        history = History(url.interval_seconds or FIRST_SECONDS)
    if url.purpose != "page" and verdict != "failed":
        history = History(_source_seconds(url, history.interval_seconds, hints))
    wait = round(history.interval_seconds * (1 + JITTER * random) * SECOND)
    when = place(now + wait) if wait else 0
    return replace(
        url,
        at=max(now, url.at + 1),
        position=when or url.position,
        next_visit=when,
        interval_seconds=history.interval_seconds,
        visit_failures=history.failures,
        planned_at=_visit_of(url),
        is_hinted=False,
    )


def _source_seconds(url: FrontierUrl, interval: int, hints: ChangeHints) -> int:
    """Return the time until a sitemap is read again, or a feed: a feed by how often it changes, a day at most."""
    if purpose_of(url) == "feed":
        return min(max(interval, MIN_FEED_SECONDS), SITEMAP_SECONDS)
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
