"""The embedding of queries: a cache of recent vectors, and a rest for a model that failed several times in a row.

A model reads only the beginning of a long text, so a long query is embedded in parts, which are about equally long: its
vector is the mean of theirs. A query of up to MAX_PART_BYTES is one part, and its vector is the model's.
"""

import math
import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from streams.caches import RecentCache
from streams.models.protocols import Embedder, ModelInfo, Vectors
from streams.plain_text import message
from streams.search.deadline import IN_WORDS, Deadline, OnFailure, OptionalPart, Reason, Rest
from streams.search.trace import Trace
from streams.stores.protocols import Visible
from streams.stores.searched_model import ModelInUse

CACHED_VECTORS = 4_096
"""Maximum query vectors kept: 384 dimensions as Python floats make about 12 KB each, 50 MB in all."""
FAILURES_BEFORE_REST = 3
REST_SECONDS = 2.0
"""Pause without calls to the model after three failures in a row (seconds). Then one query tries the model again."""


_Key = tuple[tuple[str, ...], str, str | None]
"""The audiences of a reader, the query, and the collection that is searched."""


class QueryEmbedder:
    """The embedder of one process's queries. The vectors of recent ones are kept, all of one model.

    Those who read a private site have vectors of their own: nobody else learns that they have asked the same.
    """

    def __init__(self, on_failure: OnFailure) -> None:
        self._vectors: RecentCache[_Key, tuple[ModelInfo, Sequence[float]]] = RecentCache(CACHED_VECTORS)
        self._model: ModelInfo | None = None
        rest = Rest(REST_SECONDS, failures=FAILURES_BEFORE_REST)
        self._part = OptionalPart("embedding of the query", partial(on_failure, "models"), rest)

    async def embed(
        self, text: str, visible: Visible, in_use: ModelInUse, deadline: Deadline, trace: Trace
    ) -> Sequence[float] | None:
        """Return the query's vector, or None: words can be searched without a vector, and the trace has the reason."""
        with trace.timed("embed_ms"):
            key = visible.audiences, text, in_use.collection
            known = self._vectors.get(key)
            if known is not None:
                trace.states["dense"], (trace.model, vector) = "cached", known
                return vector
            asked = await self._part.read(
                lambda: _ask(in_use.embedder, text),
                deadline.for_embedding(),
                lambda why: trace.fail("dense", _sentence(why)),
            )
            if asked is None:
                return None
            trace.states["dense"], (trace.model, vector) = "ok", asked
            if trace.model != self._model:
                self._vectors.clear()
                self._model = trace.model
            self._vectors.put(key, asked)
            return vector


async def _ask(embedder: Embedder, text: str) -> tuple[ModelInfo, Sequence[float]]:
    model = await embedder.info("query")
    return model, mean_vector(await embedder.embed(parts_of(text), "query"))


def _sentence(why: Reason) -> str:
    return message("The embedding model %(why)s; meaning was not searched, words were.", why=IN_WORDS[why])


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
