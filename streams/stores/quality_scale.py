"""The scale of a part of a page's quality, and the product of parts. Pure: processes that parse pages load it, too."""

from collections.abc import Mapping

FLOOR = 0.1
"""Minimum of a part in the product, so that no single part decides."""
DIGITS = 3


def combined(score: float, parts: Mapping[str, float]) -> float:
    """Return a score together with further parts."""
    for value in parts.values():
        score *= max(value, FLOOR)
    return round(score, DIGITS)


def scale(value: float, bounds: tuple[float, float]) -> float:
    """Return 1 up to the first bound, 0 from the second on, and what is between in proportion."""
    good, bad = bounds
    return min(max((value - bad) / (good - bad), 0.0), 1.0)
