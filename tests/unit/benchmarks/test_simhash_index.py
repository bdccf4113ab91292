"""The benchmark's SimHash index, compared with brute force."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dedup.simhash_index import Matches, Simhashes, SimHashIndex, popcount
from streams.dedup.fingerprinting import fingerprint

RANDOM = np.random.default_rng(7)


def flipped(simhashes: Simhashes, most: int) -> Simhashes:
    """Each with up to `most` random bits turned."""
    result = simhashes.copy()
    for _ in range(most):
        bits = np.uint64(1) << RANDOM.integers(0, 64, len(result), dtype=np.uint64)
        result ^= np.where(RANDOM.random(len(result)) < 0.7, bits, np.uint64(0))
    return result


def brute_force(simhashes: Simhashes, queries: Simhashes, distance: int) -> set[tuple[int, int, int]]:
    found = set()
    for number, query in enumerate(queries.tolist()):
        distances = [(query ^ other).bit_count() for other in simhashes.tolist()]
        found |= {(number, row, bits) for row, bits in enumerate(distances) if bits <= distance}
    return found


def triples(matches: Matches) -> set[tuple[int, int, int]]:
    rows = list(zip(matches.queries.tolist(), matches.rows.tolist(), matches.distances.tolist(), strict=True))
    assert rows == sorted(set(rows)), "ordered, and each pair once"
    return set(rows)


def one_by_one(index: SimHashIndex, queries: Simhashes, distance: int) -> set[tuple[int, int, int]]:
    answers = [index.near(query, distance) for query in queries.tolist()]
    assert all(answer == sorted(set(answer)) for answer in answers), "ordered, and each row once"
    return {(number, row, bits) for number, answer in enumerate(answers) for row, bits in answer}


def real_texts() -> Iterator[str]:
    """Versions of a text in which one word after another is replaced: fingerprints as crowded as real ones."""
    words = [f"word{number % 97}" for number in range(300)]
    for step in range(150):
        words[step * 2] = f"changed{step}"
        yield " ".join(words)


@pytest.mark.parametrize("table_count", [4, 10, 20])
@pytest.mark.parametrize("distance", [0, 1, 2, 3])
def test_nothing_is_missed_among_random_fingerprints(table_count: int, distance: int) -> None:
    simhashes = RANDOM.integers(0, 2**64, 1_000, dtype=np.uint64)
    simhashes[::5] = flipped(simhashes[1::5], 3)
    queries = flipped(simhashes[:300], 4)
    index = SimHashIndex(table_count)
    index.add(simhashes)
    expected = brute_force(simhashes, queries, distance)
    assert triples(index.near_many(queries, distance)) == expected
    assert one_by_one(index, queries, distance) == expected


@pytest.mark.parametrize("table_count", [4, 10, 20])
def test_nothing_is_missed_among_fingerprints_of_texts(table_count: int) -> None:
    simhashes = np.array([fingerprint(text).simhash for text in real_texts()], np.uint64)
    index = SimHashIndex(table_count)
    index.add(simhashes)
    expected = brute_force(simhashes, simhashes, 3)
    assert len(expected) > 2 * len(simhashes), "the set contains near-duplicates"
    assert triples(index.near_many(simhashes, 3)) == expected
    assert one_by_one(index, simhashes, 3) == expected


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12), max_size=12))
def test_parts_are_found_as_the_whole_is(parts: list[list[int]]) -> None:
    index, whole = SimHashIndex(), SimHashIndex()
    rows = [row for part in parts for row in index.add(part)]
    simhashes = [simhash for part in parts for simhash in part]
    whole.add(simhashes)
    assert rows == list(range(len(simhashes)))
    assert len(index) == len(simhashes)
    assert triples(index.near_many(simhashes)) == triples(whole.near_many(simhashes))


def test_a_removed_row_is_not_found() -> None:
    index = SimHashIndex()
    index.add([1, 2, 3])
    index.remove(1)
    assert index.near(1, 3) == [(0, 0), (2, 1)]
    index.add([2] * 10)
    assert 1 not in [row for row, _ in index.near(2, 0)]
    assert len(index) == 12


def test_an_empty_index_finds_nothing() -> None:
    index = SimHashIndex()
    assert index.near(0) == []
    assert triples(index.near_many([])) == set()


def test_farther_than_three_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="0 to 3"):
        SimHashIndex().near_many([1], 4)


def test_memory_stays_within_its_bound() -> None:
    index = SimHashIndex(4)
    index.add(RANDOM.integers(0, 2**64, 200_000, dtype=np.uint64))
    assert index.bytes_used / 200_000 <= 64


@given(st.lists(st.integers(0, 2**64 - 1), max_size=50))
def test_popcount(values: list[int]) -> None:
    assert popcount(np.array(values, np.uint64)).tolist() == [value.bit_count() for value in values]
