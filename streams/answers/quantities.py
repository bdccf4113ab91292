"""The quantities of a text: exact numbers with their units, so that two texts can be compared. Pure.

`1,200`, `1.2 thousand`, `twelve hundred` and `1.2 × 10³` are one number; `5 km` and `5 kilometres` one quantity;
`5 km` and `5 miles` are not. Units are not converted: a sentence with another unit than its statement is no quotation.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from streams.language.numbers import CARDINALS, MULTIPLES, ONES, ORDINAL_VALUES, ORDINALS, SCALES, SHORT_SCALES
from streams.language.units import UNITS_IN_TEXTS, find_unit

MAX_CHARS = 2_000
"""Maximum characters of a text that are read."""

_VALUES = CARDINALS | MULTIPLES
_CAPITALS = frozenset("BKMT")
"""Letters behind a number that are units if small and may be scales: `5 m` is a length, `5M` may be five million."""

_EXPONENT = r"(?:(?:\^|\*\*)[-−+]?\d{1,2}|[⁻⁺]?[⁰¹²³⁴-⁹]{1,2})(?!\w)"
_PART = re.compile(
    r"(?P<minus>(?<![\w.%])[-−–](?=[$€£¥]\d))?(?P<currency>[$€£¥])?(?P<sign>(?<![\w.%])[-−–](?=\d))?(?P<digits>\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?!\d)|\d{1,15}(?:\.\d{1,9})?)"
    rf"(?: ?[×x·] ?10(?P<times>{_EXPONENT})|(?<=(?<!\d)10)(?P<power>{_EXPONENT}))?"
    r"(?P<part>[¼-¾⅐-⅞])?(?P<suffix>(?:st|nd|rd|th|s|k|m|mn|bn|b|tn)(?![\w]))?"
    r"|(?P<fraction>[¼-¾⅐-⅞])"
    r"|(?P<word>[A-Za-z]{1,20}+)"
    r"|(?P<mark>[%‰]|°[CFcf]?|(?:km|m)²|[€£¥])",
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit."""

    value: Decimal
    unit: str
    """The short name of the unit; empty for a bare number, `#` for an ordinal."""
    start: int
    end: int
    """Its place in the text (characters)."""

    @property
    def key(self) -> tuple[Decimal, str]:
        return self.value, self.unit


def quantities_of(text: str) -> list[Quantity]:
    """Return the quantities of a text, in order."""
    return list(_read(list(_PART.finditer(text[:MAX_CHARS])), text))


def _read(parts: list[re.Match[str]], text: str) -> Iterator[Quantity]:
    place = 0
    while place < len(parts):
        part = parts[place]
        if part["digits"] or part["fraction"]:
            quantity, place = _of_digits(parts, place, text)
            yield quantity
        elif part["word"] and (of_words := _of_words(parts, place, text)):
            quantity, place = of_words
            yield quantity
        else:
            place += 1


def _of_digits(parts: list[re.Match[str]], place: int, text: str) -> tuple[Quantity, int]:
    part = parts[place]
    value = Decimal((part["digits"] or "0").replace(",", ""))
    if fraction := part["part"] or part["fraction"]:
        value += Decimal(str(unicodedata.numeric(fraction)))
    if part["times"]:
        value *= _power_of_ten(part["times"])
    elif part["power"]:
        value = _power_of_ten(part["power"])
    suffix = (part["suffix"] or "").lower()
    unit = UNITS_IN_TEXTS.get(part["currency"] or "", "")
    end, place = part.end(), place + 1
    if part["sign"] or part["minus"]:
        value = -value
    if suffix in ("st", "nd", "rd", "th"):
        return Quantity(value, "#", part.start(), end), place
    if suffix == "s":
        unit = "decade" if value >= 1_000 else "second"
    elif suffix == "m" and not part["currency"]:
        unit = "meter"
    elif suffix:
        value *= SHORT_SCALES[suffix]
    value, end, place = _scaled(value, end, parts, place, text)
    return _with_unit(value, unit, part.start(), end, parts, place, text)


def _power_of_ten(exponent: str) -> Decimal:
    """Read `^6`, `**6` and `⁶`, which `NFKC` turns into the digit."""
    digits = unicodedata.normalize("NFKC", exponent).lstrip("^*").replace("−", "-")
    return Decimal(10) ** int(digits)


def _of_words(parts: list[re.Match[str]], place: int, text: str) -> tuple[Quantity, int] | None:
    """Read a number in words: `twenty-five`, `two hundred thousand`, `third`."""
    first = parts[place]["word"].lower()
    start = parts[place].start()
    if first in ORDINAL_VALUES:
        return Quantity(Decimal(ORDINAL_VALUES[first]), "#", start, parts[place].end()), place + 1
    if first not in _VALUES and first not in ("dozen",):
        return None
    value, end, place = Decimal(_VALUES.get(first, 12)), parts[place].end(), place + 1
    if value >= 20 and value < 100 and (further := _next_word(parts, place, end, text)):
        if further in ONES[1:10]:
            value, end, place = value + _VALUES[further], parts[place].end(), place + 1
        elif further in ORDINALS[:9]:
            value += ORDINAL_VALUES[further]
            return Quantity(value, "#", start, parts[place].end()), place + 1
    value, end, place = _scaled(value, end, parts, place, text)
    return _with_unit(value, "", start, end, parts, place, text)


def _scaled(value: Decimal, end: int, parts: list[re.Match[str]], place: int, text: str) -> tuple[Decimal, int, int]:
    while scale := SCALES.get(_next_word(parts, place, end, text).removesuffix("s")):
        value, end, place = value * scale, parts[place].end(), place + 1
    return value, end, place


def _with_unit(
    value: Decimal, unit: str, start: int, end: int, parts: list[re.Match[str]], place: int, text: str
) -> tuple[Quantity, int]:
    found = "" if unit else find_unit(_next_word(parts, place, end, text), UNITS_IN_TEXTS)
    if found and parts[place]["word"] in _CAPITALS:
        found = parts[place]["word"]
    if found:
        return Quantity(value.normalize(), found, start, parts[place].end()), place + 1
    return Quantity(value.normalize(), unit, start, end), place


def _next_word(parts: list[re.Match[str]], place: int, end: int, text: str) -> str:
    """Return the word or mark that follows at once, in lower case; empty if there is none."""
    if place >= len(parts) or parts[place].start() - end > 1 or text[end : parts[place].start()].strip(" -‐\u00a0"):
        return ""
    return (parts[place]["word"] or parts[place]["mark"] or "").lower()
