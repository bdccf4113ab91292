"""The quality of a host, from its pages and from the hosts that link to it, and the budget that follows. Pure."""

import math
from dataclasses import dataclass, field

from streams.stores.rows import Row

MIN_PAGES = 10
"""Number of pages that a new host counts as if they were of middle quality: a few pages say little."""
MIDDLE = 0.6
"""The quality of a host of which nothing is known."""
FULL_RANK = 1_000.0
"""Rank of a host that gains all that links can give."""
RANK_GAIN = 0.2
"""Maximum gain of a host by the hosts that link to it."""


@dataclass(frozen=True, slots=True)
class HostRecord:
    """The counts of a host. All numbers are of pages that were fetched and settled.

    All but one are of pages that a person, a sitemap or the site itself led to: another site can't lower the quality.
    """

    settled: int = 0
    unique: int = 0
    """Pages that are in the index, or would be."""
    quality_sum: float = 0.0
    """Sum of the quality of the unique pages."""
    rank: float = 1.0
    """Its rank by links: 1 without in-links."""
    of_strangers: int = 0
    """Pages that only other sites led to: they are no part of the quality."""
    stored: Row | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class HostQuality:
    """The quality of a host from 0 to 1, with its parts. A host with many duplicates, failures or pages of low quality
    has a low one.
    """

    score: float
    """Sum of the next two, 1 at most."""
    of_pages: float
    """Quality of its unique pages, as a share of all its pages: a few pages say little."""
    of_links: float
    """Gain by the hosts that link to it."""
    settled: int
    unique: int
    mean_quality: float | None
    """Mean quality of its unique pages. None: it has none."""
    rank: float
    budget_factor: float
    """Factor of the number of pages that a crawl may fetch."""


def judge_host(host: HostRecord) -> HostQuality:
    pages = (host.quality_sum + MIN_PAGES * MIDDLE) / (max(host.settled, host.unique) + MIN_PAGES)
    links = RANK_GAIN * standing(host.rank)
    score = min(max(pages, 0.0) + links, 1.0)
    mean = host.quality_sum / host.unique if host.unique else None
    return HostQuality(score, pages, links, host.settled, host.unique, mean, host.rank, budget_factor(score))


def host_quality(host: HostRecord) -> float:
    """Return the quality of a host from 0 to 1."""
    return judge_host(host).score


def describe_host_quality(quality: HostQuality) -> tuple[tuple[str, str], ...]:
    """Return the quality of a host and its parts, each with its name."""
    mean = "none" if quality.mean_quality is None else _percent(quality.mean_quality)
    return (
        ("Quality of the host", _percent(quality.score)),
        ("Quality of its pages", f"{_percent(quality.of_pages)}, from {quality.settled + MIN_PAGES:,} pages"),
        ("Unique pages", f"{quality.unique:,} of {quality.settled:,} settled"),
        ("Mean quality of the unique pages", mean),
        ("Gain by sites that link to it", f"{_percent(quality.of_links)}, by a rank of {quality.rank:.1f}"),
        ("Budget of pages", f"{quality.budget_factor:.2f} times the usual"),
    )


def _percent(value: float) -> str:
    return f"{round(100 * value)} of 100"


def standing(rank: float) -> float:
    """Return the rank of a host on a logarithmic scale: 0 without in-links, 1 from FULL_RANK on."""
    return min(math.log(max(rank, 1.0)) / math.log(FULL_RANK), 1.0)


def budget_factor(quality: float) -> float:
    """Return by how much the budget of a host is multiplied: 1 for a new host, 0.1 for the worst, 2.5 for the best."""
    if quality <= MIDDLE:
        return 0.1 + 0.9 * max(quality, 0.0) / MIDDLE
    return 1.0 + 1.5 * (min(quality, 1.0) - MIDDLE) / (1.0 - MIDDLE)
