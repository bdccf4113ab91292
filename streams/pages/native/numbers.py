"""Sums along a page's tree and means over its segments: in C where it was built, else in numpy, which is the law."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from streams.pages.native.library import library

Parents = NDArray[np.int32]
Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


def gather(parents: Parents, values: Doubles, *, compiled: bool = True) -> Doubles:
    """Each element's value with those of all below it added. Parents have smaller numbers than their children."""
    if compiled and (native := library()) is not None:
        values = np.array(values, np.float64)  # a copy: it is changed in place
        parents = np.ascontiguousarray(parents)
        native.riffle_gather(parents.ctypes.data, len(values), values.ctypes.data)
        return values
    held, above = values.tolist(), parents.tolist()
    for index in range(len(held) - 1, 0, -1):
        held[above[index]] += held[index]
    return np.array(held, np.float64)


def sections(parents: Parents, held: Doubles, limit: float, *, compiled: bool = True) -> Indices:
    """Per element the widest one around it that holds less than `limit`; 0 for the body."""
    if compiled and (native := library()) is not None:
        parents, held = np.ascontiguousarray(parents), np.ascontiguousarray(held)
        found = np.empty(len(held), np.int64)
        native.riffle_sections(parents.ctypes.data, len(held), held.ctypes.data, limit, found.ctypes.data)
        return found
    above, sizes = parents.tolist(), held.tolist()
    section = [0] * len(sizes)
    for index in range(1, len(sizes)):
        section[index] = section[above[index]] if sizes[above[index]] < limit else index
    return np.array(section, np.int64)


def pooled(
    hidden: Floats, weights: Floats, groups: tuple[Indices, Indices, Indices], reaches: tuple[int, int],
    *, compiled: bool = True,
) -> Floats:  # fmt: skip
    """The hidden layer beside its means: weighted over all rows and over each grouping, plain over windows of
    neighbours. Shape (rows, 7 x hidden)."""
    if compiled and (native := library()) is not None:
        hidden, weights = np.ascontiguousarray(hidden), np.ascontiguousarray(weights)
        numbered = [np.ascontiguousarray(group) for group in groups]
        counts = np.array([group.max(initial=0) + 1 for group in numbered], np.int64)
        near = np.array(reaches, np.int64)
        out = np.empty((len(hidden), 7 * hidden.shape[1]), np.float32)
        if not native.riffle_pool(
            hidden.ctypes.data, weights.ctypes.data, *hidden.shape, *(group.ctypes.data for group in numbered),
            counts.ctypes.data, near.ctypes.data, out.ctypes.data,
        ):  # fmt: skip
            raise MemoryError("no memory to judge a page")
        return out
    weighted = hidden * weights
    parts = [hidden, np.broadcast_to(weighted.sum(axis=0) / weights.sum(), hidden.shape)]
    parts += [_means(weighted, weights, group) for group in groups]
    sums = np.concatenate([np.zeros((1, hidden.shape[1])), np.cumsum(hidden, axis=0, dtype=np.float64)])
    at = np.arange(len(hidden))
    for reach in reaches:
        low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(hidden))
        parts.append((sums[high] - sums[low]) / (high - low)[:, None])
    return np.concatenate(parts, axis=1, dtype=np.float32)


def _means(weighted: Floats, weights: Floats, group: Indices) -> Floats:
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    means = np.add.reduceat(weighted[order], starts) / np.add.reduceat(weights[order], starts)
    back = np.empty(len(group), np.int64)
    back[order] = np.repeat(np.arange(len(starts)), [b - a for a, b in pairwise([*starts.tolist(), len(group)])])
    spread: Floats = means[back]
    return spread
