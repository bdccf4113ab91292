"""The order of URLs within a host's queue: own URLs before those that strangers link to; among strangers, turns. Pure.

A URL's place in the queue is a time. Seeds, sitemaps and links from the same registrable domain get a head start: they
come before all URLs of strangers that wait for less than that time. So a stranger's links delay nobody's own pages, and
still get their turn. The URLs of each linking domain stand apart from each other by the host's delay: domains take
turns, whatever number of links one has. Their number is bounded in the queue, and in the host's budget.
"""

from schemas.crawl import PageDiscovered
from streams.crawl.domains import same_domain
from streams.crawl.host_quality import standing
from streams.crawl.urls import host_of

SECOND = 1_000_000
HEAD_START_SECONDS = 3_600
"""Head start of own URLs before the URLs of strangers (seconds)."""
DEPTH_SECONDS = 120
"""Decrease of the head start with each hop from the seed after the first one (seconds)."""
MIN_HEAD_START_SECONDS = 1_200
"""Minimum head start of own URLs (seconds)."""
MAX_WAITING = 2_000
"""Maximum number of URLs of one linking domain that wait in a host's queue."""
MAX_DOMAINS = 64
"""Maximum number of linking domains that a host remembers."""
STRANGER_SHARE = 0.2
"""Maximum share of a host's budget in a crawl that is spent on URLs that strangers link to."""
MIN_TURN = 0.25
"""Distance of two URLs of a linking domain with the highest rank, as a share of the host's delay: it has four turns."""
MIN_GAP_MICROS = 100_000
"""Minimum distance of two URLs of one linking domain in the queue (microseconds)."""


def finder_of(event: PageDiscovered) -> str:
    """Return the host of another registrable domain that led to the URL, or "" if the URL is the site's own."""
    if event.why not in ("link", "redirect", "canonical") or not event.referrer or event.depth == 0:
        return ""
    finder = host_of(event.referrer)
    return "" if same_domain(finder, event.host) else finder


def turn_gap(gap: int, rank: float) -> int:
    """Return the distance of two URLs of a linking domain (microseconds): smaller for a site that many link to."""
    return round(gap * (1 - (1 - MIN_TURN) * standing(rank)))


def head_start(depth: int) -> int:
    """Return the head start of an own URL, N hops from the seed (microseconds)."""
    return max(HEAD_START_SECONDS - max(depth - 1, 0) * DEPTH_SECONDS, MIN_HEAD_START_SECONDS) * SECOND


def strangers_budget(limit: int) -> int:
    """Return how many pages of a host's budget may be spent on URLs that strangers link to: one at least."""
    return max(round(limit * STRANGER_SHARE), 1)


class Turns:
    """The place of the last waiting URL of each linking domain, for one host."""

    def __init__(self, last: dict[str, int] | None = None) -> None:
        self.last = dict(last or {})

    def next(self, domain: str, now: int, gap: int) -> int | None:
        """Return the place of the domain's next URL. None: too many of its URLs wait."""
        gap = max(gap, MIN_GAP_MICROS)
        place = max(now, self.last.get(domain, 0) + gap)
        if place > now + MAX_WAITING * gap:
            return None
        if domain not in self.last and len(self.last) >= MAX_DOMAINS:
            self.last = {name: at for name, at in self.last.items() if at > now}
            if len(self.last) >= MAX_DOMAINS:
                del self.last[min(self.last, key=self.last.__getitem__)]
        self.last[domain] = place
        return place
