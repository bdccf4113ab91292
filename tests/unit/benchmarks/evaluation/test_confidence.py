"""`python -m benchmarks eval confidence`: the made queries, the choice of the bound, and the figures."""

from dataclasses import replace

import pytest

from benchmarks.evaluation.confidence import Judged, choose_bound, summarize
from streams.errors import UsageError
from streams.search.retrieval.nonsense import all_nonsense, make_nonsense, make_senseless

NEAR = Judged("near", tuple(0.5 + step / 1_000 for step in range(400)), {"letters": (0.3, 0.4), "mixed": (0.2, 0.55)})
FAR = Judged("far", tuple(0.4 + step / 1_000 for step in range(400)), {"letters": (0.1, 0.2), "mixed": (0.3, 0.6)})


def test_200_different_queries_are_made_and_always_the_same() -> None:
    asked = all_nonsense()
    assert len(asked) == len(set(asked)) == 200
    assert make_nonsense() == make_nonsense()
    fresh = {query for queries in make_nonsense("fresh").values() for query in queries}
    assert len(fresh - set(asked)) > 190, "another draw has other queries"
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


def test_the_bound_of_an_index_is_judged_on_other_queries() -> None:
    made = {"mixed": tuple(step / 200 for step in range(160))}
    broad = Judged("broad", (0.6, 0.9), made, (0.9,), 0.75, (0.7, 0.8))
    found = summarize([NEAR, broad], 0.55)
    assert found["sets"]["broad"]["of_index"] == {
        "bound": 0.75,
        "lost": 0.5,
        "confident_nonsense": pytest.approx(10 / 160),
        "confident_fresh": 0.5,
        "confident_senseless": 1.0,
    }
    assert found["sets"]["near"]["of_index"]["bound"] == 0.55
    assert found["mean_of_index"]["lost"] == pytest.approx((0.5 + NEAR.lost(0.55)) / 2, abs=1e-4)


def test_a_collection_is_judged_by_the_choice_of_the_others() -> None:
    found = summarize([NEAR, FAR], 0.5)["sets"]
    assert found["far"]["chosen_by_others"]["bound"] == choose_bound([NEAR])
    assert found["far"]["chosen_by_others"]["lost"] == pytest.approx(FAR.lost(choose_bound([NEAR])))
    assert (found["near"]["lost"], found["near"]["confident_nonsense"]) == (0.0, 0.25)
    assert found["near"]["kinds"] == {"letters": 0.0, "mixed": 0.5}
    assert "lost" not in summarize([NEAR, FAR], None)["sets"]["near"], "a model without a bound"
    with pytest.raises(UsageError, match="two or more"):
        summarize([NEAR], 0.5)
