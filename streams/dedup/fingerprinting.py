"""The fingerprint of a text: its SimHash and MinHash sketch."""

from dataclasses import dataclass

import numpy as np

from streams.dedup.frequencies import VERSION, inverse_document_frequencies
from streams.pages.text.tokens import words
from streams.sketches import minhash
from streams.sketches.features import Hashes, shingles, word_hashes
from streams.sketches.simhash import simhash


@dataclass(frozen=True, slots=True)
class Prints:
    """The parts of a fingerprint that are computed from the text."""

    simhash: int
    simhash_version: int
    """The version of the word weights (`frequencies.VERSION`)."""
    sketch: bytes
    words: int


def fingerprint(text: str) -> Prints:
    """Return the fingerprint of a text. It is the same on every machine and depends on no other page."""
    hashes = word_hashes(words(text))
    least = minhash.minima(shingles(hashes))
    return Prints(_weighted_simhash(hashes), VERSION, minhash.sketch(least), len(hashes))


def text_shingles(text: str) -> Hashes:
    """Return the distinct shingles of a text, for an exact comparison."""
    return shingles(word_hashes(words(text)))


def _weighted_simhash(hashes: Hashes) -> int:
    distinct, counts = np.unique(hashes, return_counts=True)
    weights = counts * inverse_document_frequencies(distinct)
    return simhash(distinct, weights.astype(np.float32))
