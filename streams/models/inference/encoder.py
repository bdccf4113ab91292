"""Sentences -> vectors on a CPU: tokenize, run, pool, scale to unit length.

A text has the same vector, bit by bit, whatever it is batched with (up to 2e-7 on a processor without VNNI). The number
of texts in a batch changes nothing, but OpenVINO's sums depend on the padded length. So this length only follows from
the text: its tokens, rounded up to a multiple of 8. Texts of one padded length run together in small batches, whose
activations stay in the cache (with ONNX Runtime on two cores, batches of 32 took 1.7 times as long per text as batches
of 8). Batches of 16 in OpenVINO saved no time, and took 155 MB more in each instance.

The vectors of an encoder such as multilingual-e5-small all point in nearly the same direction, which says nothing. So
the mean vector of texts is subtracted (Mu and Viswanath, All-but-the-Top, 2018) where the model has one (`mean`).
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from streams.models.inference.repository import Parameters, find_file, prefixes_of
from streams.models.inference.runtimes import ONNXRUNTIME, OPENVINO, open_model
from streams.models.inference.tokenizing import encode_all

# An instance is one thread. The tokenizer's own threads would compete with the other instances.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

Floats = NDArray[np.float32]

MAX_TOGETHER = 8
"""Maximum texts of a batch."""
MAX_TOKENS_TOGETHER = 512
"""Maximum tokens of a batch, padding included: one text of 512 tokens, or eight of 64."""
PAD_TO = 8
"""Texts are padded to a multiple of this number of tokens."""


class SentenceEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path, callers: int = 1) -> None:
        """`callers`: number of threads that embed at once."""
        self.dimensions = int(parameters["dimensions"])
        self._normalized = parameters["normalized"] == "true"
        self._pooling = parameters["pooling"]
        self._mean: Floats | None = None
        if "mean_sources" in parameters:
            self._mean = np.load(find_file(parameters, "mean", folder), allow_pickle=False)
        self._prefixes = prefixes_of(parameters)
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(parameters["max_tokens"]))
        runtime, threads = parameters.get("runtime", ONNXRUNTIME), int(parameters.get("threads", "1"))
        model = find_file(parameters, "model", folder)
        has_ranges = runtime == OPENVINO and "activations_sources" in parameters
        activations = find_file(parameters, "activations", folder) if has_ranges else None
        self._model = open_model(runtime, model, threads, activations, callers)

    def tokens(self, text: str) -> int:
        """Return the number of tokens of a text, as the model reads it."""
        return len(self.encode([text])[0])

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the tokens of the texts. Long texts lose first lines."""
        return encode_all(self._tokenizer, texts, self._prefixes)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return vectors in the order of the texts, shape (len(texts), dimensions). Long texts lose first lines."""
        return self.embed_encoded(self.encode(texts))

    def embed_encoded(self, encodings: Sequence[Encoding]) -> Floats:
        """Return the vectors of texts that `encode` has read, shape (len(encodings), dimensions)."""
        vectors = np.empty((len(encodings), self.dimensions), dtype=np.float32)
        for length, batch in batches([len(encoding) for encoding in encodings]):
            vectors[batch] = self._run([encodings[index] for index in batch], length)
        return vectors

    def _run(self, encodings: Sequence[Encoding], length: int) -> Floats:
        hidden, mask = self.last_layer(encodings, length)
        return self._pool(hidden, mask.astype(np.float32))

    def last_layer(self, encodings: Sequence[Encoding], length: int) -> tuple[Floats, NDArray[np.int64]]:
        """Return the network's output for texts that are padded to this length, and which places have a token."""
        ids = np.zeros((len(encodings), length), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self._model(feeds), mask

    def _pool(self, hidden: Floats, mask: Floats) -> Floats:
        if self._pooling == "graph":  # the file ends with it
            return hidden
        if self._pooling == "cls":
            pooled = hidden[:, 0]
        else:
            pooled = np.einsum("nld,nl->nd", hidden, mask) / mask.sum(1)[:, None]
        if self._mean is not None:
            pooled = _of_unit_length(pooled) - self._mean
        return _of_unit_length(pooled) if self._normalized else pooled


def _of_unit_length(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    return scaled


def batches(lengths: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield the padded length of each batch with the indices of its texts, the shortest first."""
    padded = [-(-length // PAD_TO) * PAD_TO for length in lengths]
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (padded[index], index)):
        length = padded[index]
        together = min(MAX_TOGETHER, max(MAX_TOKENS_TOGETHER // max(length, 1), 1))
        if batch and (padded[batch[0]] != length or len(batch) >= together):
            yield padded[batch[0]], batch
            batch = []
        batch.append(index)
    if batch:
        yield padded[batch[0]], batch
