"""Query and text -> score on a CPU: a cross-encoder reads both together, and finds more than their vectors hold."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from streams.models.inference.pairs import PairTokenizer
from streams.models.inference.repository import Parameters, find_file
from streams.models.inference.runtimes import ONNXRUNTIME, open_model

Floats = NDArray[np.float32]


class CrossEncoder:
    """One model in one thread (or `threads`). Raises UsageError when a file is missing or has another checksum."""

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        tokenizer = Tokenizer.from_file(str(find_file(parameters, "tokenizer", folder)))
        self._pairs = PairTokenizer(tokenizer, int(parameters["max_tokens"]))
        runtime, threads = parameters.get("runtime", ONNXRUNTIME), int(parameters.get("threads", "1"))
        self._model = open_model(runtime, find_file(parameters, "model", folder), threads)

    def scores(self, query: str, texts: Sequence[str]) -> Floats:
        """Return the score of each text, higher for a better answer. Only the scores of one query can be compared."""
        scores = np.empty(len(texts), dtype=np.float32)
        for batch, feeds in self._pairs.batches(query, texts):
            scores[batch] = read_scores(self._model(feeds), len(batch))
        return scores


def read_scores(logits: NDArray[Any], pairs: int) -> Floats:
    """Return one score for each pair. Of a classifier with several classes, the last one is "answers it"."""
    return np.array(logits, dtype=np.float32).reshape(pairs, -1)[:, -1]
