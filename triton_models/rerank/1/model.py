"""The cross-encoder as a Triton model. The work is in `streams.models.inference.cross_encoder`."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from streams.models.inference.cross_encoder import CrossEncoder
from streams.models.inference.repository import parameters_of
from streams.models.inference.seals import SEAL, seal_whole


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        self.encoder = CrossEncoder(parameters_of(json.loads(args["model_config"])), folder)

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        query, texts = (_column(request, name) for name in ("QUERY", "TEXTS"))
        scores = self.encoder.scores(_decode(query[0]), [_decode(text) for text in texts])
        seal = seal_whole([query[0], *texts], [scores])
        return pb_utils.InferenceResponse([pb_utils.Tensor("SCORES", scores), pb_utils.Tensor(SEAL, seal)])


def _column(request, name):
    return list(pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1))


def _decode(text):
    return text.decode("utf-8", "replace")
