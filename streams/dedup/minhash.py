"""MinHash: small sketches that estimate the Jaccard similarity of two texts' shingles.

The sketch keeps eight bits of each of 128 minima (Li and Koenig, "b-bit minwise hashing", WWW 2010): the standard
error is 0.035 at a similarity of 0.8. The bands are hashes of five whole minima each; two texts of similarity s share
at least one of the ten with probability 1 - (1 - s^5)^10: 0.98 at 0.8, 0.999 at 0.87, 0.27 at 0.5.
"""

import numpy as np
from xxhash import xxh3_64_intdigest

from streams.dedup.features import Hashes

HASHES = 128
BANDS = 10
BAND_ROWS = 5
_CHUNK = 4_096
"""Number of shingles that are multiplied at once, so that the products stay in the processor's cache."""


def _constants() -> tuple[Hashes, Hashes]:
    """Odd multipliers and offsets, from XXH3 of their numbers. Stored fingerprints depend on them."""
    multipliers = [xxh3_64_intdigest(b"multiplier %d" % number) | 1 for number in range(HASHES)]
    offsets = [xxh3_64_intdigest(b"offset %d" % number) for number in range(HASHES)]
    return np.array(multipliers, np.uint64)[:, None], np.array(offsets, np.uint64)[:, None]


_MULTIPLIERS, _OFFSETS = _constants()


def minima(shingles: Hashes) -> Hashes:
    """The minimum of each of the 128 hash functions over the shingles. All bits are ones if there are no shingles."""
    least = np.full(HASHES, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(shingles), _CHUNK):
        products = shingles[start : start + _CHUNK] * _MULTIPLIERS + _OFFSETS
        np.minimum(least, products.min(axis=1), out=least)
    return least


def sketch(least: Hashes) -> bytes:
    """Eight mixed bits of each minimum."""
    mixed = least * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(56)).astype(np.uint8).tobytes()


def bands(least: Hashes) -> tuple[int, ...]:
    """Ten keys. Each depends on its number, so that equal minima in different bands give different keys."""
    return tuple(
        xxh3_64_intdigest(least[band * BAND_ROWS : (band + 1) * BAND_ROWS].astype("<u8").tobytes(), seed=band)
        for band in range(BANDS)
    )
