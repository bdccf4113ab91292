"""The libraries that run a transformer's ONNX file on a CPU: OpenVINO where its wheel exists, ONNX Runtime elsewhere.

`runtime` in a model's `config.pbtxt` names one. The two give vectors that differ a little, so `model_version` belongs
to this runtime, and `fallback_runtime` with `fallback_version` name what is used where the runtime is not installed.
Only a model inside a process falls back: Triton's clients read the version in `config.pbtxt`, so there the runtime must
be the one named.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.errors import UsageError
from streams.models.inference.activations import GROUP, processor_has_vnni, quantize_activations, read_ranges

OPENVINO, ONNXRUNTIME = "openvino", "onnxruntime"
RUNTIMES = (OPENVINO, ONNXRUNTIME)
"""The libraries."""

Feeds = Mapping[str, NDArray[np.int64] | NDArray[np.float32]]
Run = Callable[[Feeds], NDArray[np.float32]]
"""A function from tensors by name, whether the model reads them or not, to the model's first output."""


RunOutputs = Callable[[Feeds], list[NDArray[np.float32]]]
"""A function from tensors by name to the requested outputs."""


def available(runtime: str) -> bool:
    """Return True if the library is installed."""
    return find_spec(runtime) is not None


def resolve_runtime(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters with a runtime that is installed, and with the version of its vectors."""
    runtime = parameters.get("runtime", ONNXRUNTIME)
    if available(runtime) or "fallback_runtime" not in parameters:
        return dict(parameters)
    chosen = {"runtime": parameters["fallback_runtime"], "model_version": parameters["fallback_version"]}
    return {**parameters, **chosen}


def open_model(runtime: str, model: Path, threads: int, activations: Path | None = None, callers: int = 1) -> Run:
    """Load the model. Raises UsageError for a runtime that is unknown or not installed.

    `activations` is a file of `activations`, which only OpenVINO uses. `callers`: number of threads that call the
    function at once. Each call is computed by `threads` threads.
    """
    _check(runtime, model)
    return _openvino(model, threads, activations, callers) if runtime == OPENVINO else _onnxruntime(model, threads)


def _check(runtime: str, model: Path) -> None:
    if runtime not in RUNTIMES:
        raise UsageError(f"{runtime!r} is no runtime of {model.name}: {', '.join(RUNTIMES)} are. See its config.pbtxt")
    if not available(runtime):
        raise UsageError(
            f"the package {runtime}, which runs {model}, isn't installed: pip install 'PATH_OF_THE_CLONE[local]'. "
            "Where it doesn't exist, change config.pbtxt: `runtime` and `model_version` to fallback_runtime and "
            "fallback_version"
        )


def open_outputs(runtime: str, model: Path, threads: int, outputs: Sequence[str]) -> RunOutputs:
    """Load a model with several requested outputs. Raises UsageError as `open_model` does."""
    _check(runtime, model)
    if runtime == OPENVINO:
        request, inputs = _openvino_request(model, threads)

        def infer(feeds: Feeds) -> list[NDArray[np.float32]]:
            request.infer({name: feeds[name] for name in inputs})
            return [np.array(request.get_tensor(name).data) for name in outputs]

        return infer
    session = _onnxruntime_session(model, threads)

    def run(feeds: Feeds) -> list[NDArray[np.float32]]:
        found: list[NDArray[np.float32]] = session.run(list(outputs), dict(feeds))
        return found

    return run


def session_options(threads: int) -> Any:
    """Return the options with which ONNX Runtime gives the same numbers on each processor with x86-64."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    if not processor_has_vnni():
        # Such a processor adds two products of 8 bits in 16 bits, which is too few for some sums. With this option,
        # weights lose their sign, and the sums are exact. With VNNI they are exact anyway, and it only takes longer.
        options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def _onnxruntime_session(model: Path, threads: int) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(model), session_options(threads), providers=["CPUExecutionProvider"])


def _onnxruntime(model: Path, threads: int) -> Run:
    session = _onnxruntime_session(model, threads)
    names = [node.name for node in session.get_inputs()]

    def run(feeds: Feeds) -> NDArray[np.float32]:
        found: NDArray[np.float32] = session.run(None, {name: feeds[name] for name in names})[0]
        return found

    return run


def _openvino_network(model: Path, threads: int, activations: Path | None = None, callers: int = 1) -> Any:
    # Its converter for other formats imports a library that reports usage to its makers, and is not needed.
    sys.modules.setdefault("openvino.tools.ovc", None)  # type: ignore[arg-type]  # how Python marks what can't be imported
    import openvino

    core = openvino.Core()
    options: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": threads * callers,
        # One for each caller: calls on one stream wait for each other.
        "NUM_STREAMS": callers,
        # Otherwise the threads of all instances are pinned to the same first cores.
        "ENABLE_CPU_PINNING": False,
        # The default depends on the processor, and so would the vectors.
        "INFERENCE_PRECISION_HINT": "f32",
    }
    network = core.read_model(str(model))
    if activations and processor_has_vnni():
        quantize_activations(network, read_ranges(activations), activations)
        options["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = GROUP
    return core.compile_model(network, "CPU", options)


def _openvino_request(model: Path, threads: int) -> tuple[Any, list[str]]:
    """Return a request of a compiled model, and the names of the model's inputs."""
    request = _openvino_network(model, threads).create_infer_request()
    return request, [node.get_any_name() for node in request.model_inputs]


def _openvino(model: Path, threads: int, activations: Path | None, callers: int) -> Run:
    network = _openvino_network(model, threads, activations, callers)
    names = [node.get_any_name() for node in network.inputs]
    own = local()  # a request serves one thread at a time

    def run(feeds: Feeds) -> NDArray[np.float32]:
        if not hasattr(own, "request"):
            own.request = network.create_infer_request()
        own.request.infer({name: feeds[name] for name in names}, share_inputs=True)
        # The next call of this thread overwrites the tensor: the caller pools it before.
        found: NDArray[np.float32] = own.request.get_output_tensor(0).data
        return found

    return run
