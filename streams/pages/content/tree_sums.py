"""Sums over a page's element tree, and means over its segments, in numpy.

A tree is given as the parent of each element. Elements are numbered in document order, so a parent has a smaller
number than its children. Element 0 is the body, and its parent is -1.
"""

import numpy as np
from numpy.typing import NDArray

Parents = NDArray[np.int32]
Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


def subtree_sums(ends: Indices, values: Doubles) -> Doubles:
    """Return the sum of `values` over each element and all elements below it. Sums of whole numbers are exact.

    `ends`: the first element behind each element and all below it.
    """
    running = np.zeros(len(values) + 1)
    np.cumsum(values, out=running[1:])
    sums: Doubles = running[ends] - running[:-1]
    return sums


def depths(ends: Indices) -> Indices:
    """Return the number of elements around each element."""
    at = np.arange(len(ends))
    found: Indices = at - np.cumsum(np.bincount(ends, minlength=len(ends)))[: len(ends)]
    return found


def sections(parents: Parents, sums: Doubles, limit: float) -> Indices:
    """Return the section of each element: the widest element around it with a sum below `limit`; 0 for the body."""
    above, sizes = parents.tolist(), sums.tolist()
    section = [0] * len(sizes)
    for index in range(1, len(sizes)):
        section[index] = section[above[index]] if sizes[above[index]] < limit else index
    return np.array(section, np.int64)


def apply_to_means(
    matrix: Floats, hidden: Floats, weights: Floats, groups: tuple[Indices, Indices, Indices], reaches: tuple[int, int]
) -> Floats:
    """Return the product of the hidden layer and its means, side by side, with a matrix of 7 x hidden rows.

    The means are weighted over all rows and over each grouping, and plain over windows of neighbours. All rows of a
    group have one mean, which is multiplied once.
    """
    own, page, *of_groups, near, nearer = np.split(matrix, 7)
    weighted = hidden * weights
    product = hidden @ own
    product += (weighted.sum(axis=0) / weights.sum()) @ page
    for group, part in zip(groups, of_groups, strict=True):
        product += _apply_to_group_means(part, weighted, weights, group)
    for reach, part in zip(reaches, (near, nearer), strict=True):
        product += window_means(hidden, reach) @ part
    return product


def _apply_to_group_means(matrix: Floats, weighted: Floats, weights: Floats, group: Indices) -> Floats:
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])
    means = np.add.reduceat(weighted[order], starts) / np.add.reduceat(weights[order], starts)
    product = np.empty((len(group), matrix.shape[1]), np.float32)
    product[order] = np.repeat(means @ matrix, np.diff(starts, append=len(group)), axis=0)
    return product


def window_means(values: Floats, reach: int) -> Floats:
    """Return the mean over the rows at most `reach` away from each row."""
    sums = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, dtype=np.float64, out=sums[1:])
    at = np.arange(len(values))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    found = sums[high]
    found -= sums[low]
    found /= (high - low)[:, None]
    means: Floats = found.astype(np.float32)
    return means
