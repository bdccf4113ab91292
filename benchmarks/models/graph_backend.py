"""Triton's ONNX Runtime backend, replaced by the python backend: the package `nvidia-pytriton` has no other.

`lay_out` copies a repository whose models are graphs, for a server that runs each graph in ONNX Runtime inside a
process of the python backend. There each instance is a process with a GPU context of its own, so the instances of one
GPU take turns on it, and tensors are copied through shared memory once more: it is slower than the backend it replaces.

This is for measurements where there is no image of Triton, never for production: the python backend replaces a process
that is late by another one on the same memory (docs/decisions/0035-clients-tokenize-for-graphs.md).
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.models.graph_session import CPU, CUDA, PROVIDER
from benchmarks.own_servers import wait_until
from streams.errors import StoreUnavailable, UsageError
from streams.local.child_process import Child, kill_orphans, stop, tail
from streams.local.servers.triton import Triton, why_not
from streams.models.inference.repository import read_config
from streams.models.triton_graphs import is_graph

ROOT = Path(__file__).parents[2]
MODEL = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from benchmarks.models.graph_model import TritonPythonModel
"""


def lay_out(repository: Path, target: Path, instances: int | None = None) -> list[str]:
    """Copy the repository for the python backend. Return the names of its models. Raises UsageError.

    `instances` changes the number of instances of each model on GPUs.
    """
    names = []
    for config in sorted(repository.glob("*/config.pbtxt")):
        if not is_graph(read_config(config.parent)):
            raise UsageError(
                f"{config.parent} takes texts, so a Triton of `riffle up --triton` serves it: give its URL"
            )
        if not (config.parent / "1" / "model.onnx").exists():
            raise UsageError(f"{config.parent / '1'} has no model.onnx: triton_models/export.py writes it")
        names.append(config.parent.name)
        folder = target / config.parent.name
        shutil.copytree(config.parent, folder, copy_function=_link)
        (folder / "config.pbtxt").unlink()
        (folder / "config.pbtxt").write_text(for_python_backend(config.read_text(), instances))
        (folder / "1" / "model.py").write_text(MODEL)
    if not names:
        raise UsageError(f"{repository} holds no model: it must hold a folder with a config.pbtxt for each")
    return names


def for_python_backend(text: str, instances: int | None = None) -> str:
    """Return the configuration of a graph for the python backend, with the provider of ONNX Runtime as a parameter."""
    from google.protobuf import text_format  # type: ignore[import-untyped]  # ships no types
    from tritonclient.grpc.model_config_pb2 import ModelConfig

    config = text_format.Parse(text, ModelConfig())
    config.backend = "python"
    on_gpu = [group for group in config.instance_group if group.kind == group.KIND_GPU]
    for group in on_gpu:
        group.kind = group.KIND_CPU  # of Triton's view: the process opens the GPU itself
        group.count = group.count if instances is None else instances
    config.parameters[PROVIDER].string_value = CUDA if on_gpu else CPU
    return str(text_format.MessageToString(config))


def _link(source: str, target: str) -> None:
    """Link a file in place of a copy: weights are large."""
    Path(target).symlink_to(Path(source).resolve())


@contextmanager
def serving(repository: Path, names: Sequence[str], home: Path) -> Iterator[str]:
    """Serve a laid-out repository by a Triton of our own. Yields its address. Raises StoreUnavailable."""
    if reason := why_not():
        raise UsageError(f"Triton can't run here: {reason}. Give the URL of a server")
    triton = Triton(home / "data" / "triton", repository, names)
    for folder in (triton.data, triton.log.parent):
        folder.mkdir(parents=True, exist_ok=True)
    child = Child("triton", triton.prepare(), triton.log, triton.port)
    try:
        wait_until(lambda: _is_ready(triton, child), "Triton")
        yield triton.url
    finally:
        stop([child], 0)
        kill_orphans(child)
        triton.clean()


def _is_ready(triton: Triton, child: Child) -> bool:
    if child.exit_code is not None:
        raise StoreUnavailable(f"Triton ended with {child.exit_code}: " + "\n".join(tail(triton.log)))
    return triton.is_ready()
