"""Values of Wikidata in words: dates with their precision, numbers with units, coordinates, texts, entities. Pure.

Source: the JSON of Wikibase (doc.wikimedia.org/Wikibase/master/php/docs_topics_json.html).
"""

import re
from collections.abc import Mapping
from typing import Any

from streams.knowledge.entity import MAX_ADDRESS_CHARS, Value
from streams.language.months import date_words

_TIME = re.compile(r"([+-])(\d{1,20})-(\d\d)-(\d\d)T")
_NUMBER = re.compile(r"[+-]?(\d{1,60})(?:\.(\d{1,60}))?")
_ENTITY = re.compile(r"[QPL][1-9]\d{0,11}")
_ADDRESS = re.compile(r"https?://[^\s\x00-\x1f]+")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of the months. A leap day is taken in each year: calendars differ in it."""
DAY, MONTH, YEAR, DECADE, CENTURY, MILLENNIUM = 11, 10, 9, 8, 7, 6
_JULIAN = "Q1985786"
_SCALES = {5: 10_000, 4: 100_000, 3: 1_000_000, 2: 10_000_000, 1: 100_000_000, 0: 1_000_000_000}
"""Precisions beyond a millennium: the number of years that a date is exact to."""
_YEARS_SINCE_CHRIST = 2_000
MAX_TEXT_CHARS = 300
Json = Mapping[str, Any]


def at(value: Any, *path: str) -> Any:
    """Return what stands at a path in JSON; None if nothing does."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def to_value(datavalue: Any, language: str) -> Value | None:
    """Return the value of a statement, or None for a value without words: unknown, of another language, malformed."""
    value, kind = at(datavalue, "value"), at(datavalue, "type")
    if kind == "string" and isinstance(value, str):
        return _text_value(value)
    if not isinstance(value, Mapping):
        return None
    if kind == "wikibase-entityid":
        found = entity_id(value)
        return Value(entity_id=found) if found else None
    if kind == "time":
        return time_value(value)
    if kind == "quantity":
        return _quantity_value(value)
    if kind == "globecoordinate":
        return _coordinate_value(value)
    if kind == "monolingualtext" and value.get("language") in (language, "mul"):
        return _text_value(value.get("text"))
    return None


def entity_id(value: Json) -> str:
    """Return the id of the entity that a value names, or an empty text. Old dumps have only the number."""
    found = value.get("id") or (f"Q{value['numeric-id']}" if "numeric-id" in value else "")
    return found if isinstance(found, str) and _ENTITY.fullmatch(found) else ""


def _text_value(text: Any) -> Value | None:
    if not isinstance(text, str) or not (words := " ".join(text[: 2 * MAX_ADDRESS_CHARS].split())):
        return None
    if len(words) <= MAX_ADDRESS_CHARS and _ADDRESS.fullmatch(words):
        return Value(text=short_address(words), url=words)
    return Value(text=words[:MAX_TEXT_CHARS])


def short_address(url: str) -> str:
    """Return an address for people: without scheme, `www.` and the last slash."""
    return url.split("://", 1)[-1].removeprefix("www.").rstrip("/")[:MAX_TEXT_CHARS]


def time_value(value: Json) -> Value | None:
    """Return a date as exact as it is known: a day, month, year, decade, century, millennium, or more years."""
    text, precision = value.get("time"), value.get("precision")
    if not isinstance(text, str) or not isinstance(precision, int) or not (found := _TIME.match(text)):
        return None
    before, year, month, day = found[1] == "-", int(found[2]), int(found[3]), int(found[4])
    era = " BC" if before else ""
    julian = " (Julian)" if str(value.get("calendarmodel", "")).endswith(_JULIAN) and precision == DAY else ""
    iso = f"{'-' if before else ''}{year:04}"
    if precision >= DAY and 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1]:
        return Value(text=f"{date_words(year, month, day)}{era}{julian}", time=f"{iso}-{month:02}-{day:02}")
    if precision >= MONTH and 1 <= month <= 12:
        return Value(text=f"{date_words(year, month)}{era}", time=f"{iso}-{month:02}")
    if precision >= YEAR:
        return Value(text=f"{year}{era}", time=iso)
    if precision == DECADE:
        return Value(text=f"{year // 10 * 10}s{era}")
    if precision == CENTURY:
        return Value(text=f"{_ordinal((year + 99) // 100)} century{era}")
    if precision == MILLENNIUM:
        return Value(text=f"{_ordinal((year + 999) // 1000)} millennium{era}")
    scale = _SCALES.get(precision)
    # Integers: years may be longer than a float is exact. What is less than half of the precision ago has no words.
    ago = (year + _YEARS_SINCE_CHRIST + scale // 2) // scale * scale if scale and before else 0
    return Value(text=f"about {ago:,} years ago") if ago else None


def year_of(value: Value) -> str:
    """Return the year of a date with at least the precision of a year, else the whole text."""
    if not value.time:
        return value.text
    bc = value.time.startswith("-")
    year = value.time[1:].split("-")[0] if bc else value.time.split("-")[0]
    return f"{int(year)}{' BC' if bc else ''}"


def _ordinal(number: int) -> str:
    if 11 <= number % 100 <= 13:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _quantity_value(value: Json) -> Value | None:
    amount = value.get("amount")
    if not isinstance(amount, str) or not (found := _NUMBER.fullmatch(amount)):
        return None
    sign = "−" if amount.startswith("-") else ""
    decimals = (found[2] or "").rstrip("0")
    text = f"{sign}{int(found[1]):,}{'.' + decimals if decimals else ''}"
    unit = str(value.get("unit", "1")).rsplit("/", 1)[-1]
    return Value(text=text, unit_id=unit if _ENTITY.fullmatch(unit) else "")


def _coordinate_value(value: Json) -> Value | None:
    """Return coordinates on Earth in degrees and minutes, or None."""
    latitude, longitude = value.get("latitude"), value.get("longitude")
    if not isinstance(latitude, int | float) or not isinstance(longitude, int | float):
        return None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180 and str(value.get("globe", "/Q2")).endswith("/Q2")):
        return None
    return Value(text=f"{_degrees(latitude, 'NS')}, {_degrees(longitude, 'EW')}")


def _degrees(angle: float, directions: str) -> str:
    minutes = round(abs(angle) * 60)
    return f"{minutes // 60}°{minutes % 60:02}′{directions[angle < 0]}"
