"""Conversion of units for queries such as `5 miles in km`, `72 F in C` and `3 cups to ml`. Pure.

pint knows the factors. The names are those that people type: no text of a person is parsed as an expression of units,
so a conversion takes the same time for every query. No currencies: their rates are not in the index.
"""

import re
from decimal import Decimal, localcontext

from streams.language.units import UNITS, UNITS_IN_QUERIES, expression_of, find_unit, measure, registry
from streams.plain_text import Amount, message
from streams.queries.quick.calculator import calculation_context, format_number, plain_number
from streams.queries.quick.model import QuickCheck

MAX_CHARS = 80
"""Maximum length of a query that asks for a conversion."""
SIGNIFICANT_DIGITS = 8
"""Digits of a converted value: more would claim an accuracy that no measured value has."""

MAX_WHOLE_DIGITS = 18

_ASKED = re.compile(
    r"""(?:convert\s+|what(?:'s|\ is)\s+|how\s+much\s+is\s+)?
    (?P<number>[-−]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,15})?|[-−]?\.[0-9]{1,15})\s*
    (?P<unit>[^\s0-9][^0-9]{0,30}?[23²³]?)\s+(?:in|to|into|as|=)\s+(?P<wanted>[^\s0-9][^0-9]{0,30}?[23²³]?)\s*\??""",
    re.VERBOSE | re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"""how\s+many\s+(?P<wanted>[a-z ]{1,30}?)\s+(?:are\s+(?:there\s+)?)?in\s+
    (?P<number>an?|one|[0-9]{1,15}(?:\.[0-9]{1,15})?)\s*
    (?P<unit>[a-z ]{1,30}?)\s*\??""",
    re.VERBOSE | re.IGNORECASE,
)

_SYMBOLS = {
    "degree_Celsius": "°C", "degree_Fahrenheit": "°F", "square_meter": "m²", "square_kilometer": "km²",
    "square_centimeter": "cm²", "cubic_meter": "m³", "cubic_centimeter": "cm³",
    "mile_per_hour": "mph", "kilometer_per_hour": "km/h", "meter_per_second": "m/s", "kilowatt_hour": "kWh",
    "psi": "psi", "millimeter_Hg": "mmHg", "kelvin": "K", "meter": "m",
    "kibibyte": "KiB", "mebibyte": "MiB", "gibibyte": "GiB", "tebibyte": "TiB", "long_ton": "t (UK)",
}  # fmt: skip
_AS_TYPED = frozenset(
    ("mm", "cm", "km", "mg", "g", "kg", "ml", "cl", "dl", "l", "kj", "kcal", "kpa", "w", "kw", "j", "pa")
)
"""Units that people write by their symbol."""
_WRITTEN = {"kj": "kJ", "kpa": "kPa", "w": "W", "kw": "kW", "j": "J", "pa": "Pa"}
_PLURALS = {
    "foot": "feet", "inch": "inches", "horsepower": "horsepower", "stone": "stone", "square_foot": "square feet",
    "square_inch": "square inches", "cubic_foot": "cubic feet", "cubic_inch": "cubic inches",
}  # fmt: skip
_NOTES = {
    "cup": message("US customary cups"), "teaspoon": message("US teaspoons"),
    "tablespoon": message("US tablespoons"), "pint": message("US liquid pints"), "quart": message("US liquid quarts"),
    "gallon": message("US liquid gallons"), "fluid_ounce": message("US fluid ounces"),
    "short_ton": message("short tons (US) of 2,000 pounds"), "horsepower": message("mechanical horsepower"),
    "long_ton": message("long tons (UK) of 2,240 pounds"), "month": message("months of 30.44 days"),
    "year": message("years of 365.25 days"), "nautical_mile": message("international nautical miles"),
}  # fmt: skip
_CLDR = {
    "metric_ton": "tonne", "short_ton": "mass-ton", "long_ton": "", "degree_Celsius": "celsius",
    "degree_Fahrenheit": "fahrenheit", "psi": "pound-force-per-square-inch", "millimeter_Hg": "millimeter-ofhg",
    "kibibyte": "", "mebibyte": "", "gibibyte": "", "tebibyte": "",
}  # fmt: skip
"""CLDR's names of units that are not pint's; empty: it has none, so the unit is written by its symbol."""
_ROUNDING = Decimal("1e-20")
"""Relative error of a factor that pint has computed of exact ones."""


