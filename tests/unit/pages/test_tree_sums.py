"""Sums over the element tree and means over segments, against the same written plainly."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streams.pages.content import features
from streams.pages.content.lexicon import BITS
from streams.pages.content.segment_stats import SegmentStats
from streams.pages.content.tree_sums import apply_to_means, depths, sections, subtree_sums
from streams.pages.parse.segments import subtree_ends
from tests.sizes import examples


@st.composite
def trees(draw: st.DrawFn) -> NDArray[Any]:
    """Parents of elements in document order: each one's parent is the one before it, or one around that."""
    parents = [-1]
    for index in range(1, draw(st.integers(1, 60))):
        parent = index - 1
        for _ in range(draw(st.integers(0, 4))):
            parent = max(parents[parent], 0)
        parents.append(parent)
    return np.array(parents, np.int32)


def ends_of(parents: NDArray[Any]) -> NDArray[np.int64]:
    return np.array(subtree_ends(parents.tolist()), np.int64)


def around(parents: NDArray[Any], element: int) -> list[int]:
    """The element and those around it, the innermost first."""
    chain = [element]
    while parents[chain[-1]] >= 0:
        chain.append(int(parents[chain[-1]]))
    return chain


@settings(max_examples=examples(200), deadline=None)
@given(parents=trees(), seed=st.integers(0, 2**32))
def test_sums_of_subtrees(parents: NDArray[Any], seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 5, len(parents)).astype(np.float64)
    expected = np.zeros(len(parents))
    for element in range(len(parents)):
        expected[around(parents, element)] += values[element]
    assert subtree_sums(ends_of(parents), values).tolist() == expected.tolist()


@settings(max_examples=examples(200), deadline=None)
@given(parents=trees())
def test_the_elements_below_one_are_those_up_to_its_end(parents: NDArray[Any]) -> None:
    ends = ends_of(parents)
    for element, end in enumerate(ends.tolist()):
        below = [other for other in range(len(parents)) if element in around(parents, other)]
        assert below == [*range(element, end)]
    assert depths(ends).tolist() == [len(around(parents, element)) - 1 for element in range(len(parents))]


@settings(max_examples=examples(200), deadline=None)
@given(parents=trees(), seed=st.integers(0, 2**32))
def test_a_section_is_the_widest_element_below_the_limit(parents: NDArray[Any], seed: int) -> None:
    sums = subtree_sums(ends_of(parents), np.random.default_rng(seed).integers(0, 5, len(parents)).astype(np.float64))
    limit = 0.4 * float(sums[0])
    found = sections(parents, sums, limit).tolist()
    for element, section in enumerate(found):
        chain = around(parents, element)
        narrow = [one for one in chain[:-1] if sums[one] < limit]
        expected = narrow[-1] if narrow else chain[0] if sums[0] >= limit and element else 0
        assert section == expected, (element, chain)


@settings(max_examples=examples(100), deadline=None)
@given(rows=st.integers(1, 50), width=st.integers(1, 8), seed=st.integers(0, 2**32))
def test_a_matrix_is_applied_to_texts_and_their_means(rows: int, width: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    hidden = chance.random((rows, width), np.float32)
    weights = chance.random((rows, 1), np.float32) + np.float32(0.1)
    groups = (chance.integers(0, 3, rows), chance.integers(0, 80, rows), chance.integers(0, rows, rows))
    expected = []
    for row in range(rows):
        alike = [np.flatnonzero(group == group[row]) for group in groups]
        means = [np.average(hidden[at], axis=0, weights=weights[at, 0]) for at in (np.arange(rows), *alike)]
        windows = [hidden[max(row - reach, 0) : row + reach + 1].mean(axis=0) for reach in (2, 8)]
        expected.append(np.concatenate([hidden[row], *means, *windows]))
    matrix = chance.random((7 * width, 3), np.float32) - np.float32(0.5)
    applied = apply_to_means(matrix, hidden, weights, groups, (2, 8))
    np.testing.assert_allclose(applied, np.array(expected) @ matrix, rtol=1e-4, atol=1e-5)


@settings(max_examples=examples(100), deadline=None)
@given(parents=trees(), rows=st.integers(1, 60), seed=st.integers(0, 2**32))
def test_names_are_inherited_from_elements_that_do_not_hold_nearly_all(
    parents: NDArray[Any], rows: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, 300, (rows, 6)).astype(np.float32)
    counts[:, [0, 2]] += 1  # texts are never empty
    page = SegmentStats(
        tags=np.zeros(len(parents), np.int32),
        parents=parents,
        ends=ends_of(parents),
        elements=np.sort(chance.integers(0, len(parents), rows)).astype(np.int32),
        counts=counts,
        words=counts[:, 2],
        flags=chance.integers(0, 2**16, rows).astype(np.uint16),
        groups=chance.integers(0, rows, rows),
        masks=chance.integers(0, 2**40, len(parents)).astype(np.uint64),
    )
    matrix, *_ = features._segment_features(page, chance.integers(0, 17, len(parents)).astype(np.int32))
    assert np.isfinite(matrix[:, : features.SURROUNDINGS]).all()
    chars = subtree_sums(ends_of(parents), np.bincount(page.elements, counts[:, 0], len(parents)).astype(np.float64))
    for row, element in enumerate(page.elements.tolist()):
        inherited = 0
        for one in around(parents, element)[:-1]:
            inherited |= int(page.masks[one]) if chars[one] <= np.float32(chars[0] * features.WIDE_SHARE) else 0
        start = features.TEXT_COLUMNS + BITS
        assert matrix[row, start : start + BITS].tolist() == [inherited >> bit & 1 for bit in range(BITS)]
