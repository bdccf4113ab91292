"""Late interaction: the score of a statement, what is kept of a token's vector, and the figures of each form."""

import numpy as np
import pytest

from benchmarks.search.late_interaction import (
    FORMS,
    MIN_QUERIES,
    WEIGHTS,
    Row,
    fit_projection,
    keep,
    max_sim,
    summarize,
    table,
    unit,
)
from streams.models.inference.encoder import Floats

EAST, NORTH, UP = np.eye(3, dtype=np.float32)
NORTH_EAST = (EAST + NORTH) / np.float32(np.sqrt(2))
NOTHING = np.empty((0, 3), np.float32)


@pytest.mark.parametrize(
    ("query", "tokens", "score"),
    [
        ([EAST], [EAST], 1.0),
        ([EAST, NORTH], [EAST, UP], 0.5),  # the second word of the query has no like
        ([EAST, NORTH], [NORTH_EAST, UP], 0.5**0.5),  # one token may be the best for both
        ([EAST], [-EAST, UP], 0.0),
        ([EAST], [-EAST], -1.0),
        ([EAST, EAST, UP], [EAST, NORTH, NORTH], 2 / 3),  # further tokens of the statement cost nothing
    ],
)
def test_the_score_is_the_mean_of_the_best_cosines(query: list[Floats], tokens: list[Floats], score: float) -> None:
    assert max_sim(np.array(query), np.array(tokens)) == pytest.approx(score)


def test_nothing_has_no_score() -> None:
    assert max_sim(NOTHING, np.array([EAST])) == max_sim(np.array([EAST]), NOTHING) == 0.0


def test_what_is_kept_has_nearly_the_same_cosines() -> None:
    random = np.random.default_rng(1)
    # Vectors of 32 numbers that differ in 8 directions only, so 8 dimensions have all that there is to keep.
    tokens = unit(random.normal(size=(200, 8)) @ random.normal(size=(8, 32)))
    projection = fit_projection(tokens)[:, :8]
    kept = keep(tokens, projection)
    assert kept.nbytes == 200 * 8
    query, page = tokens[:5], tokens[5:30]
    assert max_sim(unit(query @ projection), unit(kept[5:30])) == pytest.approx(max_sim(query, page), abs=0.01)


def test_the_projection_keeps_what_all_tokens_share() -> None:
    """A projection that were centred would drop the direction in which all of them lie."""
    tokens = unit(np.array([EAST * 9 + NORTH, EAST * 9 - NORTH, EAST * 9 + UP / 2, EAST * 9 - UP / 2]))
    assert np.abs(fit_projection(tokens)[:, 0]) == pytest.approx(EAST, abs=1e-6)


def test_a_vector_of_zeros_stays() -> None:
    assert keep(NOTHING[:0], np.eye(3, dtype=np.float32)).shape == (0, 3)
    assert unit(np.zeros((1, 3))).tolist() == [[0, 0, 0]]


def row(name: str, gain: float) -> Row:
    """A collection whose questions gain with the first form alone, two of three, and whose one other query loses."""
    questions = MIN_QUERIES * 3
    better = [[*[0.5 + gain * weight, 0.5 + gain * weight, 0.5] * MIN_QUERIES, 0.0] for weight in WEIGHTS]
    today = [0.5] * questions + [1.0]
    return {
        "set": name,
        "questions": [*[True] * questions, False],
        "today": today,
        "forms": {
            form: {"gains": better if place == 0 else [today] * len(WEIGHTS), "bytes": 100 * place, "ms": 0.5}
            for place, form in enumerate(FORMS)
        },
    }


def test_questions_are_judged_apart_and_each_collection_by_the_weight_of_the_others() -> None:
    found = summarize([row("one", 0.3), row("two", 0.3), row("three", -0.6)])
    first, second, *_ = FORMS
    of_questions = found["questions"][first]
    assert found["sets"]["one"] == {"questions": 3 * MIN_QUERIES, "others": 1}
    assert of_questions["0.4"]["sets"]["one"]["mean"] == pytest.approx(0.08)
    assert of_questions["0.4"]["mean"]["mean"] == pytest.approx(0)
    # The others of `three` choose the highest weight, and it loses; those of `one` and `two` choose none.
    assert of_questions["left_out"]["three"]["mean"] == pytest.approx(-0.32)
    assert of_questions["left_out"]["one"]["mean"] == 0
    assert found["questions"][second]["means"]["all"] == {"mean": 0, "error": 0}
    assert found["others"] == {form: {} for form in FORMS}  # too few
    assert found["costs"][second] == {"bytes": 100, "ms": 0.5}
    assert table(found, "questions")[3].startswith(f"| {second} | +0.0000 ±0.0000 |")
    assert table(found, "others")[3] == f"| {second} | - | - | - | - | - | - | 100 | 0.5 |"
