"""Who may use the pages of operators, and what is computed of the lags."""

from base64 import b64encode
from dataclasses import dataclass, replace

import pytest

from streams.admin.access import MAX_NAME_CHARS, read_operator
from streams.admin.figures import Overview
from streams.admin.rates import KEPT_LOOKS, Rates, StageRate
from streams.plain_text import clean_line

KEY = "a key of operators, long enough"


def basic(text: str) -> str:
    return f"Basic {b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (basic(f"Ada:{KEY}"), "Ada"),
        (basic(f"Ada Lovelace@example.org:{KEY}").replace("Basic", "basic"), "Ada Lovelace@example.org"),
        (basic(f":{KEY}"), "operator"),
        (basic(f"a\x1b[31m:{KEY}"), clean_line("a\x1b[31m")),
        (basic(f"{'x' * 999}:{KEY}"), "x" * MAX_NAME_CHARS),
        ("", None),
        (f"Bearer {KEY}", None),
        (basic(f"Ada:{KEY}x"), None),
        (basic("Ada:"), None),
        (basic(KEY), None),
        ("Basic \xff", None),
        ("Basic aaa", None),
    ],
)
def test_only_the_key_opens_the_pages(header: str, name: str | None) -> None:
    operator = read_operator(header, KEY)
    assert (operator.name if operator else None) == name


def test_a_form_has_the_token_of_its_operator_and_key() -> None:
    ada, bob = read_operator(basic(f"Ada:{KEY}"), KEY), read_operator(basic(f"Bob:{KEY}"), KEY)
    other = read_operator(basic(f"Ada:{KEY}2"), f"{KEY}2")
    assert ada is not None
    assert bob is not None
    assert other is not None
    assert ada.sent(ada.token)
    assert not any(ada.sent(token) for token in ("", bob.token, other.token, "é"))


@dataclass(frozen=True)
class Lag:
    stage: str
    events: int
    handled: int
    lost: int = 0


LOOKS = [
    # looks as (time, waiting, handled), and what follows
    ([(0, 100, 0)], StageRate("embed", 100, None, None)),
    ([(0, 100, 0), (10, 50, 80)], StageRate("embed", 50, 8.0, 10.0)),
    ([(0, 100, 0), (10, 100, 80)], StageRate("embed", 100, 8.0, None)),  # as many arrive
    ([(0, 100, 0), (10, 700, 80)], StageRate("embed", 700, 8.0, None, falls_behind=True)),
    ([(0, 7, 50), (10, 7, 50)], StageRate("embed", 7, 0.0, None, falls_behind=True)),  # nothing is handled
    ([(0, 9_000, 0), (10, 8_000, 80)], StageRate("embed", 8_000, 8.0, 80.0)),
    ([(0, 100, 0), (10, 0, 100)], StageRate("embed", 0, 10.0, 0.0)),
    ([(0, 0, 100), (10, 0, 90)], StageRate("embed", 0, 0.0, 0.0)),  # offsets were set back
    ([(0, 9, 9), *((at, 60 - at, at) for at in range(1, KEPT_LOOKS + 1))], StageRate("embed", 30, 1.0, 30.0)),
]


@pytest.mark.parametrize(("looks", "expected"), LOOKS)
def test_the_rate_of_a_stage(looks: list[tuple[int, int, int]], expected: StageRate) -> None:
    rates = Rates()
    for at, waiting, handled in looks:
        rates.note(at, [Lag("embed", waiting - waiting // 2, handled), Lag("embed", waiting // 2, 0)])
    assert rates.stages() == [expected]


@pytest.mark.parametrize(
    ("looks", "verdict"),
    [
        ([(0, 0, 0)], "well"),
        ([(0, 100, 0)], "early"),
        ([(0, 100, 0), (30, 900, 80)], "early"),
        ([(0, 100, 0), (60, 900, 80)], "behind"),
        ([(0, 900, 0), (60, 100, 800)], "well"),
        ([(0, 30, 0), (60, 31, 6_000)], "well"),
        ([(0, 30, 0), (60, 30, 0)], "behind"),
    ],
    ids=["nothing waits", "the first look", "too early", "the queue grows", "it shrinks", "it is short", "it is stuck"],
)
def test_all_is_well_only_if_the_queues_are_known_not_to_grow(looks: list[tuple[int, int, int]], verdict: str) -> None:
    rates = Rates()
    for at, waiting, handled in looks:
        rates.note(at, [Lag("embed", waiting, handled)])
    shown = Overview(stages=rates.stages(), may_judge=rates.may_judge)
    assert shown.verdict == verdict
    assert replace(shown, missing=("the frontier",)).verdict == "wrong"
