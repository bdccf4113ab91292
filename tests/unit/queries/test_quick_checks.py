"""Quick checks: which queries they answer, what they answer, and that hostile queries cost nothing."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.http.about import QUICK_QUESTIONS
from streams.queries.quick import calculator, checks, dates, units
from streams.queries.quick.checks import FoundStatement, find_definition

NOW = datetime(2026, 11, 24, 8, 0, tzinfo=UTC)
ORDINARY = (Path(__file__).parent / "data" / "ordinary_queries.txt").read_text(encoding="utf-8").splitlines()

SUMS = [
    ("2+2", "4"),
    ("what is 2+2?", "4"),
    ("0.1 + 0.2", "0.3"),  # decimal numbers, not floats
    ("1,000 * 3", "3,000"),
    ("2^10", "1,024"),
    ("2**0.5", "≈ 1.41421356237"),
    ("-2^2 + 0", "−4"),  # the power comes first, as in mathematics
    ("2^3^2", "512"),  # powers are read from the right
    ("10 / 4", "2.5"),
    ("1/3 =", "≈ 0.333333333333"),  # with the sign of equality a sum, without one perhaps a date
    ("9/11=", "≈ 0.818181818182"),
    ("15% of 80", "12"),
    ("200 + 10%", "220"),  # a share of what stands before it
    ("17 % 5", "2"),
    ("-7 mod 3", "2"),
    ("5! / 3!", "20"),
    ("sqrt(16)", "4"),
    ("log(1000) + ln(e)", "≈ 4"),  # e has no last digit
    ("log(1000) + 1", "4"),
    ("(1 + 2) × 3 ÷ 2", "4.5"),
    ("7 − 2", "5"),
    ("10^25 * 1", "1 × 10^25"),
    ("2 * 10^-9", "2 × 10^−9"),
]
CONVERSIONS = [
    ("5 miles in km", "8.04672 km", ""),
    ("72 F in C", "≈ 22.222222 °C", ""),
    ("-40 c to f", "−40 °F", ""),
    ("3 cups to ml", "≈ 709.76471 ml", "With US customary cups."),
    ("8 oz in ml", "≈ 236.58824 ml", "With US fluid ounces."),  # beside a volume
    ("16 oz in lb", "1 pound", ""),  # beside a mass
    ("6 ft in cm", "182.88 cm", ""),
    ("1,000 kg to tonnes", "1 metric ton", ""),
    ("100 km/h in mph", "≈ 62.137119 mph", ""),
    ("1 GB to MB", "1,000 megabytes", ""),
    ("1 gib in bytes", "1,073,741,824 bytes", ""),
    ("how many ounces in a pound", "16 ounces", ""),
    ("convert 2 hours to minutes", "120 minutes", ""),
    ("1 acre in m2", "≈ 4,046.8726 m²", ""),
]
TIMES = [
    ("time in Tokyo", "17:00, Tuesday, 24 November 2026", "2026-11-24T17:00+09:00"),
    ("what time is it in new york?", "03:00, Tuesday, 24 November 2026", "2026-11-24T03:00-05:00"),
    ("time in mumbai", "13:30, Tuesday, 24 November 2026", "2026-11-24T13:30+05:30"),
    ("3pm London in New York", "10:00 in New York", "2026-11-24T10:00-05:00"),
    ("12am London to Tokyo", "09:00 in Tokyo", "2026-11-24T09:00+09:00"),
    ("23:30 Berlin in Tokyo", "07:30 in Tokyo, the next day", "2026-11-25T07:30+09:00"),
    ("8 a.m. Tokyo in London", "23:00 in London, the day before", "2026-11-23T23:00+00:00"),
]
DATES = [
    ("days until 24 December 2026", "30 days", "30"),
    ("how many days until christmas?", "31 days", "31"),
    ("days until 23 november", "364 days", "364"),  # the next one
    ("days since 1 January 2000", "9,824 days", "9824"),
    ("days between 2026-03-01 and 2026-01-01", "−59 days", "-59"),
    ("weeks until December 24, 2026", "4 weeks and 2 days", "30"),
    ("2026-11-24 + 90 days", "Monday, 22 February 2027", "2027-02-22"),
    ("31 January 2026 + 1 month", "Saturday, 28 February 2026", "2026-02-28"),
    ("90 days from today", "Monday, 22 February 2027", "2027-02-22"),
    ("2 weeks before 2026-01-10", "Saturday, 27 December 2025", "2025-12-27"),
    ("30 days ago", "Sunday, 25 October 2026", "2026-10-25"),
    ("what day is 24 December 2026?", "Thursday", "2026-12-24"),
]
HOSTILE = [
    "2^10^10^10",
    "9^9^9^9^9",
    "-9**9**9**9 + 1",
    "2 ^ 0.5 ^ 9999999.7 - 1 / 0",
    "0.5^-99999999999999",
    "2^-99999999999 + 0",
    "400!*400!*400!",
    "9999999999!*2",
    "exp(exp(exp(9)))",
    "sin(10^400)",
    "(" * 119,
    "(" * 59 + "1" + ")" * 59,
    "-" * 119 + "1",
    "1" * 118 + "+1",
    "2^" * 59 + "2",
    "__import__('os')",
    "().__class__",
    "lambda: 1",
    "[1]*99999999",
    "'a'*99999999",
    "1 if 1 else 2",
    "1 << 99999999",
    "n0 + 1",
    "percent",
    "999999999999999 light years in mm",
    "0 kelvin in f",
    "9999-12-31 + 999999 days",
    "2026-11-24 - 99999 years",
    "days until 31 February",
    "99pm London in Tokyo",
    "time in ../../etc/passwd",
]


@pytest.mark.parametrize(("query", "answer"), SUMS)
def test_a_sum_is_calculated(query: str, answer: str) -> None:
    found = checks.check_query(query, NOW)
    assert found is not None
    assert (found.kind, found.answer) == ("calculation", answer)


@pytest.mark.parametrize(("query", "answer", "note"), CONVERSIONS)
def test_a_unit_is_converted(query: str, answer: str, note: str) -> None:
    found = checks.check_query(query, NOW)
    assert found is not None
    assert (found.kind, found.answer, found.note) == ("conversion", answer, note)


@pytest.mark.parametrize(("query", "answer", "value"), TIMES)
def test_a_time_elsewhere(query: str, answer: str, value: str) -> None:
    found = checks.check_query(query, NOW)
    assert found is not None
    assert (found.kind, found.answer, found.value) == ("time", answer, value)


@pytest.mark.parametrize(("query", "answer", "value"), DATES)
def test_a_date(query: str, answer: str, value: str) -> None:
    found = checks.check_query(query, NOW)
    assert found is not None
    assert (found.kind, found.answer, found.value) == ("date", answer, value)


def test_the_examples_of_the_help_are_answered() -> None:
    answered = [found.kind for query in QUICK_QUESTIONS if (found := checks.check_query(query, NOW))]
    assert answered == ["calculation", "conversion", "time", "date"]


def test_no_ordinary_query_is_answered() -> None:
    assert len(set(ORDINARY)) >= 200
    answered = {query for query in [*ORDINARY, "3 c to f"] if checks.check_query(query, NOW)}
    assert answered == {"3 c to f"}, "only the question that is no ordinary query"


@pytest.mark.parametrize("query", HOSTILE)
def test_a_hostile_query_costs_nothing(query: str) -> None:
    checks.warm_up()
    started = process_time()
    checks.check_query(query, NOW)
    assert process_time() - started < 0.5  # a collection of garbage may be in it


@given(st.text(alphabet="0123456789+-*/^().,!% episqrtlognfacd", max_size=120))
def test_no_text_breaks_a_check(text: str) -> None:
    checks.check_query(text, NOW)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_whole_numbers_are_exact(left: int, right: int) -> None:
    for sign, value in (("+", left + right), ("-", left - right), ("*", left * right)):
        found = calculator.calculate(f"({left}) {sign} ({right}) =")
        assert found is not None
        assert Decimal(found.value or "") == value


@given(st.decimals(1, 10**6, places=2), st.sampled_from([("km", "miles"), ("kg", "lb"), ("l", "gallons"), ("c", "f")]))
def test_a_unit_is_converted_there_and_back(amount: Decimal, pair: tuple[str, str]) -> None:
    there = units.convert(f"{amount} {pair[0]} in {pair[1]}")
    assert there is not None
    back = units.convert(f"{Decimal(there.value or ''):f} {pair[1]} in {pair[0]}")
    assert back is not None
    assert abs(Decimal(back.value or "") - amount) <= amount * Decimal("1e-5")


@given(st.dates(datetime(1900, 1, 1).date(), datetime(2200, 1, 1).date()), st.integers(0, 50_000))
def test_days_are_added_and_counted_alike(day: datetime, amount: int) -> None:
    later = dates.find_date(f"{day} + {amount} days", NOW)
    assert later is not None
    between = dates.find_date(f"days between {day} and {later.value}", NOW)
    assert between is not None
    assert between.value == str(amount)


STATEMENTS = [
    FoundStatement("Riffles are found in streams.", "https://a.example/", "Streams"),
    FoundStatement("The riffle is shallow.", "https://b.example/", "Depth"),
    FoundStatement("A riffle is a shallow stretch of a stream.", "https://c.example/", "Riffle"),
    FoundStatement("A riffle is the other thing.", "https://d.example/", "Other"),
    FoundStatement("WAL (write-ahead log) is a file beside the database.", "https://e.example/", "WAL"),
]


@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("define riffle", "https://c.example/"),  # the first statement of the form
        ("what is a Riffle?", "https://c.example/"),
        ("meaning of riffle", "https://c.example/"),
        ("what is WAL", "https://e.example/"),  # with its long form in brackets
        ("riffle", None),  # asks for no definition
        ("what is a stream", None),  # no statement defines it
        ("what is a riffle used for", None),
        ("define " + "very " * 9 + "long", None),
    ],
)
def test_a_definition_is_a_found_statement(query: str, url: str | None) -> None:
    found = find_definition(query, STATEMENTS)
    assert (found and found.url) == url
    assert found is None or found.answer in {each.text for each in STATEMENTS}


@given(st.text(max_size=60))
def test_what_is_defined_is_never_a_pattern(subject: str) -> None:
    find_definition(f"define {subject}", STATEMENTS)
    assert len(checks.definition_subject(f"define {subject}").split()) <= checks.MAX_WORDS
