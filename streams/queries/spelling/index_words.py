"""The words of an index beneath a corrector: names that no list of words has, as `kubeflow`. Pure.

What people write on many sites has mistakes, too. So a word of the index is trusted only if it is no likely mistake of
a word that far more pages have: then queries are corrected to it, and never corrected where they have it.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from streams.queries.spelling.error_model import Weights, typing_costs
from streams.queries.spelling.vocabulary import Vocabulary
from streams.queries.spelling.words import MIN_INDEX_CHARS

MAX_NEW_WORDS = 100_000
"""Maximum words that the base vocabulary doesn't know: about 20 MB."""
MISTAKES = 20
"""Number of pages with the right word for each page with a mistake in it, at least."""
MISTAKE_COST = 5.0
"""Maximum cost of a mistake that many people make: one of its letters, as a rule."""
_MISTAKE_EDITS = 2
_CACHED_WORDS = 4_096


class IndexWords:
    """The words of an index in one language."""

    def __init__(self, base: Vocabulary, counts: Mapping[str, float], weights: Weights | None = None) -> None:
        """`counts`: the number of pages of each word of the index, also of those that the base vocabulary knows."""
        new = [word for word in counts if len(word) >= MIN_INDEX_CHARS and word not in base]
        new.sort(key=lambda word: (-counts[word], word))
        self._counts = {word: float(counts[word]) for word in new[:MAX_NEW_WORDS]}
        self.vocabulary = Vocabulary(self._counts, total=float(sum(counts.values())))
        self._weights = weights or Weights()
        self._with_counts = tuple((each, _counts_of(each, counts)) for each in (base, self.vocabulary))
        self.trusts = lru_cache(_CACHED_WORDS)(self._trusts)
        """Return True if the index has the word, and it is no likely mistake."""

    def __len__(self) -> int:
        return len(self.vocabulary)

    def share(self, word: str) -> float | None:
        """Return the logarithm of a trusted word's share of all words of the index; None for other words."""
        share = self.vocabulary.share(word)
        return share if share is not None and self.trusts(word) else None

    def _trusts(self, word: str) -> bool:
        return word in self.vocabulary and not any(
            self._is_mistake(word, vocabulary, counts) for vocabulary, counts in self._with_counts
        )

    def _is_mistake(self, word: str, vocabulary: Vocabulary, counts: NDArray[np.float32]) -> bool:
        """Return True if far more pages have a word of the vocabulary that is easily mistyped as this one."""
        near = vocabulary.near(word, _MISTAKE_EDITS)
        is_frequent = counts[near.places] >= MISTAKES * self._counts[word]
        if not is_frequent.any():
            return False
        costs = typing_costs(word, near.letters[is_frequent], near.lengths[is_frequent], self._weights)
        return bool((costs <= MISTAKE_COST).any())


def _counts_of(vocabulary: Vocabulary, counts: Mapping[str, float]) -> NDArray[np.float32]:
    return np.fromiter((counts.get(word, 0.0) for word in vocabulary.words), np.float32, len(vocabulary.words))
