"""Cleaning of strangers' text for terminals, logs and pages: no controls, no characters that reorder a line. Pure.

A page's author writes its title, its URL and its texts, and a server its headers. Shown unchanged, they could move
the cursor, change the terminal's title, or disguise an address. Markup is escaped by each output itself.

A stranger's ISO date is read here, too. Other grammars of dates have other tasks: `crawl.web_dates` reads dates of
protocols, to the second; `pages.text.dates` the first date in a text of any language; `queries.quick.dates` what people
ask, also without a year; `answers.disagreement` all dates and years of an English sentence.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that reorder the text around them: with them a page could disguise its URL or title."""
_UNSAFE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_DIRECTION}\ud800-\udfff]")
_UNSAFE_IN_TEXT = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_DIRECTION}\ud800-\udfff]")
"""The same without the tab and the line feed."""


def is_unsafe(char: str) -> bool:
    """Return whether a character would change the text around it: a control, a direction override, half a pair."""
    return _UNSAFE.match(char) is not None or unicodedata.category(char) == "Cn"


def clean_line(text: str) -> str:
    """Return the text as one line with single spaces, without unsafe characters."""
    if text.isprintable():  # nothing unsafe, and no white space but the space
        return " ".join(text.split())
    kept = "".join(" " if char.isspace() else char for char in text if char.isspace() or not is_unsafe(char))
    return " ".join(kept.split())


def clean_text(text: str) -> str:
    """Return the text with its lines and tabs. An unsafe character becomes U+FFFD, so that it is seen."""
    return _UNSAFE_IN_TEXT.sub("\ufffd", text.replace("\r\n", "\n"))


def escape_unsafe(text: str) -> str:
    r"""Return JSON text with each unsafe character written as \uXXXX. In JSON they occur only in strings."""
    return _UNSAFE_IN_TEXT.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def read_date(value: str) -> str:
    """Return an ISO date, or the beginning of one: 2025, 2025-03, 2025-03-01; empty if the value is no date."""
    found = _DATE.fullmatch(value)
    if not found:
        return ""
    _, month, day = found.groups()
    return value if 1 <= int(month or 1) <= 12 and 1 <= int(day or 1) <= 31 else ""


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 link` or `1,234 links`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten(text: str, max_chars: int) -> str:
    """Return at most `max_chars` characters, cut between words where possible, with an ellipsis."""
    if len(text) <= max_chars:
        return text
    cut = text[: max_chars - 1]
    gap = cut.rfind(" ")
    return (cut[:gap] if gap > max_chars // 2 else cut).rstrip(" ,;:.–-") + "…"


class Message(str):
    """An English sentence for people that keeps its pattern and values, so that a page says it in another language.

    Everywhere else it is its text. Only `message` and `counted_message` make one: the catalogues have their patterns.
    """

    __slots__ = ("number", "pattern", "plural", "values")

    pattern: str
    plural: str
    number: int | None
    values: Mapping[str, Any]


DateForm = Literal["date", "with weekday", "weekday"]


class DateText(str):
    """A date in English words that keeps its ISO form, and whether it has its weekday or is only that."""

    __slots__ = ("form", "iso")

    iso: str
    form: DateForm

    def __new__(cls, words: str, iso: str, form: DateForm = "date") -> Self:
        made = super().__new__(cls, words)
        made.iso, made.form = iso, form
        return made


class LanguageTag(str):
    """The tag of a language. A page names the language."""

    __slots__ = ()


class Amount(str):
    """A decimal number with its unit, in English words, that keeps its value for other languages."""

    __slots__ = ("is_scientific", "number", "symbol", "unit")

    number: Decimal
    is_scientific: bool
    """True if the number is written with a power of ten."""
    unit: str
    """CLDR's name of the unit; empty: there is no unit, or CLDR has none."""
    symbol: str
    """The unit's symbol, if people write it by one."""

    def __new__(
        cls, words: str, number: Decimal, *, is_scientific: bool = False, unit: str = "", symbol: str = ""
    ) -> Self:
        made = super().__new__(cls, words)
        made.number, made.is_scientific, made.unit, made.symbol = number, is_scientific, unit, symbol
        return made


class _KeepsMessage:
    """The mark of a field whose messages stay messages. Only models load pydantic: parsing processes do without."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_wrap_validator_function(_keep_message, handler(source))


def _keep_message(value: Any, read: Callable[[Any], Any]) -> Any:
    return value if isinstance(value, Message) else read(value)


Sentence = Annotated[str, _KeepsMessage()]
"""A sentence for people. A page says it in the language of its reader, programs get it in English."""


def message(pattern: str, **values: Any) -> Message:
    """Return a sentence for people, with its values in the places `%(name)s`. Values may be messages, too."""
    return _made(pattern, "", None, values)


def counted_message(one: str, many: str, number: int, **values: Any) -> Message:
    """Return a sentence in the form for this number, which is `%(num)s` in it."""
    return _made(one, many, number, {"num": number, **values})


def _made(pattern: str, plural: str, number: int | None, values: Mapping[str, Any]) -> Message:
    chosen = pattern if number in (None, 1) else plural
    made = Message(chosen % {name: _in_english(value) for name, value in values.items()} if values else chosen)
    made.pattern, made.plural, made.number, made.values = pattern, plural, number, values
    return made


def _in_english(value: Any) -> Any:
    return f"{value:,}" if isinstance(value, int) else value
