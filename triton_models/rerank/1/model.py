"""The cross-encoder as a Triton model. The work is in `streams.models.inference.cross_encoder`."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from streams.models.inference.cross_encoder import CrossEncoder
from streams.models.inference.repository import parameters_of


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        self.encoder = CrossEncoder(parameters_of(json.loads(args["model_config"])), folder)

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        query, texts = (
            [text.decode("utf-8", "replace") for text in _column(request, name)] for name in ("QUERY", "TEXTS")
        )
        return pb_utils.InferenceResponse([pb_utils.Tensor("SCORES", self.encoder.scores(query[0], texts))])


def _column(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)
