"""MinHash: small sketches that estimate the Jaccard similarity of two texts' shingles. Similar sketches share keys.

A sketch keeps eight bits of each of 128 minima (Li and Koenig, "b-bit minwise hashing", WWW 2010): the standard error
is 0.035 at a similarity of 0.8. A band is two whole minima. Two texts of similarity s share at least one of the three
bands with probability 1 - (1 - s^2)^3: 0.95 at 0.8, 0.993 at 0.9, 0.58 at 0.5. Decision 0008 has the measured recall,
also for other bands. Whole minima are never equal by chance, so the pages that share a key have a part in common,
however many pages there are.
"""

import numpy as np
from xxhash import xxh3_64_intdigest

from streams.sketches.features import Hashes

HASHES = 128
BANDS = 3
BAND_MINIMA = 2
_CHUNK = 4_096
"""Number of shingles that are multiplied at once, so that the products stay in the processor's cache."""


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
