"""The quality of a page, from the parts of its record: what its text says, and what the stages after it found. Pure.

    part        from the stage   it falls
    (nine)      normalize        with signs of texts that are made for search engines (`streams.pages.quality`)
    copies      dedup            with the similarity to an older page of another registrable domain
    statements  statements       with a smaller share of statements that a reader can read
    age         dedup            for a text that Riffle has seen for less than a month, by a little

The quality is the product of all parts. A part that is not known counts as 1.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # The processes that read pages use the numbers below, and a record would load all schemas there.
    from streams.stores.page_record import PageRecord

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


COPIES = (0.5, 1.0)
"""Similarities to an older page elsewhere: no objection up to the first, 0 from the second on. Most of what is above
0.8 is a duplicate, and not in the index at all."""
STATEMENTS = (0.45, -0.45)
"""Shares of sentences that can be read: no objection from the first on (5th percentile of 150 manual pages: .48), half
of the quality for none."""
FULL_AGE_DAYS = 30
NEW = 0.95
"""The part `age` of a text that was just seen: all pages of a new index have it, so it is close to 1."""
_DAY = 86_400 * 1_000_000


def page_quality(record: "PageRecord") -> dict[str, float]:
    """Return the quality of a page (`score`) and its parts, from 0 to 1. Empty if its text was not judged."""
    of_text = dict(record.normalized.quality)
    if "score" not in of_text:
        return {}
    parts = later_parts(record)
    return {**of_text, **parts, "score": combined(of_text["score"], parts)}


def later_parts(record: "PageRecord") -> dict[str, float]:
    """Return the parts that the stages after the normalizer found."""
    decided, indexed = record.deduplicated, record.indexed
    parts = {}
    if decided.copied is not None:
        parts["copies"] = copies_part(decided.copied)
    if decided.first_seen is not None and record.normalized.generation >= 0:
        parts["age"] = age_part(record.normalized.generation - decided.first_seen)
    if indexed.readable is not None:
        parts["statements"] = scale(indexed.readable, STATEMENTS)
    return {name: round(value, DIGITS) for name, value in parts.items()}


def copies_part(similarity: float) -> float:
    """Return the part of a page whose text is so similar to an older page of another domain."""
    return scale(similarity, COPIES)


def age_part(age: int) -> float:
    """Return the part of a text that was seen first this long ago (microseconds)."""
    return NEW + (1 - NEW) * min(max(age / (FULL_AGE_DAYS * _DAY), 0.0), 1.0)
