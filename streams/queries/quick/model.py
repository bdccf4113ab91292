"""The answer of a quick check, and the precision, limits and form of its decimal numbers. Pure."""

from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, Underflow
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["calculation", "conversion", "time", "date", "definition"]
PRECISION = 30
"""Digits of each step of a calculation."""
SHOWN_DIGITS = 12
"""Maximum digits that people see of a number that is not whole."""
MAX_EXPONENT = 999
"""Maximum power of ten of a result. A larger number ends the calculation at once: no step has more than 30 digits."""
_PLAIN_BELOW = Decimal(10) ** 21
_PLAIN_FROM = Decimal(10) ** -7


class QuickCheck(BaseModel):
    """An answer that follows from the query by itself, or a definition that was found."""

    model_config = ConfigDict(
        frozen=True,
        json_schema_extra={
            "examples": [
                {"kind": "conversion", "asked": "5 miles", "answer": "8.04672 km", "value": "8.04672", "note": ""}
            ]
        },
    )

    kind: Kind
    asked: str = Field(description="The question as it was understood.")
    answer: str = Field(description="The answer for people, as plain text.")
    value: str | None = Field(
        None, description="The answer for programs: a decimal number, a date or a time in ISO 8601; absent for words."
    )
    note: str = Field("", description="What else a reader should know, such as the kind of a unit.")
    url: str | None = Field(None, description="The page that has the definition.")
    title: str | None = Field(None, description="The title of that page.")


def calculation_context() -> Context:
    """Return the context of all calculations. Results beyond its limits raise ArithmeticError."""
    traps = [InvalidOperation, DivisionByZero, Overflow, Underflow]
    return Context(prec=PRECISION, Emax=MAX_EXPONENT, Emin=-MAX_EXPONENT, traps=traps)


def format_number(number: Decimal) -> str:
    """Return the number for people: `1,234.5`, or `1.5 × 10^24` if it is very large or small."""
    rounded = round_number(number)
    if rounded == 0:
        return "0"
    if _PLAIN_FROM <= abs(rounded) < _PLAIN_BELOW:
        return f"{rounded:,f}".replace("-", "−")
    digits, _, exponent = f"{rounded:E}".partition("E")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits} × 10^{int(exponent)}".replace("-", "−")


def plain_number(number: Decimal) -> str:
    """Return the number for programs: `1234.5`, or `1.5E+24` if it is very large or small."""
    rounded = round_number(number)
    if rounded == 0:
        return "0"
    return f"{rounded:f}" if _PLAIN_FROM <= abs(rounded) < _PLAIN_BELOW else str(rounded)


def round_number(number: Decimal) -> Decimal:
    """Return the number with the digits that people see, without zeros at its end. A whole number keeps its digits."""
    if number == number.to_integral_value() and abs(number) < _PLAIN_BELOW:
        return number.to_integral_value()
    return number.normalize(Context(prec=SHOWN_DIGITS))


def is_shown_exactly(number: Decimal) -> bool:
    """Return True if no digit of the number is left out."""
    return round_number(number) == number and len(number.as_tuple().digits) < PRECISION
