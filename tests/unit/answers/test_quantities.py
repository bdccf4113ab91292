"""Quantities: equal ones are equal in every spelling."""

from decimal import Decimal

import pytest

from streams.answers.quantities import quantities_of

CASES = [
    # text, number and unit of each quantity
    ("It cost $1.5 million in 1990.", [("1500000", "usd"), ("1990", "")]),
    ("1,200 km", [("1200", "kilometer")]),
    ("1.2 thousand kilometres", [("1200", "kilometer")]),
    ("twelve hundred men", [("1200", "")]),
    ("twenty-five people came third", [("25", "people"), ("3", "#")]),
    ("the 2nd of 12 dozen", [("2", "#"), ("144", "")]),
    ("5% and 5 percent", [("5", "percent"), ("5", "percent")]),
    ("-5 degrees", [("-5", "degree")]),
    ("10-20 km", [("10", ""), ("20", "kilometer")]),
    ("in the 1990s", [("1990", "decade")]),
    ("-$5 and $-5 and –€5", [("-5", "usd"), ("-5", "usd"), ("-5", "eur")]),
    ("$3-$5", [("3", "usd"), ("5", "usd")]),
    ("10⁶, 10^6, 10**6 and 10⁻³", [("1000000", ""), ("1000000", ""), ("1000000", ""), ("0.001", "")]),
    ("5 × 10⁶ km and 5x10^6 km", [("5000000", "kilometer"), ("5000000", "kilometer")]),
    ("110⁶ and 2^8", [("110", ""), ("2", ""), ("8", "")]),
    ("5 lakhs, two dozens", [("500000", ""), ("24", "")]),
    ("½ cup, 5‰", [("0.5", ""), ("5", "permille")]),
    ("5M and 5 m and $5m", [("5", "M"), ("5", "meter"), ("5000000", "usd")]),
    ("no one number", [("1", "")]),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_quantities(text: str, expected: list[tuple[str, str]]) -> None:
    found = [each.key for each in quantities_of(text)]
    assert found == [(Decimal(value), unit) for value, unit in expected]
