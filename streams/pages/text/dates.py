"""Reads the dates that people and machines write, as ISO 8601, with the time of day and the zone if they are given."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from streams.language.months import MONTHS, fold_name
from streams.language.time_zones import OFFSETS

_OFFSET = re.compile(r"\s*((?i:UTC|GMT)?)\s?([+\u2212-])(\d{1,2})(?::?(\d{2}))?(?![\d:])")
_ZONE = re.compile(rf"\s*\(?((?i:Z|UTC|GMT)|{'|'.join(OFFSETS)})\b")
"""A time zone by its name. All but UTC, GMT and Z need capitals: est is a word in French."""
_CLOCK = re.compile(
    r"(?:[Tt]|,?\s+(?:(?:at|um|à|kl\.?|@)\s+)?|(?<=[日일号號]))(오[전후]|[上下]午|午[前後])?\s?"
    r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?!\d)(?:\s?([AaPp])\.?[Mm]\b\.?)?"
)
_FURTHEST_EAST = 14 * 60
_FURTHEST_WEST = 12 * 60
"""Maximum offsets from UTC (minutes)."""
_AFTERNOON = frozenset({"p", "P", "오후", "下午", "午後"})
_DAY = r"(\d{1,2})"
_YEAR = r"((?:19|20)\d{2})(?!\d)"
_ANY_YEAR = r"((?:19|2[0456])\d{2})(?!\d)"
"""A year of the common or the Buddhist era."""
_WORD = r"([^\W\d_][^\s\d,،/()-]{1,24})"
"""A word that may be a month's name. It is looked up, so that one pattern covers all languages."""
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_COMPACT = re.compile(r"((?:19|20)\d{2})(0[1-9]|1[0-2])([0-2]\d|3[01])$")
_COMPACT_TIME = re.compile(
    r"((?:19|20)\d{2})(0[1-9]|1[0-2])([0-2]\d|3[01])T?([01]\d|2[0-3])([0-5]\d)([0-5]\d)?(?:[.,]\d+)?(?=$|\s*[Zz+-])"
)
_MONTH_FIRST = re.compile(
    rf"(?<![^\W\d_]){_WORD}[\s./-]*(?:the\s+)?{_DAY}(?:st|nd|rd|th)?(?:,?\s+(?:de\s+)?|[,/-]){_YEAR}", re.IGNORECASE
)
_DAY_FIRST = re.compile(
    rf"(?<![a-z\d])(?<!\d[:.]){_DAY}(?:st|nd|rd|th|er|\.?[eaoªº°](?=\s)|η|-?го)?\.?[\s/-]*(?:del?\s+|of\s+|d['’])?{_WORD}"
    rf"[\s,،/-]*(?:del?\s+|of\s+|พ\.ศ\.\s*)?{_ANY_YEAR}",
    re.IGNORECASE,
)
_YEAR_FIRST = re.compile(
    rf"(?<!\d){_YEAR}(?:\s?[年년]\s?{_DAY}\s?[月월]\s?{_DAY}(?:\s?[日일号號])?|[/.-]{_DAY}[/.-]{_DAY}\b|\.\s{_DAY}\.\s{_DAY}\b)"
)
_YEAR_FIRST_NAMED = re.compile(rf"(?<!\d){_YEAR}[.,]?[\s/-]+{_WORD}[\s/-]*{_DAY}(?![\d:])\.?")
_NAMED = ((_MONTH_FIRST, (3, 1, 2)), (_DAY_FIRST, (3, 2, 1)), (_YEAR_FIRST_NAMED, (1, 2, 3)))
"""Patterns with a month's name, each with the numbers of its groups for year, month and day."""
_NUMBERS = re.compile(rf"(?<![\d/.-]){_DAY}([/.-]){_DAY}\2{_YEAR}")
_CTIME = re.compile(
    rf"(?<![^\W\d_])([^\W\d_]{{3,24}}+)\s++{_DAY}\s++(\d\d:\d\d:\d\d)\s++(?:([A-Z]{{1,5}}|[+-]\d{{4}})\s++)?{_YEAR}"
)
"""The form of C's ctime, of mail archives and logs: `Tue Mar  5 14:22:31 CET 2013`."""
_FOUR_DIGITS = re.compile(r"\d{4}")
"""A quick check: each date has four digits in a row, and most texts have none."""
_TIMESTAMP = re.compile(r"\d{10}(?:\d{3})?")
"""Seconds or milliseconds since 1970."""
_AS_ASCII = {
    first + digit: str(digit) for first in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10) for digit in range(10)
} | dict.fromkeys([0x200E, 0x200F, 0x61C], "")
"""Digits of other scripts as ASCII digits. Marks of writing direction are removed."""
_THAI = re.compile("[ก-๛]")
_BUDDHIST = 543
EARLIEST_YEAR = 1990
LATEST_YEAR = 2100
MAX_CHARS = 120
"""Maximum length of a text that is searched for a date (characters)."""


