"""Conversion of units for queries such as `5 miles in km`, `72 F in C` and `3 cups to ml`. Pure.

pint knows the factors. The names are those that people type: no text of a person is parsed as an expression of units,
so a conversion takes the same time for every query. No currencies: their rates are not in the index.
"""

import re
from decimal import Decimal, localcontext
from functools import cache

import pint

from streams.queries.quick.model import QuickCheck
from streams.queries.quick.numbers import calculation_context, format_number, plain_number

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

_NAMES = {
    # pint's name: the names that people type
    "millimeter": "mm millimeter millimeters millimetre millimetres",
    "centimeter": "cm centimeter centimeters centimetre centimetres",
    "meter": "m meter meters metre metres",
    "kilometer": "km kilometer kilometers kilometre kilometres kms",
    "inch": 'in inch inches "',
    "foot": "ft foot feet '",
    "yard": "yd yard yards",
    "mile": "mi mile miles",
    "nautical_mile": "nmi nautical_mile nautical_miles",
    "light_year": "ly light_year light_years lightyear lightyears",
    "milligram": "mg milligram milligrams",
    "gram": "g gram grams gramme grammes",
    "kilogram": "kg kilogram kilograms kilo kilos kgs",
    "metric_ton": "t tonne tonnes metric_ton metric_tons",
    "ounce": "oz ounce ounces",
    "pound": "lb lbs pound pounds",
    "stone": "stone st",
    "short_ton": "ton tons short_ton short_tons",
    "long_ton": "long_ton long_tons",
    "carat": "carat carats",
    "milliliter": "ml milliliter milliliters millilitre millilitres cc",
    "centiliter": "cl centiliter centiliters centilitre centilitres",
    "deciliter": "dl deciliter deciliters decilitre decilitres",
    "liter": "l liter liters litre litres",
    "teaspoon": "tsp teaspoon teaspoons",
    "tablespoon": "tbsp tablespoon tablespoons",
    "fluid_ounce": "floz fl_oz fluid_ounce fluid_ounces",
    "cup": "cup cups",
    "pint": "pt pint pints",
    "quart": "qt quart quarts",
    "gallon": "gal gallon gallons",
    "cubic_meter": "m3 m³ cubic_meter cubic_meters cubic_metre cubic_metres",
    "cubic_centimeter": "cm3 cm³ cubic_centimeter cubic_centimeters cubic_centimetre cubic_centimetres",
    "cubic_foot": "ft3 ft³ cubic_foot cubic_feet",
    "cubic_inch": "in3 in³ cubic_inch cubic_inches",
    "square_meter": "m2 m² sqm square_meter square_meters square_metre square_metres",
    "square_kilometer": "km2 km² square_kilometer square_kilometers square_kilometre square_kilometres",
    "square_centimeter": "cm2 cm² square_centimeter square_centimeters square_centimetre square_centimetres",
    "square_foot": "ft2 ft² sqft sq_ft square_foot square_feet",
    "square_inch": "in2 in² square_inch square_inches",
    "square_mile": "mi2 mi² square_mile square_miles",
    "acre": "acre acres",
    "hectare": "ha hectare hectares",
    "millisecond": "ms millisecond milliseconds",
    "second": "s sec secs second seconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years yr yrs",
    "degree_Celsius": "c °c celsius degc degrees_celsius degree_celsius degrees_c centigrade",
    "degree_Fahrenheit": "f °f fahrenheit degf degrees_fahrenheit degree_fahrenheit degrees_f",
    "kelvin": "k kelvin kelvins",
    "mile_per_hour": "mph miles_per_hour mi/h",
    "kilometer_per_hour": "kph kmh km/h kilometers_per_hour kilometres_per_hour",
    "meter_per_second": "m/s meters_per_second metres_per_second",
    "knot": "kn knot knots",
    "joule": "j joule joules",
    "kilojoule": "kj kilojoule kilojoules",
    "calorie": "cal calorie calories",
    "kilocalorie": "kcal kilocalorie kilocalories",
    "kilowatt_hour": "kwh kilowatt_hour kilowatt_hours",
    "watt": "w watt watts",
    "kilowatt": "kw kilowatt kilowatts",
    "horsepower": "hp horsepower",
    "pascal": "pa pascal pascals",
    "kilopascal": "kpa kilopascal kilopascals",
    "bar": "bar bars",
    "atmosphere": "atm atmosphere atmospheres",
    "psi": "psi",
    "millimeter_Hg": "mmhg",
    "byte": "byte bytes",
    "kilobyte": "kb kilobyte kilobytes",
    "megabyte": "mb megabyte megabytes",
    "gigabyte": "gb gigabyte gigabytes",
    "terabyte": "tb terabyte terabytes",
    "kibibyte": "kib kibibyte kibibytes",
    "mebibyte": "mib mebibyte mebibytes",
    "gibibyte": "gib gibibyte gibibytes",
    "tebibyte": "tib tebibyte tebibytes",
    "bit": "bit bits",
    "kilobit": "kbit kilobit kilobits",
    "megabit": "mbit megabit megabits",
    "gigabit": "gbit gigabit gigabits",
    "degree": "deg degree degrees",
    "radian": "rad radian radians",
}
_PINT_EXPRESSIONS = {
    "cubic_meter": "meter**3", "cubic_centimeter": "centimeter**3", "cubic_foot": "foot**3", "cubic_inch": "inch**3",
    "square_meter": "meter**2", "square_kilometer": "kilometer**2", "square_centimeter": "centimeter**2",
    "square_foot": "foot**2", "square_inch": "inch**2", "square_mile": "mile**2",
    "mile_per_hour": "mile/hour", "kilometer_per_hour": "kilometer/hour", "meter_per_second": "meter/second",
    "kilowatt_hour": "kilowatt*hour",
}  # fmt: skip
"""Units that pint writes as an expression."""
_BY_NAME = {name.replace("_", " "): unit for unit, names in _NAMES.items() for name in names.split()}
_SYMBOLS = {
    "degree_Celsius": "°C", "degree_Fahrenheit": "°F", "square_meter": "m²", "square_kilometer": "km²",
    "square_centimeter": "cm²", "square_foot": "square feet", "square_inch": "square inches",
    "square_mile": "square miles",
    "cubic_meter": "m³", "cubic_centimeter": "cm³", "cubic_foot": "cubic feet", "cubic_inch": "cubic inches",
    "mile_per_hour": "mph", "kilometer_per_hour": "km/h", "meter_per_second": "m/s", "kilowatt_hour": "kWh",
    "psi": "psi", "millimeter_Hg": "mmHg", "horsepower": "horsepower", "kelvin": "K", "meter": "m",
}  # fmt: skip
_AS_TYPED = frozenset(
    ("mm", "cm", "km", "mg", "g", "kg", "ml", "cl", "dl", "l", "kj", "kcal", "kpa", "w", "kw", "j", "pa")
)
"""Units that people write by their symbol."""
_WRITTEN = {"kj": "kJ", "kpa": "kPa", "w": "W", "kw": "kW", "j": "J", "pa": "Pa"}
_PLURALS = {"foot": "feet", "inch": "inches", "horsepower": "horsepower", "stone": "stone"}
_NOTES = {
    "cup": "US customary cups", "teaspoon": "US teaspoons", "tablespoon": "US tablespoons", "pint": "US liquid pints",
    "quart": "US liquid quarts", "gallon": "US liquid gallons", "fluid_ounce": "US fluid ounces",
    "short_ton": "short tons (US) of 2,000 pounds", "horsepower": "mechanical horsepower",
    "month": "months of 30.44 days", "year": "years of 365.25 days", "nautical_mile": "international nautical miles",
}  # fmt: skip
_ROUNDING = Decimal("1e-20")
"""Relative error of a factor that pint has computed of exact ones."""


