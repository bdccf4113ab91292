"""A graph in ONNX Runtime, opened as Triton's ONNX Runtime backend would open it by the model's configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import UsageError

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
PROVIDER = "provider"
"""Parameter of a configuration: the execution provider of ONNX Runtime."""
LEVELS = {-1: "ORT_ENABLE_BASIC", 1: "ORT_ENABLE_EXTENDED", 2: "ORT_DISABLE_ALL"}
"""Levels of optimization in a configuration. Without one: all."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    provider: str = CPU
    threads: int = 1
    """Threads of one run on CPUs. 0: one for each core."""
    level: str = "ORT_ENABLE_ALL"

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "SessionOptions":
        """Return what a model's configuration says, as Triton hands it over in JSON."""
        parameters = {key: value.get("string_value", "") for key, value in config.get("parameters", {}).items()}
        level = int(config.get("optimization", {}).get("graph", {}).get("level", 0))
        return cls(
            parameters.get(PROVIDER, CPU),
            int(parameters.get("intra_op_thread_count", "0")),
            LEVELS.get(level, "ORT_ENABLE_ALL"),
        )


def open_session(path: Path, own: SessionOptions) -> Any:
    """Open the graph. Raises UsageError if ONNX Runtime can't use the provider, which it would silently replace."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = own.threads
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, own.level)
    session = onnxruntime.InferenceSession(str(path), options, providers=list(dict.fromkeys((own.provider, CPU))))
    if session.get_providers()[0] != own.provider:
        raise UsageError(f"ONNX Runtime can't use {own.provider} here: it has {session.get_providers()}")
    return session
