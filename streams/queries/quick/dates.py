"""Dates and days between them: `days until 24 December 2026`, `2026-11-24 + 90 days`. Pure: the clock is given."""

import re
from datetime import date, datetime, timedelta

from dateutil.relativedelta import relativedelta

from streams.language.months import ENGLISH_MONTHS, date_words
from streams.plain_text import DateText, counted_message, message
from streams.queries.quick.model import QuickCheck

MAX_CHARS = 100
MAX_AMOUNT = 100_000
"""Maximum number of days, weeks, months or years that are added."""

_DATE = (
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"|[0-9]{1,2}(?:st|nd|rd|th)? [a-z]{3,9}\.?,?(?: [0-9]{4})?"
    r"|[a-z]{3,9} [0-9]{1,2}(?:st|nd|rd|th)?,?(?: [0-9]{4})?"
    r"|[a-z' ]{3,15}"
)
_UNIT = r"(?P<unit>day|week|month|year)s?"
_LEAD = r"(?:how many )?"
_UNTIL = re.compile(
    rf"{_LEAD}(?P<unit>day|week)s? (?:are there |is it )?(?P<way>until|till|to|before|since) (?P<date>{_DATE})\s*\??",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    rf"{_LEAD}(?P<unit>day|week)s? (?:are there )?"
    rf"(?:between (?P<first>{_DATE}) and|from (?P<start>{_DATE}) (?:to|until)) (?P<second>{_DATE})\s*\??",
    re.IGNORECASE,
)
_SHIFTED = re.compile(
    rf"(?P<date>{_DATE}) ?(?P<sign>[-+−]|plus|minus) ?(?P<amount>[0-9]{{1,6}}) {_UNIT}", re.IGNORECASE
)
_FROM = re.compile(rf"(?P<amount>[0-9]{{1,6}}) {_UNIT} (?P<way>from|after|before) (?P<date>{_DATE})", re.IGNORECASE)
_AGO = re.compile(
    rf"(?:(?:what )?date |what date (?:was|is) )?(?P<amount>[0-9]{{1,6}}) {_UNIT} ago\s*\??", re.IGNORECASE
)
_WEEKDAY = re.compile(
    rf"(?:what|which) (?:day(?: of the week)?|weekday) (?:is|was|will be) (?P<date>{_DATE})\s*\??", re.IGNORECASE
)
_DAYS_OF_YEAR = {
    "christmas": (12, 25),
    "christmas eve": (12, 24),
    "new year": (1, 1),
    "new year's day": (1, 1),
    "halloween": (10, 31),
}
_ISO = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_WORDS = re.compile(r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)? (?P<month>[a-z]+)\.?,?(?: (?P<year>[0-9]{4}))?")
_WORDS_MONTH_FIRST = re.compile(r"(?P<month>[a-z]+)\.? (?P<day>[0-9]{1,2})(?:st|nd|rd|th)?,?(?: (?P<year>[0-9]{4}))?")


def find_date(text: str, now: datetime) -> QuickCheck | None:
    """Return the date or the number of days that the text asks for, else None."""
    if len(text) > MAX_CHARS:
        return None
    today = now.date()
    try:
        if match := _UNTIL.fullmatch(text):
            return _count_from_today(match, today)
        if match := _BETWEEN.fullmatch(text):
            return _count_between(match, today)
        if match := _SHIFTED.fullmatch(text) or _FROM.fullmatch(text) or _AGO.fullmatch(text):
            return _shift(match, today)
        if match := _WEEKDAY.fullmatch(text):
            return _weekday(match, today)
    except (ValueError, OverflowError):  # the 30th of February, the year 12026
        return None
    return None


def _count_from_today(match: re.Match[str], today: date) -> QuickCheck | None:
    is_since = match["way"].lower() == "since"
    end = read_date(match["date"], today, is_past=is_since)
    if end is None or (end == today and match["date"].lower() in ("today", "now")):
        return None
    first, last = (end, today) if is_since else (today, end)
    return _days(first, last, match["unit"], _from_to(first, last))


