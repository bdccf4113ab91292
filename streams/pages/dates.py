"""Dates as people and machines write them -> ISO 8601, with the zone when one is given."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

_MONTH_NAMES = (
    "jan january janvier enero januar gennaio janeiro januari;feb february février fevrier febrero "
    "februar febbraio fevereiro "
    "februari;mar march mars marzo märz maerz março marco maart mrz;apr april avril abril aprile;may mai "
    "mayo maggio maio "
    "mei;jun june juin junio juni giugno junho;jul july juillet julio juli luglio julho;aug august août aout agosto "
    "augustus;sep sept september septembre septiembre settembre setembro;oct october octobre octubre oktober ottobre "
    "outubro okt;nov november novembre noviembre novembro;dec december décembre decembre diciembre dezember dicembre "
    "dezembro dez"
)
MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split(";"), start=1) for name in names.split()}
_ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)
_COMPACT = re.compile(r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])$")
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+((?:19|20)\d{{2}})\b", re.IGNORECASE)
_DAY_FIRST = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?[.]?\s+(?:de\s+)?({_MONTH})\.?,?\s+(?:de\s+)?((?:19|20)\d{{2}})\b", re.IGNORECASE
)
_YEAR_FIRST = re.compile(r"\b((?:19|20)\d{2})[/.年-](\d{1,2})[/.月-](\d{1,2})\b")
_NUMBERS = re.compile(r"\b(\d{1,2})([/.])(\d{1,2})\2((?:19|20)\d{2})\b")
_YEAR = re.compile(r"(?:19|20)\d{2}")
_FOUR_DIGITS = re.compile(r"\d{4}")
"""In every date; most texts that are asked about have none."""
_TIMESTAMP = re.compile(r"\d{10}(?:\d{3})?")
"""Seconds or milliseconds since 1970."""
EARLIEST_YEAR = 1990
LATEST_YEAR = 2100
MAX_CHARS = 120


def iso_date(text: str) -> str:
    """The first date in a short text as `2025-03-01` or `2025-03-01T10:00:00+01:00`; empty when there is none."""
    text = text.strip()[:MAX_CHARS]
    if not _FOUR_DIGITS.search(text):
        return ""
    if found := _ISO.search(text):
        return _from_iso(found)
    if _COMPACT.match(text):
        return _checked(int(text[:4]), int(text[4:6]), int(text[6:8]))
    if _TIMESTAMP.fullmatch(text):
        return _from_timestamp(int(text[:10]))
    if found := _MONTH_FIRST.search(text):
        return _checked(int(found[3]), MONTHS[found[1].lower()], int(found[2]))
    if found := _DAY_FIRST.search(text):
        return _from_mail(text) or _checked(int(found[3]), MONTHS[found[2].lower()], int(found[1]))
    if found := _YEAR_FIRST.search(text):
        return _checked(int(found[1]), int(found[2]), int(found[3]))
    if found := _NUMBERS.search(text):
        return _from_numbers(int(found[1]), found[2], int(found[3]), int(found[4]))
    return ""


def _from_iso(found: re.Match[str]) -> str:
    date = _checked(int(found[1]), int(found[2]), int(found[3]))
    if not date or found[4] is None or int(found[4]) > 23 or int(found[5]) > 59 or int(found[6] or 0) > 59:
        return date
    zone = (found[7] or "").upper()
    if zone in ("Z", "UTC", "GMT"):
        zone = "+00:00"
    elif zone and ":" not in zone:
        zone = f"{zone[:3]}:{zone[3:]}"
    return f"{date}T{int(found[4]):02}:{found[5]}:{found[6] or '00'}{zone}"


def _from_timestamp(seconds: int) -> str:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return time.isoformat() if EARLIEST_YEAR <= time.year <= LATEST_YEAR else ""


def _from_mail(text: str) -> str:
    """RFC 5322 dates, as feeds and some meta elements have them."""
    if ":" not in text:
        return ""
    try:
        time = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return ""
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)  # noqa: UP017 - RFC 5322: -0000 is UTC of unknown origin
    return time.isoformat() if EARLIEST_YEAR <= time.year <= LATEST_YEAR else ""


def _from_numbers(first: int, separator: str, second: int, year: int) -> str:
    """31/12/2025 and 31.12.2025 are days first; 12/31/2025 is a month first, and so is 1/2/2025 with slashes."""
    if separator == "." or first > 12:
        return _checked(year, second, first)
    return _checked(year, first, second)


def _checked(year: int, month: int, day: int) -> str:
    try:
        datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return ""
    return f"{year:04}-{month:02}-{day:02}" if EARLIEST_YEAR <= year <= LATEST_YEAR else ""
