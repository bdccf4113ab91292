"""`riffle eval confidence`: the made queries, the choice of the bound, and the figures."""

from dataclasses import replace

import pytest

from streams.errors import UsageError
from streams.evaluation.confidence import Judged, choose_bound, summarize
from streams.evaluation.nonsense import all_nonsense, make_nonsense, make_senseless

NEAR = Judged("near", tuple(0.5 + step / 1_000 for step in range(400)), {"letters": (0.3, 0.4), "mixed": (0.2, 0.55)})
FAR = Judged("far", tuple(0.4 + step / 1_000 for step in range(400)), {"letters": (0.1, 0.2), "mixed": (0.3, 0.6)})


def test_200_different_queries_are_made_and_always_the_same() -> None:
    asked = all_nonsense()
    assert len(asked) == len(set(asked)) == 200
    assert make_nonsense() == make_nonsense()
    further = make_senseless()
    assert len(set(further) - set(asked)) == 40
    assert further == make_senseless()


def test_the_bound_is_in_the_middle_between_nonsense_and_answered_queries() -> None:
    clear = Judged("clear", (0.6, 0.7, 0.9), {"letters": (0.2, 0.3), "mixed": (0.1, 0.4)})
    assert choose_bound([clear]) == pytest.approx((0.6 + 0.41) / 2, abs=0.01)
    assert choose_bound([FAR]) < choose_bound([NEAR]), "each collection has its own distances"


def test_senseless_words_are_measured_and_choose_nothing() -> None:
    far = replace(FAR, senseless=(0.2, 0.5, 0.6, 0.7))
    assert choose_bound([far]) == choose_bound([FAR])
    found = summarize([NEAR, far], 0.55)["sets"]["far"]
    assert found["confident_senseless"] == 0.5
    assert found["confident_nonsense"] == 0.25


def test_a_collection_is_judged_by_the_choice_of_the_others() -> None:
    found = summarize([NEAR, FAR], 0.5)["sets"]
    assert found["far"]["chosen_by_others"]["bound"] == choose_bound([NEAR])
    assert found["far"]["chosen_by_others"]["lost"] == pytest.approx(FAR.lost(choose_bound([NEAR])))
    assert (found["near"]["lost"], found["near"]["confident_nonsense"]) == (0.0, 0.25)
    assert found["near"]["kinds"] == {"letters": 0.0, "mixed": 0.5}
    assert "lost" not in summarize([NEAR, FAR], None)["sets"]["near"], "a model without a bound"
    with pytest.raises(UsageError, match="two or more"):
        summarize([NEAR], 0.5)
