"""The weight of meaning with each set left out: which sets train, the constant that they choose, and the figures."""

from typing import Any

import pytest

from benchmarks.search.left_out_weight import (
    OTHERS,
    OURS,
    TRAINING,
    best_constant,
    rows_without,
    summarize,
    table,
    weights_of,
)
from benchmarks.search.meaning_weight import GRID, fit


def row(best: float, terms: float = 1.0) -> dict[str, Any]:
    """A query that has all with this weight, and less with others."""
    return {
        "terms": terms,
        "fall": 0.1 * terms,
        "question": float(terms < 2),
        "gains": [1 - abs(weight - best) for weight in GRID],
    }


ROWS = {"cacm": [row(0.2)], "npl": [row(0.4)] * 9, "cranfield": [row(0.3)], "squad-a": [row(0.9)], "links": [row(0.1)]}


@pytest.mark.parametrize(
    ("name", "trained"),
    [
        ("cacm", {"npl", "cranfield"}),  # a training set has no part in its own parameters
        ("squad-a", {"cacm", "npl", "cranfield"}),
        ("unknown", {"cacm", "npl", "cranfield"}),
    ],
)
def test_only_other_training_sets_train(name: str, trained: set[str]) -> None:
    assert set(rows_without(name, ROWS, TRAINING)) == trained


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ({"one": [row(0.2)] * 3}, 0.2),
        ({"few": [row(0.2)], "many": [row(0.6)] * 50, "third": [row(0.3)]}, 0.3),  # the number of queries is no share
    ],
)
def test_each_set_has_the_same_share_in_the_constant(rows: dict[str, list[dict[str, Any]]], best: float) -> None:
    assert best_constant(rows) == best


def test_weights_follow_from_the_parameters() -> None:
    parameters = fit({"one": [row(0.9, terms=0.5)] * 4 + [row(0.3, terms=3.0)] * 4})
    short, long = weights_of(parameters, [row(0.9, terms=0.5), row(0.3, terms=3.0)])
    assert 0.2 <= long < short <= 0.95


def test_the_figures_count_each_set_once_and_name_the_least() -> None:
    def gains(ours: list[float], constant: list[float]) -> dict[str, list[float]]:
        return {OURS: ours} | dict.fromkeys(OTHERS, ours) | {"constant": constant}

    found = summarize(
        {
            "cacm": gains([0.5, 0.7], [0.4, 0.6]),
            "npl": gains([0.5] * 8, [0.5] * 8),
            "links": gains([0.9, 0.9], [0.5, 0.5]),
        }
    )
    assert found["sets"]["cacm"]["gain_over"]["constant"] == {"mean": 0.1, "error": 0.0}
    assert found["mean"]["gain_over"]["constant"]["mean"] == pytest.approx(0.5 / 3, abs=1e-4)
    assert found["judged"]["gain_over"]["constant"]["mean"] == 0.05, "nobody has judged links"
    assert found["least"]["constant"] == 0.05
    assert table(found)[2].startswith("| cacm | 2 | .500 | .600 | .600 |")
