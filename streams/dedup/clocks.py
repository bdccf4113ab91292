"""Finds out that two texts of a page differ only by a clock or a date that moved with the visits. Pure.

"Server time: 12:31:04" and a bare date say nothing new if they are as much later as the visit is. A corrected date of a
concert is not. So a text needs no word that says what the time is: what counts is that all else is equal, in any
language whose dates are read (`pages.text.dates`).
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise

from streams.language.months import MONTHS, MONTHS_IN_ENGLISH, fold_name
from streams.language.relative_times import LANGUAGES, calendar_names
from streams.pages.text.dates import iso_date

CLOCK_TOLERANCE_SECONDS = 120
"""Maximum difference of a clock and of the visits (seconds): a page is made some time before it is sent."""
DATE_TOLERANCE_DAYS = 1
"""The same of a date without a time: the day begins at another time there."""
HALF_DAY_SECONDS = 43_200
"""A clock without a date may have twelve hours."""
DAY_SECONDS = 86_400
_MAX_JOINER_CHARS = 3
"""Maximum length of a word within a time, such as `at`, `um` and `de`."""
_TOKEN = re.compile(r"\d[\d:.,/-]*+|[年月日년월일]|[^\W\d_](?:[^\W\d_年月日]|[\u0900-\u0dff])*+")
_WORD = re.compile(r"[^\W\d_]++")
_NUMBER = re.compile(r"\d++")
_SIGNS = frozenset("年月日년월일")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])")


def load_names() -> None:
    """Read the names of months and days, before a process may read no file any more."""
    _names()
    _months()


def moved_with_visits(former: str, present: str, seconds: float) -> bool:
    """Return whether two texts differ only by one time, and it moved by the time between the visits (seconds)."""
    (before, times, behind), (other_before, other_times, other_behind) = _split(former), _split(present)
    if (before, behind) != (other_before, other_behind) or not (times and other_times):
        return False
    return _have_moved(times, other_times, seconds)


def _have_moved(former: str, present: str, seconds: float) -> bool:
    for day_first in (False, True):
        date, other_date = (_date(text, day_first=day_first) for text in (former, present))
        if date and other_date and _is_as_much_later(date, other_date, seconds):
            return True
    if date or other_date:
        return False
    clock, other = _seconds_of_day(former), _seconds_of_day(present)
    if clock is None or other is None:
        return False
    error = (other - clock - seconds) % HALF_DAY_SECONDS
    return min(error, HALF_DAY_SECONDS - error) <= CLOCK_TOLERANCE_SECONDS


def _date(text: str, *, day_first: bool) -> str:
    """Return a date in any of the languages, as ISO 8601: with English months, or by its numbers."""
    if found := iso_date(text, day_first=day_first):
        return found
    months = _months()
    english = _TOKEN.sub(
        lambda token: MONTHS_IN_ENGLISH[n - 1] if (n := months.get(fold_name(token[0]))) else token[0], text
    )
    numbers = _NUMBER.findall(text)
    return iso_date(english, day_first=day_first) or iso_date("/".join(numbers), day_first=day_first)


def _is_as_much_later(former: str, present: str, seconds: float) -> bool:
    error = abs((_moment(present) - _moment(former)).total_seconds() - seconds)
    return error <= (CLOCK_TOLERANCE_SECONDS if "T" in former else DATE_TOLERANCE_DAYS * DAY_SECONDS)


def _moment(iso: str) -> datetime:
    found = datetime.fromisoformat(iso)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _seconds_of_day(text: str) -> int | None:
    found = _CLOCK.search(text)
    return (
        sum(int(part or 0) * unit for part, unit in zip(found.groups(), (3_600, 60, 1), strict=True)) if found else None
    )


def _split(text: str) -> tuple[str, str, str]:
    """Return a text as what stands before its time, the time, and what stands behind it; no time if it has several."""
    places = [found.span() for found in _TOKEN.finditer(text) if _is_of_time(found[0])]
    if not places:
        return text, "", ""
    start, end = places[0][0], places[-1][1]
    joiners = [text[one[1] : other[0]] for one, other in pairwise(places)]
    if any(len(word) > _MAX_JOINER_CHARS for joiner in joiners for word in _WORD.findall(joiner)):
        return text, "", ""
    return text[:start], text[start:end], text[end:]


def _is_of_time(token: str) -> bool:
    return token[0].isdecimal() or fold_name(token) in _names()


@cache
def _months() -> Mapping[str, int]:
    """Return the number of each month by its name of one word, folded, in the languages of CLDR here."""
    from babel.dates import get_month_names

    tables = [get_month_names(width, locale=language) for language in LANGUAGES for width in ("wide", "abbreviated")]
    return {fold_name(name): number for table in tables for number, name in table.items() if " " not in name}


@cache
def _names() -> frozenset[str]:
    """Return the names of months and days and halves of the day in all languages, folded, with signs such as `年`."""
    from babel.dates import get_period_names

    names = [name for language in LANGUAGES for name in calendar_names(language)]
    names += [get_period_names(locale=language).get(half, half) for language in LANGUAGES for half in ("am", "pm")]
    return frozenset({fold_name(word) for name in names for word in name.split()} | MONTHS.keys() | _SIGNS)
