"""The statement chains as a Triton model. The rules are in `streams.stores.inference.antecedents`."""

import numpy as np
import triton_python_backend_utils as pb_utils

from streams.stores.inference.antecedents import antecedents


class TritonPythonModel:
    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        column = pb_utils.get_input_tensor_by_name(request, "SENTENCES").as_numpy().reshape(-1)
        found = antecedents([sentence.decode("utf-8", "replace") for sentence in column])
        return pb_utils.InferenceResponse([pb_utils.Tensor("ANTECEDENTS", np.array(found, dtype=np.int32))])