@cache
def _units() -> pint.UnitRegistry[Decimal]:
    """Return the registry of units, with decimal numbers. Making it takes some tenths of a second."""
    return pint.UnitRegistry(non_int_type=Decimal, cache_folder=None)


def warm_up() -> None:
    """Make the registry of units, which the first conversion would wait for."""
    _units()


def convert(text: str) -> QuickCheck | None:
    """Return the converted value if the text asks for one, else None."""
    if len(text) > MAX_CHARS or not (match := _ASKED.fullmatch(text) or _HOW_MANY.fullmatch(text)):
        return None
    given, wanted = _read_unit(match["unit"]), _read_unit(match["wanted"])
    if not given or not wanted or given == wanted:
        return None
    word = match["number"].lower()
    amount = Decimal("1" if word in ("a", "an", "one") else word.replace(",", "").replace("−", "-"))
    try:
        with localcontext(calculation_context()):
            given, wanted = _as_volumes(given, wanted)
            quantity = _units().Quantity(amount, _PINT_EXPRESSIONS.get(given, given))
            found = Decimal(quantity.to(_PINT_EXPRESSIONS.get(wanted, wanted)).magnitude)
            shown = round(found, _decimals(found))
    except (pint.PintError, ArithmeticError, ValueError):
        return None
    mark = "" if abs(found - shown) <= _ROUNDING * abs(found) else "≈ "
    notes = [_NOTES[unit] for unit in dict.fromkeys((given, wanted)) if unit in _NOTES]
    return QuickCheck(
        kind="conversion",
        asked=f"{format_number(amount)} {_written(given, amount)}",
        answer=f"{mark}{format_number(shown)} {_written(wanted, shown)}",
        value=plain_number(shown),
        note=f"With {' and '.join(notes)}." if notes else "",
    )


def _read_unit(text: str) -> str:
    """Return pint's name of a unit that a person typed; empty if it is no unit."""
    name = " ".join(text.lower().replace("_", " ").removeprefix("a ").split())
    return _BY_NAME.get(name, "")


def _as_volumes(given: str, wanted: str) -> tuple[str, str]:
    """Return the units, with fluid ounces for ounces beside a volume."""
    units = _units()
    volumes = [
        units.get_dimensionality(_PINT_EXPRESSIONS.get(one, one)) == units.get_dimensionality("liter")
        for one in (given, wanted)
    ]
    if any(volumes) and not all(volumes):
        return tuple("fluid_ounce" if one == "ounce" else one for one in (given, wanted))  # type: ignore[return-value]  # a pair
    return given, wanted


def _decimals(number: Decimal) -> int:
    """Return the number of decimal places that leave the significant digits. A whole number keeps all of its digits."""
    if number == number.to_integral_value() and number.adjusted() < MAX_WHOLE_DIGITS:
        return 0
    return SIGNIFICANT_DIGITS - 1 - number.adjusted()


def _written(unit: str, amount: Decimal) -> str:
    """Return the unit as people write it behind an amount."""
    if unit in _SYMBOLS:
        return _SYMBOLS[unit]
    first = _NAMES[unit].split()[0]
    if first in _AS_TYPED:
        return _WRITTEN.get(first, first)
    name = unit.replace("_", " ")
    return name if abs(amount) == 1 else _PLURALS.get(unit, f"{name}s")
