"""All quick checks of a query, one after the other. Pure: the clock is given.

Each check reads a short text with patterns of linear time and calculates with limited numbers, so that all of them take
a few milliseconds at most, whatever was typed.
"""

from datetime import datetime

from streams.queries.quick import units
from streams.queries.quick.calculator import calculate
from streams.queries.quick.dates import find_date
from streams.queries.quick.model import QuickCheck
from streams.queries.quick.times import find_time, zones

MAX_CHARS = 120
"""Maximum length of a query that is checked. A longer one asks for something else."""


def check_query(text: str, now: datetime) -> QuickCheck | None:
    """Return the answer that follows from the query by itself, or None. `now` has its time zone."""
    if len(text) > MAX_CHARS:
        return None
    text = " ".join(text.split()).replace("’", "'")
    return units.convert(text) or find_time(text, now) or find_date(text, now) or calculate(text) if text else None


def warm_up() -> None:
    """Load the units and the time zones, which the first check would wait for."""
    units.warm_up()
    zones()
