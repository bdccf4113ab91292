"""The pace of requests for redirected robots.txt files: a host's robots.txt may redirect to another host. Pure.

The frontier keeps the pace of each host on the worker that owns it. A redirected robots.txt is requested for the host
that redirects, by its pace. So any number of hosts could send requests to one target without a delay between them.
Here each fetch worker keeps a delay between such requests to a target. It does not know of other workers' requests, or
of the target's own crawl delay.
"""

from math import ceil

from schemas import PageScheduled
from streams.crawl.urls import host_of

MAX_TARGETS = 10_000
"""Maximum number of targets that are remembered; the oldest ones are forgotten."""


class RobotsPace:
    """The time of the next request to each target at the earliest, by any steady clock in seconds."""

    def __init__(self, delay_seconds: float) -> None:
        self._delay_seconds = delay_seconds
        self._next: dict[str, float] = {}

    def seconds_to_wait(self, scheduled: PageScheduled, now: float) -> int:
        """Return 0 if the request may be made now, and count it; otherwise the seconds until then."""
        target = host_of(scheduled.url)
        if scheduled.purpose != "robots" or target == scheduled.host:
            return 0
        due = self._next.pop(target, now)
        self._next[target] = max(due, now + self._delay_seconds) if due <= now else due
        if len(self._next) > MAX_TARGETS:
            del self._next[next(iter(self._next))]
        return ceil(due - now)
