"""The sentence encoder as a Triton model. The work is in `streams.stores.inference.encoder`."""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

from streams.stores.inference.encoder import SentenceEncoder
from streams.stores.inference.repository import parameters_of


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        folder = Path(args["model_repository"]) / args["model_version"]
        self.encoder = SentenceEncoder(parameters_of(config), folder)

    def execute(self, requests):
        """One answer for each request; their texts go through the model together."""
        texts, sizes = [], []
        for request in requests:
            column = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
            texts.extend(text.decode("utf-8", "replace") for text in column)
            sizes.append(len(column))
        vectors = self.encoder.embed(texts)
        parts = np.split(vectors, np.cumsum(sizes)[:-1])
        return [pb_utils.InferenceResponse([pb_utils.Tensor("EMBEDDING", np.ascontiguousarray(p))]) for p in parts]
