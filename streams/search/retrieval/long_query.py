"""Paragraphs as queries: a model reads only the beginning of a long text, so a long query is embedded in parts. Pure.

The vector of the query is the mean of the vectors of its parts, which are about equally long. A query of up to
MAX_PART_BYTES is one part, and its vector is the model's.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from streams.models.protocols import Vectors

MAX_PART_BYTES = 700
"""Maximum length of a part (bytes of UTF-8): less than the 256 tokens of the models, also in Chinese or code."""
_PIECE_CHARS = 16
"""Maximum characters that always stay together."""
_WORDS = re.compile(r"\S++\s*+|\s++")
"""Words with the space behind each."""


def parts_of(text: str, max_bytes: int = MAX_PART_BYTES) -> list[str]:
    """Return the text in parts of about the same length, divided between words where there are spaces."""
    size = len(text.encode("utf-8", "replace"))
    count = math.ceil(size / max_bytes)
    if count <= 1:
        return [text]
    wanted, parts, length = size / count, [""], 0
    for word in _split_into_pieces(text):
        own = len(word.encode("utf-8", "replace"))
        if (parts[-1] and length + own > max_bytes) or length >= wanted:
            parts.append("")
            length = 0
        parts[-1] += word
        length += own
    return [part.strip() for part in parts if part.strip()]


def mean_vector(vectors: Vectors) -> Sequence[float]:
    """Return the mean of vectors of unit length, with unit length. One vector stays as it is."""
    if len(vectors) == 1:
        return [float(value) for value in vectors[0]]
    mean = vectors.mean(axis=0, dtype=np.float64)
    return [float(value) for value in mean / max(float(np.linalg.norm(mean)), 1e-12)]


def _split_into_pieces(text: str) -> list[str]:
    """Return the words with the space behind each. Long runs without spaces are divided."""
    return [
        word[start : start + _PIECE_CHARS]
        for word in _WORDS.findall(text)
        for start in range(0, len(word), _PIECE_CHARS)
    ]
