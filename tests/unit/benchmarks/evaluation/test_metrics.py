"""The figures of rankings, against values computed by hand."""

import math

import pytest

from benchmarks.evaluation.metrics import figures, ndcg, percentile, recall, reciprocal_rank
from benchmarks.evaluation.systems import reciprocal_rank_fusion

GRADES = {"a": 2, "b": 1}
RANKINGS = [
    # ranking, nDCG@10, recall@100, reciprocal rank
    (["a", "b"], 1.0, 1.0, 1.0),
    (["b", "a"], (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)), 1.0, 1.0),
    (["x", "a"], (2 / math.log2(3)) / (2 + 1 / math.log2(3)), 0.5, 0.5),
    ([*"0123456789", "a"], 0.0, 0.5, 0.0),
    ([], 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("ranking", "gain", "found", "first"), RANKINGS, ids=str)
def test_a_ranking(ranking: list[str], gain: float, found: float, first: float) -> None:
    assert ndcg(ranking, GRADES) == pytest.approx(gain)
    assert (recall(ranking, GRADES), reciprocal_rank(ranking, GRADES)) == (found, first)


def test_figures_are_means_over_queries() -> None:
    assert figures([["a"], []], [{"a": 1}, {"b": 1}]) == {"ndcg@10": 0.5, "recall@100": 0.5, "mrr@10": 0.5}


def test_percentiles_are_values_that_occurred() -> None:
    assert [percentile([3.0, 1.0, 2.0, 4.0], share) for share in (0, 0.5, 0.95)] == [1.0, 2.0, 4.0]
    assert percentile([], 0.5) == 0.0


def test_reciprocal_rank_fusion() -> None:
    assert reciprocal_rank_fusion([["a", "b", "c"], ["c", "b"]]) == ["c", "b", "a"]
