"""The generations of a page that may be in the index, by the page's records. Pure."""

from streams.stores.page_record import PageRecord
from streams.stores.removals import is_held_back

ALL_GENERATIONS = 1 << 62
"""A number above every generation."""


def superseded_below(record: PageRecord, generation: int) -> int | None:
    """Return the oldest generation whose points stay in the index; None if `generation` is still the newest.

    A newer page keeps only its own points, a removal only the points of later fetches, and a removal on request none.
    """
    if is_held_back(record):
        return ALL_GENERATIONS
    removed, indexed = record.removed.generation, record.indexed.generation
    below = max(removed + 1 if removed >= generation else 0, indexed if indexed > generation else 0)
    return below or None
