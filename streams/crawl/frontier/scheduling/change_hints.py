"""Hints that a page changed: the `lastmod` of a sitemap. A host's hints count as far as they were right before. Pure.

A hint brings the next visit of a page forward. The visit then says whether the hint was right. So a site that says
"now" for all pages loses its credit within a day. After that, one hint in TRIAL_SHARE is tried: it may be right again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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

    def judge(self, *, was_right: bool) -> None:
        """Count a visit that a hint brought forward."""
        self.right += was_right
        self.wrong += not was_right
        if self.right + self.wrong >= MAX_JUDGED:
            self.right, self.wrong = self.right // 2, self.wrong // 2

    @property
    def share(self) -> float:
        """The share of right hints, with one right and one wrong hint more than were seen."""
        return (self.right + 1) / (self.right + self.wrong + 2)

    @property
    def are_proven(self) -> bool:
        """True if a host's hints were right often enough that its sitemaps are worth more requests."""
        return self.right >= PROVEN_RIGHT and self.share >= MIN_RIGHT_SHARE

    def row(self) -> dict[str, int]:
        """Return what is stored. It is empty for a host without hints."""
        if not self.day:
            return {}
        return {"right": self.right, "wrong": self.wrong, "day": self.day, "on_day": self.on_day}

    @classmethod
    def of_row(cls, row: Mapping[str, int] | None) -> "ChangeHints":
        known = row or {}
        return cls(*(known.get(name, 0) for name in ("right", "wrong", "day", "on_day")))
