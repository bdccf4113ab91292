"""SimHash: 64 bits of a text. Similar texts have SimHashes that differ in few bits.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002: each feature votes with its weight for
or against each bit, by the bits of its hash. Features are words weighted by TF-IDF (decision 0008 compares others).
"""

import numpy as np
from numpy.typing import NDArray

from streams.sketches.features import Hashes


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
