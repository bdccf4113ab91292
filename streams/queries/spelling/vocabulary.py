"""Vocabularies: the words of a language with their frequencies, as compact arrays. Pure.

A vocabulary finds the words with nearly the same letters as a misspelt one without an index of mistakes: each word has
a mask of its letters, and the masks of all words of about the same length are compared at once.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streams.queries.spelling.error_model import Codes, encode_all
from streams.queries.spelling.words import MAX_CHARS

MAX_WORDS = 450_000
"""Maximum words of a vocabulary: about 30 MB as arrays, and 50 MB as text. The most frequent words stay."""
MAX_NEAR = 20_000
"""Maximum words that are compared with a misspelt one letter by letter."""
_BITS = np.array([0, *(1 << code % 32 for code in range(1, 256))], np.uint64)
"""The bit of each code of a letter in the mask of a word."""
_POPULATION = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)


@dataclass(frozen=True, slots=True)
class Near:
    """Words with nearly the same letters: their places in the vocabulary."""

    places: NDArray[np.intp]
    letters: Codes
    lengths: NDArray[np.uint8]


class Vocabulary:
    """The words of one language, each with the logarithm of its share of all words."""

    def __init__(
        self,
        counts: Mapping[str, float],
        pairs: Mapping[tuple[str, str], float] | None = None,
        total: float | None = None,
    ) -> None:
        """`counts`: how often each word occurs, in lower case. `pairs`: how often words stand one after the other.

        `total`: how often all words occur, also those that are not in the vocabulary. Default: the sum of the counts.
        """
        words = sorted(filter(None, counts))
        all_counts = np.fromiter(map(counts.__getitem__, words), np.float64, len(words))
        order = np.argsort(-all_counts, kind="stable")[:MAX_WORDS]  # words of one count stay from a to z
        kept, kept_counts = [words[place] for place in order.tolist()], all_counts[order]
        of_all = max(1.0, total or float(sum(kept_counts.tolist())))
        shares = [math.log(share) for share in (np.maximum(kept_counts, 1e-9) / of_all).tolist()]
        self._shares: dict[str, float] = dict(zip(kept, shares, strict=True))
        lengths = np.fromiter(map(len, kept), np.intp, len(kept))
        by_length = np.argsort(lengths, kind="stable")
        by_length = by_length[lengths[by_length] <= MAX_CHARS]
        self.words = [kept[place] for place in by_length.tolist()]
        self.shares: NDArray[np.float32] = np.array(shares)[by_length].astype(np.float32)
        self._lengths = lengths[by_length].astype(np.uint8)
        self._letters = encode_all(self.words)
        self._masks = _masks(self._letters)
        self._pairs = _Pairs(pairs or {})

    def __contains__(self, word: str) -> bool:
        return word in self._shares

    def __len__(self) -> int:
        return len(self._shares)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shares)

    def share(self, word: str) -> float | None:
        """Return the logarithm of the word's share of all words; None if the word is unknown."""
        return self._shares.get(word)

    def attraction(self, first: str, second: str) -> float | None:
        """Return how much more often two words stand together than by chance, as a logarithm; None: never seen."""
        count = self._pairs.count(first, second)
        if not count:
            return None
        return math.log(count / self._pairs.total) - self._shares.get(first, -20.0) - self._shares.get(second, -20.0)

    def near(self, word: str, edits: int) -> Near:
        """Return the words that may differ from `word` by at most N mistakes; perhaps some others, too."""
        lengths = self._lengths
        start, end = np.searchsorted(lengths, [max(1, len(word) - edits), len(word) + edits + 1])
        different = self._masks[start:end] ^ _masks(encode_all([word]))[0]
        parts = _POPULATION[different.view(np.uint16)].reshape(-1, 4)
        distance = parts[:, 0] + parts[:, 1] + parts[:, 2] + parts[:, 3]
        places = np.flatnonzero(distance <= 2 * edits)
        if len(places) > MAX_NEAR:
            places = places[np.argsort(distance[places], kind="stable")[:MAX_NEAR]]
        places = places + start
        width = min(MAX_CHARS, len(word) + edits)
        return Near(places, self._letters[places, :width], lengths[places])


class _Pairs:
    """Counts of pairs of words, as sorted arrays of hashes: a pair takes 12 bytes."""

    def __init__(self, counts: Mapping[tuple[str, str], float]) -> None:
        hashes = np.fromiter((_pair_hash(*pair) for pair in counts), np.int64, len(counts))
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._counts = np.fromiter(counts.values(), np.float32, len(counts))[order]
        self.total = max(1.0, float(self._counts.sum(dtype=np.float64)))

    def count(self, first: str, second: str) -> float:
        if not len(self._hashes):
            return 0.0
        asked = _pair_hash(first, second)
        place = int(np.searchsorted(self._hashes, asked))
        return float(self._counts[place]) if place < len(self._hashes) and self._hashes[place] == asked else 0.0


def _pair_hash(first: str, second: str) -> int:
    return hash((first, second))  # hashes of one process are compared only with one another


def _masks(letters: Codes) -> NDArray[np.uint64]:
    """Return a mask of each word: two bits for each letter, the second one for a letter that occurs twice."""
    masks = np.zeros(len(letters), np.uint64)
    for column in letters.T:
        bit = _BITS[column]
        again = masks & bit
        masks |= bit | (again << np.uint64(32))
    return masks


def merge_counts(parts: Iterable[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    """Return the weighted sum of the shares of each word in several vocabularies, per billion words."""
    merged: dict[str, float] = {}
    for counts, weight in parts:
        total = sum(counts.values()) or 1.0
        for word, count in counts.items():
            merged[word] = merged.get(word, 0.0) + 1e9 * weight * count / total
    return merged
