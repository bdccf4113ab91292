"""The features by which texts are compared: hashed words, and hashed shingles (runs of three words).

Hashes are xxHash's XXH3 (64 bits, seed 0). They are part of stored fingerprints, so they must never change.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

Hashes = NDArray[np.uint64]

SHINGLE_WORDS = 3
_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


def word_hashes(words: Sequence[str]) -> Hashes:
    """Return a hash for each word, in order."""
    known = {word: xxh3_64_intdigest(word.encode("utf-8", "surrogatepass")) for word in set(words)}
    return np.fromiter((known[word] for word in words), np.uint64, len(words))


def shingles(hashes: Hashes) -> Hashes:
    """Return the distinct shingles of a text, sorted. A text of one or two words is one shingle."""
    if len(hashes) == 0:
        return hashes
    if len(hashes) < SHINGLE_WORDS:
        hashes = np.concatenate([hashes, np.zeros(SHINGLE_WORDS - len(hashes), np.uint64)])
    length = len(hashes) - SHINGLE_WORDS + 1
    mixed = np.zeros(length, np.uint64)
    for place, multiplier in enumerate(_MULTIPLIERS):
        mixed = (mixed ^ hashes[place : place + length]) * multiplier
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the Jaccard similarity of two sets: intersection over union, by size. Two empty sets are equal."""
    if not len(one) and not len(other):
        return 1.0
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)
