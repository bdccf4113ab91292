"""Relative times and durations by language, such as "3 minutes ago", "vor 3 Min." and "0.31 s": patterns from CLDR.

The languages are the twelve with the most speakers, and further ones that are frequent on the web.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache
from itertools import product
from typing import Literal

LANGUAGES = (
    "en", "zh", "hi", "es", "ar", "fr", "bn", "pt", "ru", "ur", "id", "de", "ja", "it", "ko", "tr", "nl", "pl", "vi",
    "fa",
)  # fmt: skip
RELATIVE_DAYS = {
    "en": "today|yesterday|just now", "zh": "今天|昨天|刚刚", "hi": "आज|कल|अभी अभी", "es": "hoy|ayer|ahora mismo",
    "ar": "اليوم|أمس|الآن", "fr": "aujourd'hui|aujourd’hui|hier|à l'instant", "bn": "আজ|গতকাল|এইমাত্র",
    "pt": "hoje|ontem|agora mesmo", "ru": "сегодня|вчера|только что", "ur": "آج|گزشتہ کل|ابھی ابھی",
    "id": "hari ini|kemarin|baru saja", "de": "heute|gestern|gerade eben", "ja": "今日|昨日|たった今",
    "it": "oggi|ieri|proprio ora", "ko": "오늘|어제|방금", "tr": "bugün|dün|az önce", "nl": "vandaag|gisteren|zojuist",
    "pl": "dzisiaj|dziś|wczoraj|przed chwilą", "vi": "hôm nay|hôm qua|vừa xong", "fa": "امروز|دیروز|لحظاتی پیش",
}  # fmt: skip
"""Words for a time today or yesterday, which Babel's tables of CLDR leave out."""
WITHOUT_SPACES = frozenset({"zh", "ja", "ko"})
"""Languages whose words stand directly beside numbers and each other."""
NUMBER = r"\d(?:[\d.,:/٫٬'’ +-]{0,20}\d)?(?:st|nd|rd|th|[smzk])?"
"""A number, a time or a date. All decimal digits of Unicode are digits."""
_WORD = r"(?:\w{1,3}\s+)?\w{1,8}\s+"
"""A number as one or two words, as in `an hour ago`, `a few hours ago` and `vor einer Stunde`."""
_UNITS: dict[Literal["second", "minute", "hour", "day", "week"], int] = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
}
_NUMBERS = (1, 2, 3, 5, 11, 21)
"""Numbers that have all the plural forms of these languages."""
_WIDTHS: tuple[Literal["long", "short", "narrow"], ...] = ("long", "short", "narrow")
_FORMS: tuple[tuple[Literal["wide", "abbreviated"], Literal["format", "stand-alone"]], ...] = (
    ("wide", "format"),
    ("wide", "stand-alone"),
    ("abbreviated", "format"),
    ("abbreviated", "stand-alone"),
)
"""The forms of names of days and months."""
_PLAIN_UNITS = ("s", "sec", "secs", "ms", "min", "mins", "h", "kb", "mb", "kib", "mib")
"""Signs of units behind a number in any language."""


@cache
def relative_times(language: str) -> str:
    """Return the pattern of times before now: at least a number and a unit, case-folded."""
    return _pattern_of(_phrases(language, is_relative=True), with_words=True)


@cache
def durations(language: str) -> str:
    """Return the pattern of durations, case-folded."""
    signs = rf"{NUMBER}\s?(?:{'|'.join(_PLAIN_UNITS)})(?!\w)"
    return f"{signs}|{_pattern_of(_phrases(language, is_relative=False))}"


@cache
def calendar_names(language: str) -> frozenset[str]:
    """Return the names of days and months, and their short forms, case-folded and without dots."""
    from babel.dates import get_day_names, get_month_names

    tables = [names(*form, language) for form in _FORMS for names in (get_day_names, get_month_names)]
    return frozenset(name.casefold().strip(".") for table in tables for name in table.values())


def _phrases(language: str, *, is_relative: bool) -> Iterator[str]:
    from babel.dates import format_timedelta

    for unit, seconds in _UNITS.items():
        for number, width in product(_NUMBERS, _WIDTHS):
            with suppress(KeyError):  # not all languages have all widths
                yield format_timedelta(
                    timedelta(seconds=-number * seconds),
                    granularity=unit,
                    threshold=1_000,
                    add_direction=is_relative,
                    format=width,
                    locale=language,
                ).casefold()


def _pattern_of(phrases: Iterable[str], *, with_words: bool = False) -> str:
    """Return one pattern of phrases, whose number may be another one, or words between spaces (`with_words`)."""
    ends: dict[tuple[str, str], set[str]] = {}
    for phrase in phrases:
        number = "".join(filter(str.isdecimal, phrase))
        begin, _, end = phrase.partition(number) if number else (phrase, "", "")
        ends.setdefault((_spaced(begin), NUMBER if number else ""), set()).add(_spaced(end))
        if with_words and number and end[:1].isspace():
            ends.setdefault((_spaced(begin), _WORD), set()).add(_spaced(end.lstrip()))
    return "|".join(f"{begin}{slot}(?:{'|'.join(_longest_first(rest))})" for (begin, slot), rest in ends.items())


def _spaced(text: str) -> str:
    """Return the pattern of a text, whose spaces may be others or missing."""
    return "".join(r"\s*" if char.isspace() else re.escape(char) for char in text)


def _longest_first(patterns: Iterable[str]) -> list[str]:
    return sorted(patterns, key=lambda pattern: (-len(pattern), pattern))
