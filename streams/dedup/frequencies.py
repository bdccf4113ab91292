"""How many documents of a reference corpus have each word: the IDF part of the SimHash's weights.

The file `frequencies.npz` is part of the fingerprint's definition: another file gives other fingerprints. So it has a
version, which is stored beside each of them, and those of different versions are never compared. It holds hashes and
counts alone.
"""

import zlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from streams.dedup.features import Hashes
from streams.errors import UsageError

VERSION = 1
"""Of the file that this release weighs words with. Raised with every other file, never used again."""
FILE: Traversable = files("streams.dedup") / "frequencies.npz"


def inverse_document_frequencies(hashes: Hashes) -> NDArray[np.float64]:
    """ln((N + 1) / (df + 1)) + 1 of each word; one that the corpus doesn't have counts as one in no document."""
    known, frequencies, documents = load()
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found = np.where(known[places] == hashes, frequencies[places], 0)
    idf: NDArray[np.float64] = np.log((documents + 1) / (found + 1.0)) + 1.0
    return idf


@cache
def load() -> tuple[Hashes, NDArray[np.int64], int]:
    """Hashes of words, in order, the number of documents that have each, and the number of documents. Read once.

    Raises UsageError when the file is missing or of another version: all fingerprints would be others.
    """
    try:
        with FILE.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            parts = {name: stored[name] for name in ("version", "words", "documents", "total")}
    except (OSError, EOFError, KeyError, ValueError, BadZipFile, zlib.error) as error:
        raise UsageError(f"the words' frequencies can't be read ({error}). Install Riffle again") from error
    if int(parts["version"]) != VERSION or not len(parts["words"]):
        raise UsageError(f"{FILE} is version {int(parts['version'])}; this release fingerprints with {VERSION}")
    return parts["words"], parts["documents"].astype(np.int64), int(parts["total"])
