"""Dates as servers, sitemaps, feeds and robots directives write them. Pure.

    W3C date and time    2026, 2026-03, 2026-03-04, 2026-03-04T10:20+01:00, also with a space in place of the T
    RFC 822, RFC 850     Wed, 04 Mar 2026 10:20:00 GMT; Wednesday, 04-Mar-26 10:20:00 GMT
    any other form       Mar 4, 2026; 4 March 2026 3pm EST (only `parse_any_date`: it is slow)

A date without a time zone is in UTC. A date without a time is the end of its day, and one without a day is the begin of
its month or year: a file that is read often must not say of an old page that it changed since the last visit.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from streams.language.time_zones import OFFSETS

MAX_CHARS = 64
"""Maximum length of a date (characters)."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_W3C = re.compile(
    r"(?P<year>\d{4})(?:[-/](?P<month>\d{1,2})(?:[-/](?P<day>\d{1,2})"
    r"(?:(?:T|\s{1,4})(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,20}))?)?"
    r"\s?(?:Z|UTC|GMT|(?P<sign>[+-])(?P<hours>\d{2}):?(?P<minutes>\d{2})?)?)?)?)?",
    re.IGNORECASE | re.ASCII,
)
_WITHOUT_DAY = re.compile(r"\d{4}(?:[-/]\d{1,2})?", re.ASCII)


def parse_date(text: str) -> datetime | None:
    """Return the time of a W3C date, or of one by RFC 822 or RFC 850; None for other forms."""
    text = text.strip()
    if len(text) > MAX_CHARS:
        return None
    if found := _W3C.fullmatch(text):
        return _from_parts(found)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            moment = read(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def parse_any_date(text: str) -> datetime | None:
    """Return the time of a date in any form that has a day, a month and a year; None if there are two readings.

    03/04/2026 has two: the third of April and the fourth of March.
    """
    if len(text) > MAX_CHARS or _WITHOUT_DAY.fullmatch(text.strip()):
        return None
    if (known := parse_date(text)) is not None:
        return known
    from dateutil import parser  # imported late: few pages have such a date

    zones = {name: _seconds(offset) for name, offset in OFFSETS.items()}
    found = set()
    for day_first, missing in ((False, datetime(2001, 1, 1)), (True, datetime(2002, 2, 2))):
        try:
            found.add(parser.parse(text.upper(), default=missing, dayfirst=day_first, tzinfos=zones))
        except (ValueError, OverflowError, TypeError, AttributeError):
            return None
    if len(found) != 1:
        return None
    moment: datetime = found.pop()
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _from_parts(found: re.Match[str]) -> datetime | None:
    """Return the time of a W3C date; None if there is no such day, time or zone."""
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = found.groups()
    date = f"{year}-{int(month or 1):02}-{int(day or 1):02}"
    whole = "23:59:59" if day else "00:00:00"
    clock = f"{int(hour):02}:{minute}:{min(int(second or 0), 59):02}" if hour else whole
    text = f"{date}T{clock}.{(fraction or '')[:6]:0<6}{sign or '+'}{hours or '00'}:{minutes or '00'}"
    try:
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _seconds(offset: str) -> int:
    return (1 if offset[0] == "+" else -1) * (int(offset[1:3]) * 3_600 + int(offset[4:]) * 60)
