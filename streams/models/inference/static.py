"""A static model: a vector for each token, averaged. Some hundred times as fast as the network it was distilled from.

`riffle distill` makes it: every token of the vocabulary passes through the network alone, the vectors are reduced to
their principal components, and frequent tokens get less weight (after model2vec, S. Tulkens and T. van Dongen, 2024).
A text is the mean of its tokens' vectors, so the order of words is lost, and the meaning that a word has in a sentence.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
COMMON_RANKS = 1e-4
"""The weight of a token is this number, divided by itself plus the token's probability (Arora and others, 2017)."""


def distill_rows(embed: Callable[[Sequence[str]], Floats], tokens: Sequence[str], dimensions: int) -> Floats:
    """Return a row for each token: its vector by `embed`, reduced to `dimensions` and weighted by the token's rarity.

    The words of a vocabulary of word pieces are in the order of frequency, so probabilities follow Zipf's law.
    """
    vectors = embed(tokens).astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    reduced = centred @ directions[:, ::-1][:, :dimensions]
    probabilities = 1 / _ranks(tokens) / (1 / np.arange(1, len(tokens) + 1)).sum()
    weighted: Floats = (reduced * (COMMON_RANKS / (COMMON_RANKS + probabilities))[:, None]).astype(np.float32)
    return weighted


def _ranks(tokens: Sequence[str]) -> NDArray[np.int64]:
    """Return the rank of each token by frequency. The first word has rank 1.

    Before it, a vocabulary has marks, punctuation and letters in the order of their codes: 2,000 tokens, which as ranks
    would make "the" a rare word. ASCII ones are as frequent as the first word, others as rare as the last.
    """
    first = next((place for place, token in enumerate(tokens) if len(token) > 1 and token.isalpha()), 0)
    ranks = [
        max(place - first + 1, 1) if place >= first or token.isascii() else len(tokens)
        for place, token in enumerate(tokens)
    ]
    return np.array(ranks, dtype=np.int64)


def write_table(path: Path, rows: Floats) -> None:
    """Write the rows in half precision."""
    with path.open("wb") as file:
        np.save(file, rows.astype(np.float16), allow_pickle=False)


def read_table(path: Path) -> Floats:
    rows: Floats = np.load(path, allow_pickle=False).astype(np.float32)
    return rows


def mean_of_tokens(rows: Floats, ids: Sequence[Sequence[int]]) -> Floats:
    """Return the mean of each text's token vectors, of unit length. A text without tokens is the first axis."""
    vectors = np.zeros((len(ids), rows.shape[1]), dtype=np.float32)
    for row, tokens in enumerate(ids):
        if len(tokens):
            vectors[row] = rows[np.asarray(tokens)].mean(axis=0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[lengths[:, 0] == 0, 0] = 1.0
    scaled: Floats = vectors / np.where(lengths == 0, 1, lengths)
    return scaled