def warm_up() -> None:
    """Make the registry of units, which the first conversion would wait for."""
    registry()


def convert(text: str) -> QuickCheck | None:
    """Return the converted value if the text asks for one, else None."""
    if len(text) > MAX_CHARS or not (match := _ASKED.fullmatch(text) or _HOW_MANY.fullmatch(text)):
        return None
    given, wanted = _read_unit(match["unit"]), _read_unit(match["wanted"])
    if not given or not wanted or given == wanted:
        return None
    word = match["number"].lower()
    amount = Decimal("1" if word in ("a", "an", "one") else word.replace(",", "").replace("−", "-"))
    from pint import PintError  # it imports Dask, too, which no start has to wait for

    try:
        with localcontext(calculation_context()):
            given, wanted = _as_volumes(given, wanted)
            found = Decimal(measure(amount, given).to(expression_of(wanted)).magnitude)
            shown = round(found, _decimals(found))
    except (PintError, ArithmeticError, ValueError):
        return None
    is_exact = abs(found - shown) <= _ROUNDING * abs(found)
    answer = _amount(shown, wanted)
    return QuickCheck(
        kind="conversion",
        asked=message("%(amount)s", amount=_amount(amount, given)),
        answer=message("%(amount)s", amount=answer) if is_exact else message("≈ %(amount)s", amount=answer),
        value=plain_number(shown),
        note=_note([_NOTES[unit] for unit in dict.fromkeys((given, wanted)) if unit in _NOTES]),
    )


def _note(kinds: list[str]) -> str:
    match kinds:
        case [kind]:
            return message("With %(units)s.", units=kind)
        case [first, second]:
            return message("With %(first)s and %(second)s.", first=first, second=second)
    return ""


def _read_unit(text: str) -> str:
    """Return pint's name of a unit that a person typed; empty if it is no unit."""
    name = " ".join(text.lower().replace("_", " ").removeprefix("a ").split())
    return find_unit(name, UNITS_IN_QUERIES)


def _as_volumes(given: str, wanted: str) -> tuple[str, str]:
    """Return the units, with fluid ounces for ounces beside a volume."""
    liter = registry().get_dimensionality("liter")
    volumes = [registry().get_dimensionality(expression_of(one)) == liter for one in (given, wanted)]
    if any(volumes) and not all(volumes):
        return tuple("fluid_ounce" if one == "ounce" else one for one in (given, wanted))  # type: ignore[return-value]  # a pair
    return given, wanted


def _decimals(number: Decimal) -> int:
    """Return the number of decimal places that leave the significant digits. A whole number keeps all of its digits."""
    if number == number.to_integral_value() and number.adjusted() < MAX_WHOLE_DIGITS:
        return 0
    return SIGNIFICANT_DIGITS - 1 - number.adjusted()


def _amount(number: Decimal, unit: str) -> Amount:
    """Return a number with its unit, as people write it behind the number."""
    shown, name = format_number(number), unit.replace("_", " ")
    symbol = _SYMBOLS.get(unit) or next((name for name in UNITS[unit].split() if name in _AS_TYPED), "")
    symbol = _WRITTEN.get(symbol, symbol)
    written = symbol or (name if abs(number) == 1 else _PLURALS.get(unit, f"{name}s"))
    return Amount(
        f"{shown} {written}",
        shown.number,
        is_scientific=shown.is_scientific,
        unit=_CLDR.get(unit, unit.lower().replace("_", "-")),
        symbol=symbol,
    )
