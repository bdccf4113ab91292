"""The sentence encoder as a model of Triton's python backend: each `model.py` in the repository imports this class.

Only Triton's stub process can import this module, since the backend's utilities exist nowhere else.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from streams.models.inference.encoder import SentenceEncoder
from streams.models.inference.repository import parameters_of
from streams.niceness import raise_niceness_in_own_session


class TritonPythonModel:
    """Texts -> vectors, for all requests of a batch together."""

    def initialize(self, args: dict[str, str]) -> None:
        parameters = parameters_of(json.loads(args["model_config"]))
        self.encoder = SentenceEncoder(parameters, Path(args["model_repository"]) / args["model_version"])
        # Bulk instances yield the processor to whatever a person waits for, once they are loaded: Triton answers
        # nothing before that, and on a busy machine they would load for minutes.
        raise_niceness_in_own_session(int(parameters.get("nice", "0")))

    def execute(self, requests: list[Any]) -> list[Any]:
        """One answer for each request."""
        texts: list[str] = []
        ends: list[int] = []
        for request in requests:
            column = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
            texts.extend(text.decode("utf-8", "replace") for text in column)
            ends.append(len(texts))
        parts = np.split(self.encoder.embed(texts), ends[:-1])
        return [pb_utils.InferenceResponse([pb_utils.Tensor("EMBEDDING", part)]) for part in parts]
