"""Numbers in words to a hundred, and units by all of their names."""

from decimal import Decimal

import pytest

from streams.answers.answer_form import has_form
from streams.answers.quantities import quantities_of
from streams.language.units import COUNTED, UNITS, UNITS_IN_TEXTS, factor_of, measure

ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
IN_WORDS = [
    *ONES,
    *TEENS,
    *(word for ten in TENS for word in (ten, *(f"{ten}-{one}" for one in ONES))),
    "one hundred",
]


def test_numbers_to_a_hundred_are_read() -> None:
    assert len(IN_WORDS) == 100
    for value, words in enumerate(IN_WORDS, start=1):
        assert [each.value for each in quantities_of(f"There are {words} islands.")] == [Decimal(value)], words
        assert has_form(f"There are {words} islands.", "number", frozenset()), words


@pytest.mark.parametrize("text", ["There are several islands.", "There is nothing there.", "The tenth island"])
def test_other_words_are_no_numbers(text: str) -> None:
    assert not has_form(text, "number", frozenset())


@pytest.mark.parametrize(("name", "unit"), UNITS_IN_TEXTS.items())
def test_a_unit_has_each_of_its_names(name: str, unit: str) -> None:
    if name.isalpha():
        assert [each.key for each in quantities_of(f"It has 5 {name}.")] == [(Decimal(5), unit)]


@pytest.mark.parametrize("unit", UNITS)
def test_pint_knows_each_unit(unit: str) -> None:
    assert measure(Decimal(1), unit).magnitude == 1


@pytest.mark.parametrize("unit", [*COUNTED, "percent", "byte", "degree_Celsius", "#", ""])
def test_some_units_are_never_compared_with_others(unit: str) -> None:
    assert factor_of(unit) is None
