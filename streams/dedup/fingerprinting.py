"""The fingerprint of a text: its SimHash and MinHash sketch.

The weights of the SimHash are document frequencies of words in a reference corpus. The file `frequencies.npz` is part
of the definition of the fingerprint: another file gives other SimHashes. So the file has a version, which is stored
beside each SimHash, and SimHashes of different versions are never compared. The file has only hashes and counts.
"""

import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from streams.errors import UsageError
from streams.pages.text.tokens import stored_words
from streams.sketches import Hashes, band_keys, minima, shingles, simhash, sketch, word_hashes

VERSION = 1
"""Version of this release's file. Each new file gets a new number."""
FILE: Traversable = files("streams.dedup") / "frequencies.npz"


def inverse_document_frequencies(hashes: Hashes) -> NDArray[np.float64]:
    """Return ln((N + 1) / (df + 1)) + 1 of each word. The df of a word that is not in the corpus is 0."""
    known, frequencies, documents = load_frequencies()
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    found = np.where(known[places] == hashes, frequencies[places], 0)
    idf: NDArray[np.float64] = np.log((documents + 1) / (found + 1.0)) + 1.0
    return idf


@cache
def load_frequencies() -> tuple[Hashes, NDArray[np.int64], int]:
    """Return the words' hashes (sorted), the number of documents with each word, and the number of documents.

    The file is read once. Raises UsageError if it is missing or has another version: all SimHashes would be different.
    """
    try:
        with FILE.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            parts = {name: stored[name] for name in ("version", "words", "documents", "total")}
    except (OSError, EOFError, KeyError, ValueError, BadZipFile, zlib.error) as error:
        raise UsageError(f"the word frequencies can't be read ({error}). Install Riffle again") from error
    if int(parts["version"]) != VERSION or not len(parts["words"]):
        raise UsageError(f"{FILE} has version {int(parts['version'])}, but this release needs version {VERSION}")
    return parts["words"], parts["documents"].astype(np.int64), int(parts["total"])


@dataclass(frozen=True, slots=True)
class Prints:
    """The parts of a fingerprint that are computed from the text."""

    simhash: int
    simhash_version: int
    """The version of the word weights (`frequencies.VERSION`)."""
    sketch: bytes
    bands: tuple[int, ...]
    """The keys that similar texts share."""
    words: int


def fingerprint(text: str) -> Prints:
    """Return the fingerprint of a text. It is the same on every machine and depends on no other page."""
    hashes = word_hashes(stored_words(text))
    least = minima(shingles(hashes))
    return Prints(_weighted_simhash(hashes), VERSION, sketch(least), band_keys(least), len(hashes))


def text_shingles(text: str) -> Hashes:
    """Return the distinct shingles of a text, for an exact comparison."""
    return shingles(word_hashes(stored_words(text)))


def _weighted_simhash(hashes: Hashes) -> int:
    distinct, counts = np.unique(hashes, return_counts=True)
    weights = counts * inverse_document_frequencies(distinct)
    return simhash(distinct, weights.astype(np.float32))
