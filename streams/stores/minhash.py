"""Compares MinHash sketches: the share of equal bytes estimates the similarity of two texts."""

import numpy as np


def sketch_similarity(one: bytes, other: bytes) -> float:
    """The estimated Jaccard similarity, 0..1. Corrected for bytes that are equal by chance (1 in 256)."""
    if not one or len(one) != len(other):
        return 0.0
    agreed = int(np.count_nonzero(np.frombuffer(one, np.uint8) == np.frombuffer(other, np.uint8))) / len(one)
    return max(0.0, (agreed - 1 / 256) / (1 - 1 / 256))
