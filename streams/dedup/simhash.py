"""SimHash: 64 bits of a text that differ in few places from those of a similar text.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002: each feature votes, by the bits of its
hash and with its weight, for or against each bit. Features are words weighted by TF-IDF (see docs/decisions for what
else was measured).
"""

import numpy as np
from numpy.typing import NDArray

from streams.dedup.features import Hashes


def simhash(features: Hashes, weights: NDArray[np.float32]) -> int:
    """The fingerprint of weighted features, unsigned. No features: 0. A tie is a zero bit."""
    if len(features) == 0:
        return 0
    bits = np.unpackbits(features.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    votes = weights.astype(np.float32) @ bits.astype(np.float32)
    return int.from_bytes(np.packbits(votes * 2 > weights.sum(), bitorder="little").tobytes(), "little")
