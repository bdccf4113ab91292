"""The order of the hits of the vector index, the same for the real index and the one in memory."""

import math
from collections.abc import Iterable

from streams.stores.protocols import Hit

_TIE_STEPS = 1e5
"""Steps of one in which equal scores agree: engines differ in the last bits of a float32 sum."""


def in_order(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits with the best first, and equal scores ordered by id."""
    return sorted(hits, key=lambda hit: (-round_score(hit.score), hit.id))


def round_score(score: float) -> float:
    """The score in five decimal digits. `round` does the same in four times the time, 2,000 times in a search."""
    return math.floor(score * _TIE_STEPS + 0.5) / _TIE_STEPS
