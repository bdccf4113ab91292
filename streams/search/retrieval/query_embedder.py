"""The embedding of queries: a cache of recent vectors, and a rest for a model that failed several times in a row.

A model reads only the beginning of a long text, so a long query is embedded in parts, which are about equally long: its
vector is the mean of theirs. A query of up to MAX_PART_BYTES is one part, and its vector is the model's.

Vectors of a multilingual model say in which language a text is. So English statements that happen to point to Chinese
were near to each Chinese question. The offset of a language is the mean distance of texts in it from the same texts in
English. A share of it is subtracted from the vector of a query, and nothing from vectors of statements, so that no
index is filled anew. Queries in English, and queries that show no language, keep their vectors. The program
`python -m triton_models.language_offsets` measures the offsets (docs/decisions/0145).
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from streams.caches import RecentCache
from streams.models.inference.encoder import Floats
from streams.models.protocols import Embedder, ModelInfo, Vectors
from streams.pages.text.language import is_written_in
from streams.plain_text import message
from streams.search.deadline import IN_WORDS, Deadline, OnFailure, OptionalPart, Reason, Rest
from streams.search.ranking.other_languages import AskedIn, asked_in
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
    vector = mean_vector(await embedder.embed(parts_of(text), "query"))
    return model, without_language(vector, asked_in(text), model.name)


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


OFFSETS = Path(__file__).with_name("language_offsets.npz")
"""The file with the offset of each language, by its primary subtag."""
OFFSET_MODELS = frozenset({"multilingual-e5-small", "minilm-and-e5"})
"""The models whose vectors are e5's, or end with them."""
OFFSET_SHARE = 0.3
"""The share of an offset that is subtracted. With half of it, questions lose .003 on pages in their own language."""
_LATIN = "Latn"
_MIN_LENGTH = 1e-6


def without_language(vector: Sequence[float], asked: AskedIn, model: str) -> Sequence[float]:
    """Return the vector of a query less a share of its language, with unit length.

    What the pair's first encoder, which knows English, has read of a query in another language is left out.
    """
    offset = _offset_of(asked) if model in OFFSET_MODELS else None
    if offset is None:
        return vector
    own = np.asarray(vector[-len(offset) :], np.float32)
    moved = own / max(float(np.linalg.norm(own)), _MIN_LENGTH) - OFFSET_SHARE * offset
    moved /= max(float(np.linalg.norm(moved)), _MIN_LENGTH)
    return [0.0] * (len(vector) - len(moved)) + [float(value) for value in moved]


def _offset_of(asked: AskedIn) -> Floats | None:
    """Return the offset of a query's language; for an unsure one the mean of those in its script, None for Latin."""
    if asked.language:
        return _offsets().get(asked.language)
    if asked.script in {"", _LATIN}:
        return None
    found = [offset for language, offset in _offsets().items() if is_written_in(language, asked.script)]
    mean: Floats | None = np.mean(found, axis=0, dtype=np.float32) if found else None
    return mean


@cache
def _offsets() -> Mapping[str, Floats]:
    """Return the offset of each language. English has none."""
    with np.load(OFFSETS, allow_pickle=False) as stored:
        return {language: stored[language].astype(np.float32) for language in stored.files}
