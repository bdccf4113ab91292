"""How many documents of a reference corpus have each word: the IDF part of the SimHash's weights.

The file `frequencies.npz` is part of the fingerprint's definition: another file gives other fingerprints, so a new one
means a new version of all of them. It holds hashes and counts alone.
"""

from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from streams.dedup.features import Hashes


def inverse_document_frequencies(hashes: Hashes) -> NDArray[np.float64]:
    """ln((N + 1) / (df + 1)) + 1 of each word; one that the corpus doesn't have counts as one in no document."""
    known, frequencies, documents = _corpus()
    if not len(known):
        return np.ones(len(hashes))
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found = np.where(known[places] == hashes, frequencies[places], 0)
    idf: NDArray[np.float64] = np.log((documents + 1) / (found + 1.0)) + 1.0
    return idf


@cache
def _corpus() -> tuple[Hashes, NDArray[np.int64], int]:
    path = files("streams.dedup") / "frequencies.npz"
    if not path.is_file():
        return np.zeros(0, np.uint64), np.zeros(0, np.int64), 0
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return stored["words"], stored["documents"].astype(np.int64), int(stored["total"])
