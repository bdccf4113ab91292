"""Figures over several collections, against values computed by hand."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.evaluation.protocol import (
    Difference,
    Measured,
    compare,
    find_collections,
    gains_left_out,
    mean_of,
    summarize,
)
from streams.errors import UsageError


def test_differences_are_paired() -> None:
    # Each query gains .1, so the difference is certain, although the queries differ much from each other.
    found = compare([0.1, 0.9, 0.5], [0.0, 0.8, 0.4])
    assert [found.mean, found.error] == pytest.approx([0.1, 0.0], abs=1e-9)
    found = compare([1.0, 0.0], [0.0, 0.0])
    assert [found.mean, found.error] == pytest.approx([0.5, math.sqrt(0.5) / math.sqrt(2)])
    assert compare([1.0], [0.5]).error == math.inf, "one query shows nothing"


def test_each_collection_has_the_same_share_of_a_mean() -> None:
    found = mean_of([Difference(0.1, 0.03), Difference(-0.1, 0.04)])
    assert [found.mean, found.error] == pytest.approx([0.0, 0.025])


def measured(name: str, riffle: list[float], without: list[float], strengths: Sequence[list[float]] = ()) -> Measured:
    lists = {"words": [0.1] * len(riffle), "meaning": [0.3] * len(riffle), "rrf": [0.2] * len(riffle)}
    return Measured(name, {"riffle": riffle, **lists}, {"a signal": without}, {"a signal": strengths})


def test_a_part_that_owes_its_gain_to_one_collection_is_seen() -> None:
    # In the mean the part gains .15. Without the first collection, which has nine of ten queries, it loses.
    found = summarize([measured("chosen", [0.5] * 9, [0.1] * 9), measured("other", [0.4], [0.5])])
    assert found["mean"]["parts"]["a signal"]["mean"] == 0.15
    assert found["least"]["a signal"] == {"left_out": "chosen", "mean": -0.1}
    assert found["sets"]["chosen"]["best_list"] == "meaning"
    assert found["sets"]["chosen"]["over_best_list"]["mean"] == 0.2


def test_a_strength_is_judged_where_it_had_no_part_in_the_choice() -> None:
    # By strength: weak, strong. The first two collections owe most to the strong one, and the third loses by it.
    collections = [
        measured("one", [0.5, 0.5], [0.3, 0.3], [[0.4, 0.4], [0.5, 0.5]]),
        measured("two", [0.5, 0.5], [0.3, 0.3], [[0.4, 0.4], [0.5, 0.5]]),
        measured("links", [0.4, 0.2], [0.3, 0.3], [[0.35, 0.35], [0.1, 0.1]]),
    ]
    [one, two, links] = gains_left_out(collections, "a signal")
    # Only judged collections choose: "links", made of the words of pages, would take the weak one for the others.
    assert [one.mean, two.mean, links.mean] == pytest.approx([0.2, 0.2, -0.2])
    found = summarize(collections)
    assert found["sets"]["links"]["left_out"]["a signal"]["mean"] == -0.2
    assert found["mean"]["left_out"]["a signal"]["mean"] == pytest.approx(0.0667, abs=1e-4)
    assert found["judged"]["left_out"]["a signal"]["mean"] == 0.2, "nobody has judged the pages of links"


def test_a_strength_that_gains_nothing_for_the_others_is_not_chosen() -> None:
    # The others choose no part at all, so the collection that owes much to it gains nothing.
    losing = [measured(name, [0.2, 0.2], [0.3, 0.3], [[0.2, 0.2]]) for name in ("one", "two")]
    [*_, gain] = gains_left_out([*losing, measured("three", [0.9, 0.9], [0.3, 0.3], [[0.9, 0.9]])], "a signal")
    assert [gain.mean, gain.error] == [0.0, 0.0]
    assert gains_left_out(losing[:1], "a signal") == []


def test_a_folder_without_collections_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no collection"):
        find_collections(tmp_path)
    (tmp_path / "b").mkdir()
    (tmp_path / "a").mkdir()
    for name in "ba":
        (tmp_path / name / "corpus.jsonl").touch()
    assert [folder.name for folder in find_collections(tmp_path)] == ["a", "b"]
