"""The quantities of a text: exact numbers with their units, so that two texts can be compared. Pure.

`1,200`, `1.2 thousand`, `twelve hundred` and `1.2 × 10³` are one number; `5 km` and `5 kilometres` one quantity;
`5 km` and `5 miles` are not. Units are not converted: a sentence with another unit than its statement is no quotation.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

MAX_CHARS = 2_000
"""Maximum characters of a text that are read."""

_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_IN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IN_ORDER = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
_MONTH_NAMES = "january february march april may june july august september october november december"
_ONES, _TENS, _ORDINALS = _UP_TO_NINETEEN.split(), _IN_TENS.split(), _IN_ORDER.split()
_SCALES = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "quadrillion": 10**15,
    "dozen": 12, "lakh": 10**5, "crore": 10**7,
}  # fmt: skip
_VALUES = {
    **{word: Decimal(value) for value, word in enumerate(_ONES)},
    **{word: Decimal(20 + 10 * place) for place, word in enumerate(_TENS)},
    **{"half": Decimal("0.5"), "twice": Decimal(2), "double": Decimal(2), "triple": Decimal(3), "thrice": Decimal(3)},
}
_SHORT_SCALES = {"k": 1_000, "m": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
_ORDINAL_VALUES = {word: value for value, word in enumerate(_ORDINALS, start=1)} | {"twentieth": 20, "thirtieth": 30}
_UNITS = {
    "mm": "mm millimeter millimetre", "cm": "cm centimeter centimetre", "m": "m meter metre",
    "km": "km kms kilometer kilometre", "in": "inch inches", "ft": "ft foot feet", "yd": "yard", "mi": "mi mile",
    "mg": "mg milligram", "g": "g gram gramme", "kg": "kg kilo kilogram", "t": "tonne", "ton": "ton", "oz": "oz ounce",
    "lb": "lb lbs pound", "ml": "ml millilitre milliliter", "l": "l liter litre", "gal": "gallon",
    "ms": "ms millisecond", "s": "s sec second", "min": "min minute", "h": "h hr hour", "d": "day", "w": "week",
    "mo": "month", "y": "y yr year", "century": "century centuries", "decade": "decade", "%": "% percent pct",
    "‰": "‰ permille",
    "c": "°c celsius",
    "f": "°f fahrenheit", "k": "kelvin", "mph": "mph", "kmh": "km/h kmh kph", "kb": "kb kilobyte", "mb": "mb megabyte",
    "gb": "gb gigabyte", "tb": "tb terabyte", "kib": "kib kibibyte", "mib": "mib mebibyte", "gib": "gib gibibyte",
    "byte": "byte", "bit": "bit", "hz": "hz hertz", "khz": "khz", "mhz": "mhz megahertz", "ghz": "ghz gigahertz",
    "w.": "watt", "kw": "kw kilowatt", "mw": "mw megawatt", "kwh": "kwh", "v": "v volt", "acre": "acre",
    "ha": "ha hectare", "sqkm": "km² km2", "sqm": "m² m2", "usd": "$ usd dollar", "eur": "€ eur euro",
    "gbp": "£ gbp", "jpy": "¥ jpy yen", "deg": "° degree", "point": "point", "people": "people person inhabitant",
}  # fmt: skip
_CAPITALS = frozenset("BKMT")
"""Letters behind a number that are units if small and may be scales: `5 m` is a length, `5M` may be five million."""
_BY_NAME = {name: unit for unit, names in _UNITS.items() for name in names.split()}

_EXPONENT = r"(?:(?:\^|\*\*)[-−+]?\d{1,2}|[⁻⁺]?[⁰¹²³⁴-⁹]{1,2})(?!\w)"
_PART = re.compile(
    r"(?P<minus>(?<![\w.%])[-−–](?=[$€£¥]\d))?(?P<currency>[$€£¥])?(?P<sign>(?<![\w.%])[-−–](?=\d))?(?P<digits>\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?!\d)|\d{1,15}(?:\.\d{1,9})?)"
    rf"(?: ?[×x·] ?10(?P<times>{_EXPONENT})|(?<=(?<!\d)10)(?P<power>{_EXPONENT}))?"
    r"(?P<part>[¼-¾⅐-⅞])?(?P<suffix>(?:st|nd|rd|th|s|k|m|mn|bn|b|tn)(?![\w]))?"
    r"|(?P<fraction>[¼-¾⅐-⅞])"
    r"|(?P<word>[A-Za-z]{1,20}+)"
    r"|(?P<mark>[%‰]|°[CFcf]?|(?:km|m)²|[€£¥])",
)
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}


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
    unit = _BY_NAME.get(part["currency"] or "", "")
    end, place = part.end(), place + 1
    if part["sign"] or part["minus"]:
        value = -value
    if suffix in ("st", "nd", "rd", "th"):
        return Quantity(value, "#", part.start(), end), place
    if suffix == "s":
        unit = "decade" if value >= 1_000 else "s"
    elif suffix == "m" and not part["currency"]:
        unit = "m"
    elif suffix:
        value *= _SHORT_SCALES[suffix]
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
    if first in _ORDINAL_VALUES:
        return Quantity(Decimal(_ORDINAL_VALUES[first]), "#", start, parts[place].end()), place + 1
    if first not in _VALUES and first not in ("dozen",):
        return None
    value, end, place = Decimal(_VALUES.get(first, 12)), parts[place].end(), place + 1
    if value >= 20 and value < 100 and (further := _next_word(parts, place, end, text)):
        if further in _ONES[1:10]:
            value, end, place = value + _VALUES[further], parts[place].end(), place + 1
        elif further in _ORDINALS[:9]:
            value += _ORDINAL_VALUES[further]
            return Quantity(value, "#", start, parts[place].end()), place + 1
    value, end, place = _scaled(value, end, parts, place, text)
    return _with_unit(value, "", start, end, parts, place, text)


def _scaled(value: Decimal, end: int, parts: list[re.Match[str]], place: int, text: str) -> tuple[Decimal, int, int]:
    while scale := _SCALES.get(_next_word(parts, place, end, text).removesuffix("s")):
        value, end, place = value * scale, parts[place].end(), place + 1
    return value, end, place


def _with_unit(
    value: Decimal, unit: str, start: int, end: int, parts: list[re.Match[str]], place: int, text: str
) -> tuple[Quantity, int]:
    name = _next_word(parts, place, end, text)
    found = _BY_NAME.get(name) or _BY_NAME.get(name.removesuffix("s")) if name and not unit else None
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


def month_of(word: str) -> int:
    """Return the number of a month, or 0."""
    return _MONTHS.get(word.lower(), 0)
