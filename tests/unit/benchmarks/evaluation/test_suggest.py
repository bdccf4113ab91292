"""The measure of suggestions, and the weight of counts."""

import pytest

from benchmarks.evaluation.suggest import measure, read_counts, suggester_of
from streams.errors import UsageError
from streams.queries.suggestions.prefix_lists import weight_at
from streams.stores.protocols import StoredSuggestion


def test_queries_have_their_counts_behind_a_tab() -> None:
    assert read_counts(["wal mode\t3\n", "WAL  mode\n", "\n", "btree\t0.5\r\n"]) == {"wal mode": 4.0, "btree": 0.5}


@pytest.mark.parametrize("lines", [[], ["\n"], ["a\tx"], ["a\t-1"], ["a\tnan"], ["a\tinf"]])
def test_a_wrong_file_is_refused(lines: list[str]) -> None:
    with pytest.raises(UsageError):
        read_counts(lines)


def test_the_measure_is_the_mean_of_reciprocal_ranks_by_count() -> None:
    """`abcd` is first, `abce` second. Without 5 characters nothing is left of either."""
    counts = {"abcd": 3.0, "abce": 1.0}
    found = measure(suggester_of(counts), counts)
    assert found["mrr"] == {"1": round((3 + 0.5) / 4, 4), "3": round((3 + 0.5) / 4, 4), "5": 0.0}
    assert found["asked"] == {"1": 2, "3": 2, "5": 0}


def test_a_query_that_is_not_known_gains_nothing() -> None:
    assert measure(suggester_of({"abcd": 1.0}), {"abcdefgh": 1.0})["mrr"] == {"1": 0.0, "3": 0.0, "5": 0.0}


def test_recent_counts_weigh_more_for_two_hours() -> None:
    stored = StoredSuggestion("a", "en", weight=5.0, recent=2.0, quarter=100)
    assert [weight_at(stored, quarter) for quarter in (100, 107, 108)] == [25.0, 25.0, 5.0]
