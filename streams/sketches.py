"""Sketches of texts: 64 to 1,024 bits of a text, for comparing it with millions of others.

    features  hashes of the words of a text, and of its shingles (runs of three words)
    SimHash   similar texts have SimHashes that differ in few bits. Charikar, "Similarity estimation techniques from
              rounding algorithms", STOC 2002: each feature votes with its weight for or against each bit, by the bits
              of its hash. Features are words weighted by TF-IDF (decision 0008 compares others)
    MinHash   small sketches that estimate the Jaccard similarity of two texts' shingles. Similar sketches share keys

A MinHash sketch keeps eight bits of each of 128 minima (Li and Koenig, "b-bit minwise hashing", WWW 2010): the standard
error is 0.035 at a similarity of 0.8. A band is two whole minima. Two texts of similarity s share at least one of the
three bands with probability 1 - (1 - s^2)^3: 0.95 at 0.8, 0.993 at 0.9, 0.58 at 0.5. Decision 0008 has the measured
recall, also for other bands. Whole minima are never equal by chance, so the pages that share a key have a part in
common, however many pages there are.

`dedup` makes sketches and decides by them, and the stores of fingerprints find similar ones under their keys. Hashes
are xxHash's XXH3 (64 bits, seed 0). They are part of stored fingerprints, so they must never change.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

Hashes = NDArray[np.uint64]

SHINGLE_WORDS = 3
_MIXERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))
HASHES = 128
BANDS = 3
BAND_MINIMA = 2
_CHUNK = 4_096
"""Number of shingles that are multiplied at once, so that the products stay in the processor's cache."""


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
    for place, multiplier in enumerate(_MIXERS):
        mixed = (mixed ^ hashes[place : place + length]) * multiplier
        mixed ^= mixed >> np.uint64(29)
    return np.unique(mixed)


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the Jaccard similarity of two sets: intersection over union, by size. Two empty sets are equal."""
    if not len(one) and not len(other):
        return 1.0
    common = len(np.intersect1d(one, other, assume_unique=True))
    return common / (len(one) + len(other) - common)


def simhash(features: Hashes, weights: NDArray[np.float32]) -> int:
    """Return the SimHash of weighted features, unsigned. Without features it is 0. A tie gives a zero bit."""
    if len(features) == 0:
        return 0
    bits = np.unpackbits(features.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    votes = weights.astype(np.float32) @ bits.astype(np.float32)
    return int.from_bytes(np.packbits(votes * 2 > weights.sum(), bitorder="little").tobytes(), "little")


def hamming(one: int, other: int) -> int:
    """Return the number of bits in which two SimHashes differ, 0..64."""
    return (one ^ other).bit_count()


def _constants() -> tuple[Hashes, Hashes]:
    """Return odd multipliers and offsets, from XXH3 of their numbers. Stored fingerprints depend on them."""
    multipliers = [xxh3_64_intdigest(b"multiplier %d" % number) | 1 for number in range(HASHES)]
    offsets = [xxh3_64_intdigest(b"offset %d" % number) for number in range(HASHES)]
    return np.array(multipliers, np.uint64)[:, None], np.array(offsets, np.uint64)[:, None]


_MULTIPLIERS, _OFFSETS = _constants()


def minima(shingles: Hashes) -> Hashes:
    """Return the minimum of each of the 128 hash functions over the shingles. Without shingles, all bits are ones."""
    least = np.full(HASHES, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(shingles), _CHUNK):
        products = shingles[start : start + _CHUNK] * _MULTIPLIERS + _OFFSETS
        np.minimum(least, products.min(axis=1), out=least)
    return least


def sketch(least: Hashes) -> bytes:
    """Return eight mixed bits of each minimum."""
    mixed = least * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(56)).astype(np.uint8).tobytes()


def sketch_similarity(one: bytes, other: bytes) -> float:
    """Return the estimated Jaccard similarity, 0..1. It allows for bytes that are equal by chance (1 in 256)."""
    if not one or len(one) != len(other):
        return 0.0
    agreed = int(np.count_nonzero(np.frombuffer(one, np.uint8) == np.frombuffer(other, np.uint8))) / len(one)
    return max(0.0, (agreed - 1 / 256) / (1 - 1 / 256))


def band_keys(least: Hashes) -> tuple[int, ...]:
    """Return the keys of the bands of a text with these minima, each of 63 bits.

    A key depends on the number of its band, so that equal minima in different bands give different keys.
    """
    bands = least[: BANDS * BAND_MINIMA].astype("<u8").reshape(BANDS, BAND_MINIMA)
    return tuple(xxh3_64_intdigest(band.tobytes(), seed=number) >> 1 for number, band in enumerate(bands))
