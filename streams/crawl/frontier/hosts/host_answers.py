"""Changes of a host after an answer: its pace, and what is known of its robots.txt. Pure."""

from dataclasses import replace

from schemas.crawl import Outcome, PageFetched
from streams.crawl.frontier.hosts.host_state import Host, Robots
from streams.crawl.frontier.policy import SECOND, Policy, backoff_micros, deferral_micros

BLOCKED_AFTER_FAILURES = 5
"""Minimum number of failures in a row of a host that counts as blocked until its backoff ends."""
UNAVAILABLE_SECONDS = 30 * 86_400
"""Time after which a robots.txt that can't be read counts as if there were none (seconds)."""

_TROUBLE: frozenset[Outcome] = frozenset({"network_error", "timeout", "server_error", "rate_limited"})
"""Outcomes that slow a host down."""


def update_pace(host: Host, event: PageFetched, policy: Policy, now: int, random: float, retry_after: float) -> None:
    """Set when the host may be asked again: after its delay, the time that it asks for, or a backoff in trouble.

    A server may ask for time with any answer, as with a redirect (RFC 9110, section 10.2.3).
    """
    host.failures = host.failures + 1 if is_trouble(event.outcome) else 0
    wait = max(host.delay(policy, random), round(retry_after * SECOND))
    if host.failures:
        wait = max(wait, backoff_micros(host.failures, random))
    host.next_at = max(host.next_at, now + wait)


def is_trouble(outcome: str | None) -> bool:
    """Return whether an outcome slows its host down."""
    return outcome in _TROUBLE


def apply_robots_failure(before: Robots, at: int, detail: str, policy: Policy, *, final: bool = False) -> Robots:
    """Return the state of robots.txt after a failed attempt: unknown, or unreachable after the last attempt.

    A host that was unreachable before gets one attempt each time. A file that servers could not deliver for 30 days
    counts as unavailable: everything is allowed (RFC 9309, section 2.3.1.4). A final failure never does.
    """
    failures = before.failures + 1
    if failures < policy.max_attempts and not final and not before.outages:
        return replace(before, status="unknown", failures=failures, detail=detail)
    since = before.unreachable_since or at
    if not final and at - since >= UNAVAILABLE_SECONDS * SECOND:
        return Robots("allowed", fetched_at=at, detail=detail, unreachable_since=since)
    return Robots("unreachable", fetched_at=at, detail=detail, outages=before.outages + 1, unreachable_since=since)


def defer(host: Host, now: int, random: float) -> None:
    """Defer an unreachable host, longer each time. Its queue stays as it is."""
    host.next_at = max(host.next_at, now + deferral_micros(host.robots.outages, random))
