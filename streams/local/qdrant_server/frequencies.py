"""Document frequencies of a shard's sparse vectors: how many of its points have a term.

A collection adds the counts of its shards, so that a term has one weight (IDF) over all of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

Terms = Mapping[str, Sequence[int]]
"""The terms of a point, by the name of its sparse vector."""


class Frequencies:
    """Counts of one shard: sorted arrays for what a build counted, and what changed since.

    Only points with at least one term are counted, as the engine does. A removed point is counted no more at once,
    where the engine itself counts it until its segment is rebuilt.
    """

    def __init__(self) -> None:
        self._points: Counter[str] = Counter()
        self._changes: dict[str, Counter[int]] = {}
        self._terms: dict[str, np.ndarray[Any, Any]] = {}
        self._counts: dict[str, np.ndarray[Any, Any]] = {}

    def add(self, points: Iterable[Terms], sign: int = 1) -> None:
        for point in points:
            for name, terms in point.items():
                if len(terms):
                    self._points[name] += sign
                    counted = self._changes.setdefault(name, Counter())
                    for term in terms:
                        counted[term] += sign

    def remove(self, points: Iterable[Terms]) -> None:
        self.add(points, -1)

    def points(self, name: str) -> int:
        return self._points[name]

    def of(self, name: str, terms: Sequence[int]) -> list[int]:
        """Return the number of points with each of these terms."""
        changes = self._changes.get(name, Counter())
        return [self._counted(name, term) + changes[term] for term in terms]

    def merge(self, other: "Frequencies") -> None:
        """Add the counts of another shard."""
        self._points.update(other._points)
        for name in {*other._terms, *other._changes}:
            terms, counts = other._compact(name)
            mine, my_counts = self._compact(name)
            together = np.union1d(mine, terms)
            summed = np.zeros(len(together), np.int64)
            summed[np.searchsorted(together, mine)] += my_counts
            summed[np.searchsorted(together, terms)] += counts
            self._terms[name], self._counts[name] = together, summed
            self._changes[name] = Counter()

    def save(self, path: Path) -> None:
        arrays: dict[str, Any] = {}
        names = sorted(self._points)
        for number, name in enumerate(names):
            terms, counts = self._compact(name)
            arrays |= {f"terms{number}": terms[counts > 0], f"counts{number}": counts[counts > 0]}
        numbers = np.array([self._points[name] for name in names], np.int64)
        with path.open("wb") as file:
            np.savez(file, names=np.array(names, np.str_), points=numbers, **arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        loaded = cls()
        with np.load(path) as stored:
            for number, (name, points) in enumerate(zip(stored["names"], stored["points"], strict=True)):
                loaded._points[str(name)] = int(points)
                loaded._terms[str(name)] = stored[f"terms{number}"]
                loaded._counts[str(name)] = stored[f"counts{number}"]
        return loaded

    def _counted(self, name: str, term: int) -> int:
        terms = self._terms.get(name)
        if terms is None or not len(terms):
            return 0
        at = int(np.searchsorted(terms, term))
        return int(self._counts[name][at]) if at < len(terms) and terms[at] == term else 0

    def _compact(self, name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return sorted terms and their counts, with what changed."""
        base = self._terms.get(name, np.zeros(0, np.uint32))
        counts = self._counts.get(name, np.zeros(0, np.int64)).astype(np.int64)
        changes = self._changes.get(name)
        if not changes:
            return base, counts
        changed = np.fromiter(changes.keys(), np.uint32, len(changes))
        terms = np.union1d(base, changed)
        summed = np.zeros(len(terms), np.int64)
        summed[np.searchsorted(terms, base)] += counts
        summed[np.searchsorted(terms, changed)] += np.fromiter(changes.values(), np.int64, len(changes))
        return terms, summed


def inverse_frequencies(points: int, counts: Sequence[int]) -> list[float]:
    """Return the weight of each term (IDF), as Qdrant computes it, in 32 bits."""
    total, having = np.float32(points), np.asarray(counts, np.float32)
    half, one = np.float32(0.5), np.float32(1)
    weights: list[float] = np.log((total - having + half) / (having + half) + one).tolist()
    return weights
