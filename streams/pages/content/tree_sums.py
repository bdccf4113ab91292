"""Sums over a page's element tree, and means over its segments, in numpy.

A tree is given as the parent of each element. Elements are numbered in document order, so a parent has a smaller
number than its children. Element 0 is the body, and its parent is -1.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Parents = NDArray[np.int32]
Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


def subtree_sums(parents: Parents, values: Doubles) -> Doubles:
    """Return the sum of `values` over each element and all elements below it."""
    sums, above = values.tolist(), parents.tolist()
    for index in range(len(sums) - 1, 0, -1):
        sums[above[index]] += sums[index]
    return np.array(sums, np.float64)


def sections(parents: Parents, sums: Doubles, limit: float) -> Indices:
    """Return the section of each element: the widest element around it with a sum below `limit`; 0 for the body."""
    above, sizes = parents.tolist(), sums.tolist()
    section = [0] * len(sizes)
    for index in range(1, len(sizes)):
        section[index] = section[above[index]] if sizes[above[index]] < limit else index
    return np.array(section, np.int64)


def pool_means(
    hidden: Floats, weights: Floats, groups: tuple[Indices, Indices, Indices], reaches: tuple[int, int]
) -> Floats:
    """Return the hidden layer beside its means. Shape (rows, 7 x hidden).

    The means are weighted over all rows and over each grouping, and plain over windows of neighbours.
    """
    weighted = hidden * weights
    parts = [hidden, np.broadcast_to(weighted.sum(axis=0) / weights.sum(), hidden.shape)]
    parts += [_group_means(weighted, weights, group) for group in groups]
    parts += [window_means(hidden, reach) for reach in reaches]
    return np.concatenate(parts, axis=1, dtype=np.float32)


def _group_means(weighted: Floats, weights: Floats, group: Indices) -> Floats:
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    means = np.add.reduceat(weighted[order], starts) / np.add.reduceat(weights[order], starts)
    back = np.empty(len(group), np.int64)
    back[order] = np.repeat(np.arange(len(starts)), [b - a for a, b in pairwise([*starts.tolist(), len(group)])])
    spread: Floats = means[back]
    return spread


def window_means(values: Floats, reach: int) -> Floats:
    """Return the mean over the rows at most `reach` away from each row."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])
    at = np.arange(len(values))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    means: Floats = ((sums[high] - sums[low]) / (high - low)[:, None]).astype(np.float32)
    return means
