"""Text -> token ids, for the transformer behind it. The work is in `streams.models.inference.tokenizing`."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from streams.models.inference.repository import parameters_of
from streams.models.inference.tokenizing import PaddedTokenizer


class TritonPythonModel:
    def initialize(self, args):
        parameters = parameters_of(json.loads(args["model_config"]))
        self.tokenizer = PaddedTokenizer(parameters, Path(args["model_repository"]) / args["model_version"])

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        column = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
        ids, mask = self.tokenizer.encode([text.decode("utf-8", "replace") for text in column])
        tensors = [pb_utils.Tensor("INPUT_IDS", ids), pb_utils.Tensor("ATTENTION_MASK", mask)]
        return pb_utils.InferenceResponse(tensors)
