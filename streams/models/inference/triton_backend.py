"""The sentence encoder as a model of Triton's python backend: each `model.py` in the repository imports this class.

Only Triton's stub process can import this module, since the backend's utilities exist nowhere else.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from streams.models.inference.pair_encoder import open_encoder
from streams.models.inference.repository import parameters_of
from streams.models.inference.seals import SEAL, seal_rows


class TritonPythonModel:
    """Texts -> vectors, for all requests of a batch together."""

    def initialize(self, args: dict[str, str]) -> None:
        parameters = parameters_of(json.loads(args["model_config"]))
        self.encoder = open_encoder(parameters, Path(args["model_repository"]) / args["model_version"])

    def execute(self, requests: list[Any]) -> list[Any]:
        """Return one answer for each request, with the seal of each text and its vector."""
        columns = [list(pb_utils.get_input_tensor_by_name(each, "TEXT").as_numpy().reshape(-1)) for each in requests]
        texts = [text.decode("utf-8", "replace") for column in columns for text in column]
        ends = np.cumsum([len(column) for column in columns])
        parts = np.split(self.encoder.embed(texts), ends[:-1])
        return [_answer(column, part) for column, part in zip(columns, parts, strict=True)]


def _answer(texts: list[bytes], vectors: Any) -> Any:
    seals = seal_rows(texts, vectors)
    return pb_utils.InferenceResponse([pb_utils.Tensor("EMBEDDING", vectors), pb_utils.Tensor(SEAL, seals)])
