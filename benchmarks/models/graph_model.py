"""A graph in ONNX Runtime as a model of Triton's python backend (`graph_backend`). Triton's stub imports it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils  # inside Triton's stub only

from benchmarks.models.graph_session import SessionOptions, open_session

Feeds = dict[str, Any]


class TritonPythonModel:
    """Requests of one batch go through the graph together, as in Triton's own backend."""

    def initialize(self, args: dict[str, str]) -> None:
        config = json.loads(args["model_config"])
        path = Path(args["model_repository"]) / args["model_version"] / "model.onnx"
        self._session = open_session(path, SessionOptions.of(config))
        self._outputs = [output.name for output in self._session.get_outputs()]
        self._is_batched = int(config.get("max_batch_size", 0)) > 0

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        feeds = [{tensor.name(): tensor.as_numpy() for tensor in request.inputs()} for request in requests]
        answers = self._run_together(feeds) if self._is_batched else [self._run(each) for each in feeds]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor(name, np.ascontiguousarray(v)) for name, v in answer.items()])
            for answer in answers
        ]

    def _run(self, feeds: Feeds) -> Feeds:
        return dict(zip(self._outputs, self._session.run(self._outputs, feeds), strict=True))

    def _run_together(self, feeds: Sequence[Feeds]) -> list[Feeds]:
        if len(feeds) == 1:
            return [self._run(feeds[0])]
        joined = self._run({name: np.concatenate([each[name] for each in feeds]) for name in feeds[0]})
        borders = np.cumsum([len(next(iter(each.values()))) for each in feeds])[:-1]
        parts = {name: np.split(values, borders) for name, values in joined.items()}
        return [{name: parts[name][number] for name in parts} for number in range(len(feeds))]
