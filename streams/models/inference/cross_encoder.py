"""Query and text -> score on a CPU: a cross-encoder reads both together, and finds more than their vectors hold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from streams.models.inference.encoder import batches
from streams.models.inference.repository import Parameters, find_file
from streams.models.inference.runtimes import ONNXRUNTIME, open_model

Floats = NDArray[np.float32]

SPECIAL_TOKENS = 3
"""Number of tokens that a BERT tokenizer puts around a pair."""
MAX_CHARACTERS_PER_TOKEN = 16
"""Maximum characters read for each token that there is room for, so that a long text costs no more than a short one."""


class CrossEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.no_padding()
        # The tokenizer's own truncation of pairs keeps every combination of their cut pieces: gigabytes for long texts.
        self._tokenizer.no_truncation()
        self._max_tokens = int(parameters["max_tokens"])
        runtime, threads = parameters.get("runtime", ONNXRUNTIME), int(parameters.get("threads", "1"))
        self._model = open_model(runtime, find_file(parameters, "model", folder), threads)

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """Return the score of each text, higher for a better answer. Only the scores of one query can be compared."""
        pairs = fitting_pairs(
            self._tokenizer, _make_valid(query), [_make_valid(text) for text in texts], self._max_tokens
        )
        encodings = self._tokenizer.encode_batch(pairs)
        scores = np.empty(len(texts), dtype=np.float32)
        for length, batch in batches([min(len(encoding), self._max_tokens) for encoding in encodings]):
            scores[batch] = self._run([encodings[index] for index in batch], length)
        return scores

    def _run(self, encodings: Sequence[Encoding], length: int) -> Floats:
        ids = np.zeros((len(encodings), length), dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            size = min(len(encoding), length)
            ids[row, :size] = encoding.ids[:size]
            mask[row, :size] = 1
            types[row, :size] = encoding.type_ids[:size]
        logits = self._model({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
        # One score for each pair. Of a classifier with several classes, the last one is "answers it".
        return np.array(logits, dtype=np.float32).reshape(len(encodings), -1)[:, -1]


def fitting_pairs(tokenizer: Tokenizer, query: str, texts: Sequence[str], max_tokens: int) -> list[tuple[str, str]]:
    """Return the query with each text, cut to `max_tokens` together. The query takes at most half of the tokens."""
    room = max_tokens - SPECIAL_TOKENS
    query, used = _cut(tokenizer, query, room // 2)
    return [(query, _cut(tokenizer, text, room - used)[0]) for text in texts]


def _cut(tokenizer: Tokenizer, text: str, max_tokens: int) -> tuple[str, int]:
    """Return the beginning of a text that has at most this number of tokens, and their number."""
    text = text[: max_tokens * MAX_CHARACTERS_PER_TOKEN]
    encoding = tokenizer.encode(text, add_special_tokens=False)
    if len(encoding) <= max_tokens:
        return text, len(encoding)
    return text[: encoding.offsets[max_tokens - 1][1]], max_tokens


def _make_valid(text: str) -> str:
    """Return the text with unpaired surrogates replaced: the tokenizer takes none."""
    return text.encode("utf-8", "replace").decode()
