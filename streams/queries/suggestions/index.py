"""The completions of a prefix, from sorted keys in memory. Pure.

The keys of all suggestions of a language stand one behind the other in one buffer, sorted, so those with a prefix are
neighbours: two binary searches find them. A prefix with many completions has its best ones computed beforehand; of any
other, the weights of at most MAX_SCANNED neighbours are compared. So each prefix takes some microseconds.

Memory of a suggestion: the bytes of its key, 8 bytes of places and weights, and 150 bytes more if it is shown with
accents. A million queries of 20 letters take about 35 MB, and their best completions 10 MB.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streams.queries.suggestions.normal_form import key_of

MAX_SHOWN = 10
"""Maximum completions of a prefix."""
MAX_SCANNED = 512
"""Maximum weights that are compared at a look-up. Prefixes with more completions have them computed beforehand."""
MAX_KEY_BYTES = 400
"""Maximum length of a key (bytes): 100 characters of UTF-8."""
_AFTER = b"\xff"
"""A byte above each byte of UTF-8: a prefix followed by it sorts behind all its completions."""


class Suggestion(NamedTuple):
    """A suggested query."""

    text: str
    weight: float
    language: str = ""


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The suggestions of one language, by key."""

    keys: bytes
    starts: "array[int]"
    """The place of each key in the buffer, and the end of the last one."""
    weights: np.ndarray[tuple[int], np.dtype[np.float32]]
    shown: Mapping[int, str]
    """The texts that differ from their keys."""


class LanguageIndex:
    """The suggestions of one language."""

    def __init__(self, suggestions: Iterable[tuple[str, float]], language: str = "") -> None:
        """`suggestions` are normal forms with their weights. Of two with one key, the heavier is shown."""
        self.language = language
        self._sorted = _sort(suggestions)
        self._size = len(self._sorted.starts) - 1
        self._best: dict[bytes, tuple[int, ...]] = {}
        self._compute_best(b"", 0, self._size)

    def __len__(self) -> int:
        return self._size

    def complete(self, prefix: bytes, limit: int = MAX_SHOWN) -> list[Suggestion]:
        """Return the heaviest suggestions whose key begins with these bytes, the heaviest first."""
        best = self._best.get(prefix)
        return [self._suggestion(place) for place in (self._best_of(*self.range_of(prefix)) if best is None else best)][
            :limit
        ]

    def range_of(self, prefix: bytes) -> tuple[int, int]:
        """Return the first place of the keys with this prefix, and the place behind them."""
        places = range(self._size)
        first = bisect_left(places, prefix, key=self.key)
        return first, bisect_left(places, prefix + _AFTER, first, key=self.key)

    def has(self, prefix: bytes, start: int, end: int) -> bool:
        """Return True if a key between two places begins with these bytes."""
        first = bisect_left(range(end), prefix, start, end, key=self.key)
        return first < end and self.key(first).startswith(prefix)

    def key(self, place: int) -> bytes:
        starts = self._sorted.starts
        return self._sorted.keys[starts[place] : starts[place + 1]]

    def _suggestion(self, place: int) -> Suggestion:
        text = self._sorted.shown.get(place)
        weight = float(self._sorted.weights[place])
        return Suggestion(self.key(place).decode() if text is None else text, weight, self.language)

    def _best_of(self, first: int, end: int) -> tuple[int, ...]:
        """Return the places of the heaviest keys of a range. Of equal weights, the first key comes first."""
        weights = self._sorted.weights[first:end]
        if len(weights) > 8 * MAX_SHOWN:
            least = np.partition(weights, -MAX_SHOWN)[-MAX_SHOWN]
            places = np.flatnonzero(weights >= least)
        else:
            places = np.arange(len(weights))
        order = places[np.argsort(-weights[places], kind="stable")][:MAX_SHOWN]
        return tuple((order + first).tolist())

    def _compute_best(self, prefix: bytes, first: int, end: int) -> None:
        """Compute the best completions of all prefixes with more than MAX_SCANNED of them, without recursion."""
        todo = [(prefix, first, end)]
        while todo:
            prefix, first, end = todo.pop()
            if end - first <= MAX_SCANNED or len(prefix) > MAX_KEY_BYTES:
                continue
            self._best[prefix] = self._best_of(first, end)
            todo += self.branches(prefix, first, end)

    def branches(self, prefix: bytes, first: int, end: int) -> list[tuple[bytes, int, int]]:
        """Return the prefixes that are one byte longer, each with its range."""
        found, length = [], len(prefix)
        while first < end:
            key = self.key(first)
            if len(key) == length:  # the prefix is a key itself
                first += 1
                continue
            longer = key[: length + 1]
            after = bisect_left(range(end), longer + _AFTER, first, end, key=self.key)
            found.append((longer, first, after))
            first = after
        return found


def _sort(suggestions: Iterable[tuple[str, float]]) -> _Sorted:
    heaviest: dict[str, tuple[float, str]] = {}
    for text, weight in suggestions:
        key = key_of(text)
        if text and (key not in heaviest or weight > heaviest[key][0]):
            heaviest[key] = (weight, text)
    # UTF-8 sorts as its characters do.
    ordered = sorted(heaviest)
    keys, starts = bytearray(), array("I", [0])
    for key in ordered:
        keys += key.encode("utf-8", "replace")
        starts.append(len(keys))
    weights = np.fromiter((heaviest[key][0] for key in ordered), np.float32, len(ordered))
    shown = {place: heaviest[key][1] for place, key in enumerate(ordered) if heaviest[key][1] != key}
    return _Sorted(bytes(keys), starts, weights, shown)
