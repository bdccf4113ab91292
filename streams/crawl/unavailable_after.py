"""The date after which a page asked not to be shown: the directive `unavailable_after`. Pure."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[t ][0-9:.+z-]{1,20})?")
_WEEKDAY = re.compile(
    r"(unavailable_after\s{0,9}:)\s{0,9}(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\s{0,9}[,\s]"
)
"""The weekday before a date by RFC 822 or RFC 850. The comma after it divides no directives."""


def without_weekdays(directives: str) -> str:
    """Return directives (in lower case) with dates that have no weekday, so that each comma divides directives."""
    return _WEEKDAY.sub(r"\1", directives)


def is_expired(found: Iterable[str], at: datetime) -> bool:
    """Return whether the page asked not to be shown after a time that is past (`unavailable_after`)."""
    moments = (_moment(each.partition(":")[2]) for each in found if each.startswith("unavailable_after:"))
    return any(moment is not None and moment <= at for moment in moments)


def _moment(text: str) -> datetime | None:
    """Return the time of a date by ISO 8601, RFC 822 or RFC 850; None for other forms."""
    try:
        moment = datetime.fromisoformat(text.upper()) if _ISO_DATE.fullmatch(text) else parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
