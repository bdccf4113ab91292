"""Units: their names in texts and in queries, and their factors, which pint knows."""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pint

UNITS = {
    "millimeter": "mm millimeter millimetre", "centimeter": "cm centimeter centimetre", "meter": "m meter metre",
    "kilometer": "km kilometer kilometre", "inch": 'inch inches | in "', "foot": "ft foot feet | '",
    "yard": "yard | yd", "mile": "mi mile", "nautical_mile": "| nmi nautical_mile",
    "light_year": "| ly light_year lightyear", "milligram": "mg milligram", "gram": "g gram gramme",
    "kilogram": "kg kilogram kilo", "metric_ton": "tonne | t metric_ton", "ounce": "oz ounce", "pound": "lb pound",
    "stone": "| stone st", "short_ton": "ton | short_ton", "long_ton": "| long_ton", "carat": "| carat",
    "milliliter": "ml milliliter millilitre | cc", "centiliter": "| cl centiliter centilitre",
    "deciliter": "| dl deciliter decilitre", "liter": "l liter litre", "teaspoon": "| tsp teaspoon",
    "tablespoon": "| tbsp tablespoon", "fluid_ounce": "| floz fl_oz fluid_ounce", "cup": "| cup", "pint": "| pt pint",
    "quart": "| qt quart", "gallon": "gallon | gal", "cubic_meter": "| m3 m³ cubic_meter cubic_metre",
    "cubic_centimeter": "| cm3 cm³ cubic_centimeter cubic_centimetre",
    "cubic_foot": "| ft3 ft³ cubic_foot cubic_feet", "cubic_inch": "| in3 in³ cubic_inch cubic_inches",
    "square_meter": "m2 m² | sqm square_meter square_metre",
    "square_kilometer": "km2 km² | square_kilometer square_kilometre",
    "square_centimeter": "| cm2 cm² square_centimeter square_centimetre",
    "square_foot": "| ft2 ft² sqft sq_ft square_foot square_feet",
    "square_inch": "| in2 in² square_inch square_inches", "square_mile": "| mi2 mi² square_mile", "acre": "acre",
    "hectare": "ha hectare", "millisecond": "ms millisecond", "second": "s sec second", "minute": "min minute",
    "hour": "h hr hour", "day": "day", "week": "week", "month": "month", "year": "year yr",
    "degree_Celsius": "°c celsius | c degc degrees_celsius degree_celsius degrees_c centigrade",
    "degree_Fahrenheit": "°f fahrenheit | f degf degrees_fahrenheit degree_fahrenheit degrees_f",
    "kelvin": "kelvin | k", "mile_per_hour": "mph | miles_per_hour mi/h",
    "kilometer_per_hour": "kph kmh km/h | kilometers_per_hour kilometres_per_hour",
    "meter_per_second": "| m/s meters_per_second metres_per_second", "knot": "| kn knot", "joule": "| j joule",
    "kilojoule": "| kj kilojoule", "calorie": "| cal calorie", "kilocalorie": "| kcal kilocalorie",
    "kilowatt_hour": "kwh | kilowatt_hour", "watt": "watt | w", "kilowatt": "kw kilowatt",
    "horsepower": "| hp horsepower", "pascal": "| pa pascal", "kilopascal": "| kpa kilopascal", "bar": "| bar",
    "atmosphere": "| atm atmosphere", "psi": "| psi", "millimeter_Hg": "| mmhg", "byte": "byte",
    "kilobyte": "kb kilobyte", "megabyte": "mb megabyte", "gigabyte": "gb gigabyte", "terabyte": "tb terabyte",
    "kibibyte": "kib kibibyte", "mebibyte": "mib mebibyte", "gibibyte": "gib gibibyte", "tebibyte": "| tib tebibyte",
    "bit": "bit", "kilobit": "| kbit kilobit", "megabit": "| mbit megabit", "gigabit": "| gbit gigabit",
    "degree": "° degree | deg", "radian": "| rad radian",
    "percent": "% percent pct", "permille": "‰ permille", "hertz": "hz hertz", "kilohertz": "khz",
    "megahertz": "mhz megahertz", "gigahertz": "ghz gigahertz", "volt": "v volt", "megawatt": "mw megawatt",
}  # fmt: skip
"""pint's name of each unit, and its names in the singular. Names behind `|` are known only in a query that asks for a
conversion: in a text they have other meanings."""
COUNTED = {
    "century": "century centuries", "decade": "decade", "point": "point", "people": "people person inhabitant",
    "usd": "$ usd dollar", "eur": "€ eur euro", "gbp": "£ gbp", "jpy": "¥ jpy yen",
}  # fmt: skip
"""Things that numbers count in texts. They are never converted. A century or decade may be a date: `in the 1990s`."""
UNITS_IN_TEXTS = {name: unit for unit, names in (UNITS | COUNTED).items() for name in names.partition("|")[0].split()}
UNITS_IN_QUERIES = {
    name.replace("_", " "): unit for unit, names in UNITS.items() for name in names.replace("|", " ").split()
}
_EXPRESSIONS = {
    "cubic_meter": "meter**3", "cubic_centimeter": "centimeter**3", "cubic_foot": "foot**3", "cubic_inch": "inch**3",
    "square_meter": "meter**2", "square_kilometer": "kilometer**2", "square_centimeter": "centimeter**2",
    "square_foot": "foot**2", "square_inch": "inch**2", "square_mile": "mile**2",
    "mile_per_hour": "mile/hour", "kilometer_per_hour": "kilometer/hour", "meter_per_second": "meter/second",
    "kilowatt_hour": "kilowatt*hour",
}  # fmt: skip
"""Units that pint writes as an expression."""
_NOT_COMPARED = frozenset({"short_ton", "gallon", "degree_Celsius", "degree_Fahrenheit"})
"""Units that a text may mean in another size, or that have no factor."""


def find_unit(name: str, units: Mapping[str, str]) -> str:
    """Return the unit with this name in lower case, in the singular or with an `s`; empty if there is none."""
    return units.get(name) or units.get(name.removesuffix("s"), "")


@cache
def registry() -> "pint.UnitRegistry[Decimal]":
    """Return the registry of units, with decimal numbers. Making it takes some tenths of a second."""
    import pint

    return pint.UnitRegistry(non_int_type=Decimal, cache_folder=None)


def measure(amount: Decimal, unit: str) -> "pint.registry.Quantity[Decimal]":
    """Return an amount with its unit of the table. Raises pint.PintError for a unit that the registry does not know."""
    return registry().Quantity(amount, expression_of(unit))


def expression_of(unit: str) -> str:
    """Return a unit of the table as pint reads it."""
    return _EXPRESSIONS.get(unit, unit)


@cache
def factor_of(unit: str) -> tuple[str, Decimal] | None:
    """Return the dimension of a unit, as in `[length]`, and its factor; None if it is compared with no other unit."""
    if unit not in UNITS or unit in _NOT_COMPARED:
        return None
    base = measure(Decimal(1), unit).to_base_units()
    return None if base.dimensionless else (str(base.dimensionality), base.magnitude)
