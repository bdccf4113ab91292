"""The statement chains as a Triton model. The work is in `streams.models.inference.chain_encoder`."""

import json
from pathlib import Path

import triton_python_backend_utils as pb_utils

from streams.models.inference.chain_encoder import chain_model
from streams.models.inference.link_columns import NAMES, to_columns
from streams.models.inference.repository import parameters_of
from streams.models.inference.seals import SEAL, seal_whole


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        folder = Path(args["model_repository"]) / args["model_version"]
        parameters = parameters_of(config)
        self.links = chain_model(parameters, folder)

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        column = pb_utils.get_input_tensor_by_name(request, "SENTENCES").as_numpy().reshape(-1)
        links = self.links([sentence.decode("utf-8", "replace") for sentence in column])
        columns = to_columns(links)
        tensors = [pb_utils.Tensor(name, tensor) for name, tensor in zip(NAMES, columns, strict=True)]
        return pb_utils.InferenceResponse([*tensors, pb_utils.Tensor(SEAL, seal_whole(list(column), columns))])
