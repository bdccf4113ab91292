"""Sentences -> vectors with ONNX Runtime on a CPU: tokenise, run, pool, scale to unit length.

Texts of about the same length run together in small batches: so little is padded, and the activations stay in the
cache (on two cores batches of 32 took 1.7 times as long per text as batches of 8). A text's vector doesn't depend on
what it ran with: padding is masked with exact zeros, and each row is summed in the same order.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from streams.stores.inference.repository import Parameters, find_file

Floats = NDArray[np.float32]

MAX_TOGETHER = 8
"""Maximum texts of a batch."""
MAX_TOKENS_TOGETHER = 512
"""Maximum tokens of a batch, padding included: one text of 512 tokens, or eight of 64."""


class SentenceEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or not the one described."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self.dimensions = int(parameters["dimensions"])
        self._normalized = parameters["normalized"] == "true"
        self._pool_first = parameters["pooling"] == "cls"
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(parameters["max_tokens"]))
        self._session = _session(find_file(parameters, "model", folder), int(parameters.get("threads", "1")))
        self._inputs = {node.name for node in self._session.get_inputs()}

    def embed(self, texts: Sequence[str]) -> Floats:
        """Shape (len(texts), dimensions), in the order of the texts."""
        # An unpaired surrogate is no text that the tokenizer could take.
        encodings = self._tokenizer.encode_batch([text.encode("utf-8", "replace").decode() for text in texts])
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for batch in _batches([len(encoding) for encoding in encodings]):
            vectors[batch] = self._run([encodings[index] for index in batch])
        return vectors

    def _run(self, encodings: Sequence[Encoding]) -> Floats:
        ids = np.zeros((len(encodings), max(map(len, encodings))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feeds[name] for name in self._inputs})[0]
        return self._pool(hidden, mask.astype(np.float32))

    def _pool(self, hidden: Floats, mask: Floats) -> Floats:
        pooled = hidden[:, 0] if self._pool_first else np.einsum("nld,nl->nd", hidden, mask) / mask.sum(1)[:, None]
        if self._normalized:
            pooled = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), np.float32(1e-12))
        result: Floats = pooled
        return result


def _session(model: Path, threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of texts to run together, the shortest first."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        if batch and (len(batch) == MAX_TOGETHER or (len(batch) + 1) * lengths[index] > MAX_TOKENS_TOGETHER):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