def _count_between(match: re.Match[str], today: date) -> QuickCheck | None:
    first, last = read_date(match["first"] or match["start"], today), read_date(match["second"], today)
    if first is None or last is None:
        return None
    return _days(first, last, match["unit"], _from_to(first, last))


def _days(first: date, last: date, unit: str, asked: str) -> QuickCheck:
    days = (last - first).days
    words = _amount(abs(days), "day")
    if unit.lower() == "week":
        weeks, rest = divmod(abs(days), 7)
        words = _amount(weeks, "week")
        if rest:
            words = message("%(weeks)s and %(days)s", weeks=words, days=_amount(rest, "day"))
    if days < 0:
        words = message("−%(amount)s", amount=words)
    note = message("The second date comes first.") if days < 0 else ""
    return QuickCheck(kind="date", asked=asked, answer=words, value=str(days), note=note)


def _shift(match: re.Match[str], today: date) -> QuickCheck | None:
    given = match.groupdict()
    start = read_date(given["date"], today) if given.get("date") else today
    amount = int(match["amount"])
    if start is None or amount > MAX_AMOUNT:
        return None
    back = given.get("way") == "before" or given.get("sign") in ("-", "−", "minus") or not given.get("date")
    delta = relativedelta(**{f"{match['unit'].lower()}s": amount})
    found = start - delta if back else start + delta
    parts = {"date": _named(start), "amount": _amount(amount, match["unit"].lower())}
    asked = message("%(date)s − %(amount)s", **parts) if back else message("%(date)s + %(amount)s", **parts)
    return QuickCheck(
        kind="date",
        asked=asked,
        answer=message("%(date)s", date=DateText(f"{found:%A}, {_named(found)}", found.isoformat(), "with weekday")),
        value=found.isoformat(),
    )


def _weekday(match: re.Match[str], today: date) -> QuickCheck | None:
    day = read_date(match["date"], today)
    if day is None:
        return None
    weekday = message("%(date)s", date=DateText(f"{day:%A}", day.isoformat(), "weekday"))
    return QuickCheck(kind="date", asked=message("%(date)s", date=_named(day)), answer=weekday, value=day.isoformat())


def read_date(text: str, today: date, *, is_past: bool = False) -> date | None:
    """Return the date; without a year the next one, or the last one if `is_past`. Raises ValueError for no date."""
    words = " ".join(text.lower().split())
    if words in ("today", "now"):
        return today
    if words == "tomorrow":
        return today + timedelta(days=1)
    if _ISO.fullmatch(words):
        return date(*map(int, words.split("-")))
    if words in _DAYS_OF_YEAR:
        return _in_year(*_DAYS_OF_YEAR[words], None, today, is_past)
    match = _WORDS.fullmatch(words) or _WORDS_MONTH_FIRST.fullmatch(words)
    if match is None or match["month"] not in ENGLISH_MONTHS:
        return None
    return _in_year(ENGLISH_MONTHS[match["month"]], int(match["day"]), match["year"], today, is_past)


def _in_year(month: int, day: int, year: str | None, today: date, is_past: bool) -> date:
    if year:
        return date(int(year), month, day)
    found = date(today.year, month, day)
    if is_past:
        return found if found <= today else date(today.year - 1, month, day)
    return found if found >= today else date(today.year + 1, month, day)


def _named(day: date) -> DateText:
    return DateText(date_words(day.year, day.month, day.day), day.isoformat())


def _from_to(first: date, last: date) -> str:
    return message("From %(first)s to %(last)s", first=_named(first), last=_named(last))


def _amount(number: int, unit: str) -> str:
    match unit:
        case "day":
            return counted_message("%(num)s day", "%(num)s days", number)
        case "week":
            return counted_message("%(num)s week", "%(num)s weeks", number)
        case "month":
            return counted_message("%(num)s month", "%(num)s months", number)
    return counted_message("%(num)s year", "%(num)s years", number)
