"""The quality of a host, from its pages and from the hosts that link to it, and the budget that follows. Pure."""

import math
from dataclasses import dataclass

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
    """The counts of a host. All numbers are of pages that were fetched and settled."""

    settled: int = 0
    unique: int = 0
    """Pages that are in the index, or would be."""
    quality_sum: float = 0.0
    """Sum of the quality of the unique pages."""
    rank: float = 1.0
    """Its rank by links: 1 without in-links."""


def host_quality(host: HostRecord) -> float:
    """Return the quality of a host from 0 to 1: the quality of its unique pages, as a share of all its pages.

    A host with many duplicates, failures or pages of low quality has a low one.
    """
    pages = (host.quality_sum + MIN_PAGES * MIDDLE) / (max(host.settled, host.unique) + MIN_PAGES)
    return min(max(pages, 0.0) + RANK_GAIN * standing(host.rank), 1.0)


def standing(rank: float) -> float:
    """Return the rank of a host on a logarithmic scale: 0 without in-links, 1 from FULL_RANK on."""
    return min(math.log(max(rank, 1.0)) / math.log(FULL_RANK), 1.0)


def budget_factor(quality: float) -> float:
    """Return by how much the budget of a host is multiplied: 1 for a new host, 0.1 for the worst, 2.5 for the best."""
    if quality <= MIDDLE:
        return 0.1 + 0.9 * max(quality, 0.0) / MIDDLE
    return 1.0 + 1.5 * (min(quality, 1.0) - MIDDLE) / (1.0 - MIDDLE)
