"""All quick checks of a query, one after the other, and the check for a definition among the results. Pure.

Each check reads a short text with patterns of linear time and calculates with limited numbers, so that all of them take
a few milliseconds at most, whatever was typed.

For queries such as `define riffle` and `what is a riffle`, only a statement in English of the form "X is a/an/the ..."
is a definition, with exactly the words that were asked for. The answer is the statement, word for word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from streams.queries.quick import units
from streams.queries.quick.calculator import calculate
from streams.queries.quick.dates import find_date
from streams.queries.quick.model import QuickCheck
from streams.queries.quick.times import find_time, zones

MAX_CHARS = 120
"""Maximum length of a query that is checked. A longer one asks for something else."""
MAX_WORDS = 6
"""Maximum words of what is defined."""
MAX_DEFINITION_CHARS = 400
"""Maximum length of a definition: a longer one is no short answer."""

_ASKED = re.compile(
    r"""(?:define|definition\ of|meaning\ of|what(?:'s|\ is)(?:\ the\ (?:definition|meaning)\ of)?)\s+
    (?:an?\s+|the\s+)?(?P<subject>[^?"]{2,60}?)\s*\?*""",
    re.VERBOSE | re.IGNORECASE,
)


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


@dataclass(frozen=True, slots=True)
class FoundStatement:
    """A statement of a result, with its page."""

    text: str
    url: str
    title: str


def definition_subject(text: str) -> str:
    """Return the words whose definition the text asks for; empty if it asks for none."""
    match = _ASKED.fullmatch(text)
    subject = " ".join(match["subject"].split()) if match else ""
    return subject if 0 < len(subject.split()) <= MAX_WORDS else ""


def find_definition(text: str, statements: Iterable[FoundStatement]) -> QuickCheck | None:
    """Return the first statement that defines what the text asks for, else None."""
    subject = definition_subject(text)
    if not subject:
        return None
    words = r"\s+".join(map(re.escape, subject.split()))
    form = re.compile(
        rf"(?:an?\s+|the\s+)?[\"“‘']?{words}[\"”’']?(?:\s+\([^()]{{1,60}}\))?,?\s+is\s+(?:an?|the)\s+\S", re.IGNORECASE
    )
    for statement in statements:
        if len(statement.text) <= MAX_DEFINITION_CHARS and form.match(statement.text):
            return QuickCheck(
                kind="definition", asked=subject, answer=statement.text, url=statement.url, title=statement.title
            )
    return None
