"""The record of a host's sitemaps: which of their hints (`lastmod`) and of their new pages count. Pure.

Hints count as far as they were right before. New pages count up to a number in a day.

A hint brings the next visit of a page forward. The visit then says whether the hint was right. So a site that says
"now" for all pages loses its credit within a day. After that, one hint in TRIAL_SHARE is tried: it may be right again.
"""

import math
from dataclasses import dataclass, field

from streams.stores.rows import Row

MIN_RIGHT_SHARE = 0.5
"""Minimum share of right hints of a host whose hints count."""
DAILY_HINTS = 20
"""Maximum number of hints of a host in a day that count though none was right yet."""
HINTS_PER_RIGHT = 10
"""Further hints that count in a day, for each hint that was right before."""
TRIAL_SHARE = 50
"""One in N hints of a host without credit is tried."""
MAX_JUDGED = 400
"""Number of judged hints at which both counts are halved: a host may change its ways."""
PROVEN_RIGHT = 10
"""Minimum number of right hints of a host whose sitemaps are read more often."""
MAX_FEEDS = 8
"""Maximum number of feeds of a host that its pages name."""
MAX_SITEMAPS = 16
"""Maximum number of sitemaps of a host to which only links lead: one may name more pages than are taken in a day. It is
also the maximum number of sitemaps and feeds of a host that other hosts name."""
MIN_EXPECTED = 3.0
"""Minimum number of changes that stated intervals let a host's visits expect, before such intervals count."""
MAX_EXPECTED = 100.0
"""Number of expected changes at which both counts are halved."""
MAX_RATIO = 2.0
"""Maximum ratio between expected and found changes of a host whose stated intervals count."""
DAY_SECONDS = 86_400


@dataclass(slots=True)
class ChangeHints:
    """One host's record of hints."""

    right: int = 0
    wrong: int = 0
    day: int = 0
    """The last day on which a hint counted, in days since 1970."""
    on_day: int = 0
    """Number of hints that counted on that day."""
    new_day: int = 0
    """The last day on which a new page was taken from a sitemap, in days since 1970."""
    new_on_day: int = 0
    """Number of new pages that were taken on that day."""
    feeds: int = 0
    """Number of feeds that pages of the host named and that are read."""
    sitemaps: int = 0
    """Number of sitemaps of the host that are read though only links led to it."""
    of_others: int = 0
    """Number of sitemaps and feeds of the host that are read since another host named them."""
    expected: float = 0.0
    """Number of visits that find a change if the stated intervals (`changefreq`) are true, of all such visits."""
    found: float = 0.0
    """Number of these visits that found a change."""
    stored: Row | None = field(default=None, repr=False, compare=False)

    def take(self, page: int, now_seconds: int) -> bool:
        """Return whether a hint counts, and note that it does. `page` is any number of the page."""
        day = now_seconds // DAY_SECONDS
        if day != self.day:
            self.day, self.on_day = day, 0
        is_trusted = self.share >= MIN_RIGHT_SHARE
        limit = DAILY_HINTS + (HINTS_PER_RIGHT * self.right if is_trusted else 0)
        if self.on_day >= limit or not (is_trusted or page % TRIAL_SHARE == 0):
            return False
        self.on_day += 1
        return True

    def take_new_page(self, now_seconds: int, limit: int) -> bool:
        """Return whether a new page that a sitemap names is taken: `limit` in a day. Note that it is."""
        day = now_seconds // DAY_SECONDS
        if day != self.new_day:
            self.new_day, self.new_on_day = day, 0
        if self.new_on_day >= limit:
            return False
        self.new_on_day += 1
        return True

    def take_feed(self) -> bool:
        """Return whether a feed that a page names is read, and note that it is."""
        if self.feeds >= MAX_FEEDS:
            return False
        self.feeds += 1
        return True

    def take_sitemap(self) -> bool:
        """Return whether a sitemap of a host to which only links lead is read, and note that it is."""
        if self.sitemaps >= MAX_SITEMAPS:
            return False
        self.sitemaps += 1
        return True

    def take_of_other(self) -> bool:
        """Return whether a sitemap or feed that another host names is read, and note that it is.

        It has a number of its own: no stranger uses up what the host's own robots.txt may name.
        """
        if self.of_others >= MAX_SITEMAPS:
            return False
        self.of_others += 1
        return True

    def judge(self, *, was_right: bool) -> None:
        """Count a visit that a hint brought forward."""
        self.right += was_right
        self.wrong += not was_right
        if self.right + self.wrong >= MAX_JUDGED:
            self.right, self.wrong = self.right // 2, self.wrong // 2

    def judge_interval(self, stated_seconds: int, waited_seconds: int, *, changed: bool) -> None:
        """Count a visit of a page that changes each `stated_seconds` on average, by its sitemap."""
        self.expected += 1 - math.exp(-waited_seconds / stated_seconds)
        self.found += changed
        if self.expected >= MAX_EXPECTED or self.found >= MAX_EXPECTED:
            self.expected, self.found = self.expected / 2, self.found / 2

    @property
    def state_intervals(self) -> bool:
        """True if the host's pages change about as often as its sitemaps say: half as often to twice as often."""
        return self.expected >= MIN_EXPECTED and 1 / MAX_RATIO <= self.found / self.expected <= MAX_RATIO

    @property
    def share(self) -> float:
        """The share of right hints, with one right and one wrong hint more than were seen."""
        return (self.right + 1) / (self.right + self.wrong + 2)

    @property
    def are_proven(self) -> bool:
        """True if a host's hints were right often enough that its sitemaps are worth more requests."""
        return self.right >= PROVEN_RIGHT and self.share >= MIN_RIGHT_SHARE
