"""The weight of a suggestion: a blend of its long-term weight and of the last two hours. Pure.

So a query of the day rises, and falls again.
"""

from streams.queries.counts import RECENT_QUARTERS
from streams.stores.protocols import StoredSuggestion

RECENT_WEIGHT = 10.0
"""Weight of a count of the last two hours, in counts of former days."""


def weight_at(stored: StoredSuggestion, quarter: int) -> float:
    """Return the weight in this quarter of an hour (number since 1970): after two hours, only the long-term weight."""
    is_recent = stored.recent and quarter - stored.quarter < RECENT_QUARTERS
    return stored.weight + (RECENT_WEIGHT * stored.recent if is_recent else 0.0)
