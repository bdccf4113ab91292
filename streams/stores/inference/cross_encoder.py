"""Query and text -> score on a CPU: a cross-encoder reads both together, and sees what their vectors can't hold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from streams.stores.inference.encoder import batches
from streams.stores.inference.repository import Parameters, find_file
from streams.stores.inference.runtimes import ONNXRUNTIME, open_model

Floats = NDArray[np.float32]


class CrossEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or not the one described."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(parameters["max_tokens"]), strategy="longest_first")
        runtime, threads = parameters.get("runtime", ONNXRUNTIME), int(parameters.get("threads", "1"))
        self._model = open_model(runtime, find_file(parameters, "model", folder), threads)

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """The score of each text, higher for a better answer. Only the scores of one query can be compared."""
        pairs = [(_valid(query), _valid(text)) for text in texts]
        encodings = self._tokenizer.encode_batch(pairs)
        scores = np.empty(len(texts), dtype=np.float32)
        for length, batch in batches([len(encoding) for encoding in encodings]):
            scores[batch] = self._run([encodings[index] for index in batch], length)
        return scores

    def _run(self, encodings: Sequence[Encoding], length: int) -> Floats:
        ids = np.zeros((len(encodings), length), dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding)] = encoding.ids
            mask[row, : len(encoding)] = 1
            types[row, : len(encoding)] = encoding.type_ids
        logits = self._model({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
        # One score for each pair. Of a classifier with several classes, the last one is "answers it".
        return np.array(logits, dtype=np.float32).reshape(len(encodings), -1)[:, -1]


def _valid(text: str) -> str:
    """An unpaired surrogate is no text that the tokenizer could take."""
    return text.encode("utf-8", "replace").decode()
