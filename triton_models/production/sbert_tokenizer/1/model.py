"""Text -> token ids, for the transformer behind it. The work is in `streams.models.inference.tokenizing`."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from streams.models.inference.repository import parameters_of
from streams.models.inference.seals import SEAL, read_checksums, seal_rows
from streams.models.inference.tokenizing import PaddedTokenizer


class TritonPythonModel:
    def initialize(self, args):
        parameters = parameters_of(json.loads(args["model_config"]))
        self.tokenizer = PaddedTokenizer(parameters, Path(args["model_repository"]) / args["model_version"])

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        column = list(pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1))
        ids, mask = self.tokenizer.encode([text.decode("utf-8", "replace") for text in column])
        # The transformer behind it returns the same checksums of the ids that it read.
        seals = seal_rows(column, read_checksums(ids, mask))
        named = {"INPUT_IDS": ids, "ATTENTION_MASK": mask, SEAL: seals}
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, tensor) for name, tensor in named.items()])
