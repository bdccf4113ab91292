"""The fakes of the models: vectors without a model, good enough to try a search.

`MemoryEmbedder` hashes words into dimensions (feature hashing: Weinberger and others, 2009), so that texts with words
in common have similar vectors, and equal texts equal ones.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import xxhash

from streams.models.inference.antecedents import links_by_rule
from streams.models.protocols import Embedder, Link, ModelInfo, TextRole, Vectors

_WORD = re.compile(r"\w+")
_KEPT_WORDS = 4_096
"""Maximum words with a hash in memory."""


@lru_cache(_KEPT_WORDS)
def _hash(word: str) -> int:
    return xxhash.xxh3_64_intdigest(word.encode("utf-8", "replace"))


class MemoryEmbedder:
    """Deterministic vectors out of words."""

    def __init__(self, dimensions: int = 64, *, name: str = "feature-hashing", version: str = "1") -> None:
        self._info = ModelInfo(name, version, dimensions)

    async def info(self, role: TextRole = "passage") -> ModelInfo:
        return self._info

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        dimensions = self._info.dimensions
        vectors = np.zeros((len(texts), dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            sums = [0.0] * dimensions
            for word in _WORD.findall(text.lower()):
                bits = _hash(word)
                sums[bits % dimensions] += 1.0 if bits >> 63 else -1.0
            vectors[row] = sums
        lengths = np.linalg.norm(vectors, axis=1)
        vectors[lengths == 0, 0] = 1.0
        result: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
        return result


class MemoryOtherModels:
    """The embedding models that a process has besides its own."""

    def __init__(self, *models: Embedder) -> None:
        self.models = models

    async def find(self, fits: Callable[[ModelInfo], bool]) -> Embedder | None:
        for model in self.models:
            if fits(await model.info()):
                return model
        return None


class MemoryChains:
    """The chain rules, which the model repository has without a trained model."""

    async def links(self, sentences: Sequence[str], *, deadline_seconds: float | None = None) -> list[Link]:
        return links_by_rule(sentences)


class MemoryReranker:
    """A reranker by the share of the query's words that a text has."""

    async def scores(
        self, query: str, texts: Sequence[str], *, deadline_seconds: float | None = None
    ) -> Sequence[float]:
        wanted = set(_WORD.findall(query.lower()))
        return [len(wanted & set(_WORD.findall(text.lower()))) / max(len(wanted), 1) for text in texts]