def iso_date(text: str, *, day_first: bool = False) -> str:
    """Return the first date in a short text as `2025-03-01` or `2025-03-01T10:00:00+01:00`; empty if there is none.

    `day_first`: whether `05/04/2024` is in April.
    """
    text = text.strip()[:MAX_CHARS]
    if not _FOUR_DIGITS.search(text):
        return ""
    if not text.isascii():
        text = text.translate(_AS_ASCII)
    if found := _ISO.search(text):
        return _add_time(_format_if_valid(found[1], found[2], found[3]), text, found.end())
    if found := _COMPACT.match(text):
        return _add_time(_format_if_valid(found[1], found[2], found[3]), text, found.end())
    if found := _COMPACT_TIME.match(text):
        date = _format_if_valid(found[1], found[2], found[3])
        return f"{date}T{found[4]}:{found[5]}:{found[6] or '00'}{_zone(text, found.end())}" if date else ""
    if _TIMESTAMP.fullmatch(text):
        return _from_timestamp(int(text[:10]))
    return _find_ctime(text) or _find_named(text) or _find_numbered(text, day_first)


def order_in(texts: Iterable[str]) -> bool | None:
    """Return whether dates in numbers have the day first, by one that can be read in one way only; None without one."""
    for text in texts:
        for found in _NUMBERS.finditer(text):
            first, separator, second, _ = found.groups()
            if separator != "." and (int(first) > 12) != (int(second) > 12):
                return int(first) > 12
    return None


def is_ambiguous(text: str) -> bool:
    """Return whether a text has a date in numbers whose day may be its month."""
    found = _NUMBERS.search(text)
    return found is not None and found[2] != "." and int(found[1]) <= 12 and int(found[3]) <= 12


def _find_ctime(text: str) -> str:
    found = _CTIME.search(text)
    month = MONTHS.get(fold_name(found[1])) if found else None
    if not found or not month:
        return ""
    date = _format_if_valid(found[5], month, found[2])
    zone = found[4] or ""
    return _add_time(date, f" {found[3]} {zone if zone[:1] not in '+-' or not zone else 'UTC' + zone}", 0)


def _find_named(text: str) -> str:
    """Return the first date with a month's name, before or behind the day."""
    for pattern, (year, month, day) in _NAMED:
        for found in pattern.finditer(text):
            if number := MONTHS.get(fold_name(found[month])):
                date = _format_if_valid(_common_year(found[year], found[month]), number, found[day])
                return _add_time(date, text, found.end())
    return ""


def _find_numbered(text: str, day_first: bool) -> str:
    if found := _YEAR_FIRST.search(text):
        year, month, day = (part for part in found.groups() if part)
        return _add_time(_format_if_valid(year, month, day), text, found.end())
    if found := _NUMBERS.search(text):
        first, separator, second, year = found.groups()
        # 31/12/2025 and 31.12.2025 are days first; 12/31/2025 is a month first.
        is_first = separator == "." or int(first) > 12 or (day_first and int(second) <= 12)
        day, month = (first, second) if is_first else (second, first)
        return _add_time(_format_if_valid(year, month, day), text, found.end())
    return ""


def _common_year(year: str, month: str) -> int:
    """Convert years of the Buddhist era, used in Thailand: a Thai month, and a year after 2400."""
    return int(year) - _BUDDHIST if _THAI.match(month) and year > "2400" else int(year)


def _add_time(date: str, text: str, end: int) -> str:
    """Return the date with the time of day behind it, if there is one."""
    found = _CLOCK.match(text, end) if date else None
    if found is None:
        return date
    hour, minute, second = int(found[2]), int(found[3]), int(found[4] or 0)
    half = found[1] or found[5]
    if half and 1 <= hour <= 12:
        hour = hour % 12 + 12 * (half in _AFTERNOON)
    if hour > 23 or minute > 59 or second > 59:
        return date
    return f"{date}T{hour:02}:{minute:02}:{second:02}{_zone(text, found.end())}"


def _zone(text: str, at: int) -> str:
    """Return the time zone at this position; empty if there is none, or if it does not exist."""
    if found := _OFFSET.match(text, at):
        base, sign, hours, minutes = found.groups()
        # An hour without minutes is a zone only behind UTC or right behind the time: in "10:00 -12 comments" it is
        # none.
        if not (base or minutes or (len(hours) == 2 and found.start(2) == at)):
            return ""
        past = int(hours) * 60 + int(minutes or 0)
        if past % 15 or past > (_FURTHEST_EAST if sign == "+" else _FURTHEST_WEST):
            return ""
        return f"{'+' if sign == '+' else '-'}{past // 60:02}:{past % 60:02}"
    return OFFSETS[found[1].upper()] if (found := _ZONE.match(text, at)) else ""


def _from_timestamp(seconds: int) -> str:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return time.isoformat() if EARLIEST_YEAR <= time.year <= LATEST_YEAR else ""


def _format_if_valid(year: int | str, month: int | str, day: int | str) -> str:
    try:
        date = datetime(int(year), int(month), int(day), tzinfo=UTC)
    except ValueError:
        return ""
    return f"{date:%Y-%m-%d}" if EARLIEST_YEAR <= date.year <= LATEST_YEAR else ""
