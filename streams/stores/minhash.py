"""Sketches of MinHash: they estimate the similarity of two texts, and their bands are keys that similar texts share.

A sketch keeps eight bits of each of 128 minima. A band is four bytes of it. Two texts of similarity s share at least
one of the eight bands with probability 1 - (1 - s^4)^8: 0.985 at 0.8, 0.999 at 0.87, 0.40 at 0.5. Decision 0008 has the
measured recall and the number of pages in a band, also for other bands.
"""

import numpy as np

BANDS = 8
BAND_BYTES = 4


def sketch_similarity(one: bytes, other: bytes) -> float:
    """The estimated Jaccard similarity, 0..1. Corrected for bytes that are equal by chance (1 in 256)."""
    if not one or len(one) != len(other):
        return 0.0
    agreed = int(np.count_nonzero(np.frombuffer(one, np.uint8) == np.frombuffer(other, np.uint8))) / len(one)
    return max(0.0, (agreed - 1 / 256) / (1 - 1 / 256))


def band_keys(sketch: bytes) -> tuple[int, ...]:
    """The keys of a sketch's bands. Each has its number, so that equal bytes in different bands give different keys.

    A sketch that is too short has none.
    """
    if len(sketch) < BANDS * BAND_BYTES:
        return ()
    parts = (sketch[band * BAND_BYTES : (band + 1) * BAND_BYTES] for band in range(BANDS))
    return tuple(band << 8 * BAND_BYTES | int.from_bytes(part, "big") for band, part in enumerate(parts))
