"""MinHash: small sketches that estimate the Jaccard similarity of two texts' shingles.

The sketch keeps eight bits of each of 128 minima (Li and Koenig, "b-bit minwise hashing", WWW 2010): the standard
error is 0.035 at a similarity of 0.8.
"""

import numpy as np
from xxhash import xxh3_64_intdigest

from streams.dedup.features import Hashes

HASHES = 128
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
