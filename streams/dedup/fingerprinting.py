"""A text's fingerprint: SimHash, MinHash sketch and bands, in one pass over its words."""

from dataclasses import dataclass

import numpy as np

from streams.dedup import minhash
from streams.dedup.features import Hashes, shingles, word_hashes
from streams.dedup.frequencies import VERSION, inverse_document_frequencies
from streams.dedup.simhash import simhash
from streams.pages.text.tokens import words


@dataclass(frozen=True, slots=True)
class Prints:
    """What of a text is kept to find its near duplicates."""

    simhash: int
    simhash_version: int
    """Of the weights that it was made with."""
    sketch: bytes
    bands: tuple[int, ...]
    words: int


def fingerprint(text: str) -> Prints:
    """The fingerprint of a text. The same on every machine; nothing in it depends on other pages."""
    hashes = word_hashes(words(text))
    least = minhash.minima(shingles(hashes))
    return Prints(_weighted_simhash(hashes), VERSION, minhash.sketch(least), minhash.bands(least), len(hashes))


def text_shingles(text: str) -> Hashes:
    """The distinct shingles of a text, to compare it exactly with another."""
    return shingles(word_hashes(words(text)))


def _weighted_simhash(hashes: Hashes) -> int:
    distinct, counts = np.unique(hashes, return_counts=True)
    weights = counts * inverse_document_frequencies(distinct)
    return simhash(distinct, weights.astype(np.float32))
