"""The state of a host's robots.txt, and how an answer changes it (RFC 9309, section 2.3). Pure.

The frontier stores this state in the row of each host. Who asks a host outside of a crawl keeps the same state in its
memory.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from streams.crawl.frontier.policy import MAX_ATTEMPTS, SECOND
from streams.crawl.robots import Rules, Window, robots_access
from streams.stores.rows import Row

if TYPE_CHECKING:
    from schemas.crawl import Outcome

UNAVAILABLE_SECONDS = 30 * 86_400
"""Time after which a robots.txt that can't be read counts as if there were none (seconds)."""
RobotsStatus = Literal["unknown", "allowed", "rules", "unreachable"]


@dataclass(slots=True)
class Robots:
    """The frontier's knowledge of a host's robots.txt."""

    status: RobotsStatus = "unknown"
    ref: str | None = None
    """The blob that holds the file."""
    fetched_at: int = 0
    delay_seconds: float = 0.0
    failures: int = 0
    """Number of failed attempts in a row."""
    outages: int = 0
    """Number of times in a row that the file was unreachable after all attempts."""
    unreachable_since: int = 0
    """Time of the first of these outages. 0: the file was answered last time."""
    windows: tuple[Window, ...] = ()
    """The times of day in which the host may be asked. Empty: always."""
    speakers: tuple[str, ...] = ()
    """The folders of the sitemaps on other hosts that the file names, or these sitemaps: they speak for the host."""
    redirects: int = 0
    url: str = ""
    """Target of a redirect. Empty: the host's own /robots.txt."""
    detail: str = ""
    stored: Row | None = field(default=None, repr=False, compare=False)

    def is_due(self, ttl_seconds: float, now: int) -> bool:
        """Return whether robots.txt must be fetched before anything else of its host."""
        return self.status in ("unknown", "unreachable") or now >= self.fetched_at + round(ttl_seconds * SECOND)


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """The answer to a request for robots.txt."""

    outcome: "Outcome"
    at: int
    """Time of the answer (microseconds since 1970)."""
    detail: str
    """The error, for people."""
    redirect_to: str | None = None
    ref: str | None = None
    """The blob that holds the file."""


def robots_after(before: Robots, answer: RobotsAnswer, rules: Rules | None, max_attempts: int = MAX_ATTEMPTS) -> Robots:
    """Return the state after an answer. `rules`: the file's rules, if the answer has a file."""
    match robots_access(answer.outcome, before.redirects):
        case "rules" if rules is not None:
            return Robots("rules", answer.ref, answer.at, rules.delay_seconds, windows=rules.windows)
        case "redirect" if answer.redirect_to:
            redirects = before.redirects + 1
            return replace(before, url=answer.redirect_to, redirects=redirects, fetched_at=0, status="unknown")
        case "unreachable":
            return _after_failure(before, answer, max_attempts)
    return Robots("allowed", fetched_at=answer.at)


def _after_failure(before: Robots, answer: RobotsAnswer, max_attempts: int) -> Robots:
    """Return the state of robots.txt after a failed attempt: unknown, or unreachable after the last attempt.

    A host that was unreachable before gets one attempt each time. A file that servers could not deliver for 30 days
    counts as unavailable: everything is allowed (RFC 9309, section 2.3.1.4). The guard's refusal is final.
    """
    at, failures, final = answer.at, before.failures + 1, answer.outcome == "guarded"
    if failures < max_attempts and not final and not before.outages:
        return replace(before, status="unknown", failures=failures, detail=answer.detail)
    since = before.unreachable_since or at
    if not final and at - since >= UNAVAILABLE_SECONDS * SECOND:
        return Robots("allowed", fetched_at=at, detail=answer.detail, unreachable_since=since)
    outages = before.outages + 1
    return Robots("unreachable", fetched_at=at, detail=answer.detail, outages=outages, unreachable_since=since)
