"""A copy of a model repository, changed for the machine that serves it: instances, batching, GPUs or CPUs.

A deployment's values are applied before Triton starts, so that one repository serves a fleet of GPUs and a small
server on CPUs. The files of the models are copied as they are; only each `config.pbtxt` is written again.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.models.inference.repository import MEMBERS


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to the models of a repository. Without a value, a model keeps what its configuration says."""

    cpu: bool = False
    """Run all instances on CPUs."""
    instances: Mapping[str, int] = field(default_factory=dict)
    """Number of instances of each model: on each GPU, or in all on CPUs."""
    max_queue_delay_microseconds: int | None = None
    """Maximum time that a request waits for others, in models with dynamic batching."""
    preferred_sizes: tuple[int, ...] = ()
    """Preferred batch sizes of models with dynamic batching. Sizes above a model's maximum are left out."""
    only: tuple[str, ...] = ()
    """Copy only the first of these models that the repository has, with its members inside. Empty: all."""


def prepare_repository(source: Path, destination: Path, changes: Changes) -> list[str]:
    """Copy the repository and apply the changes. Return the models' names. Raises UsageError."""
    models = sorted(path.parent.name for path in source.glob("*/config.pbtxt"))
    if not models:
        raise UsageError(f"{source} is no model repository: there is no MODEL/config.pbtxt in it")
    chosen = _first_of(source, models, changes.only) if changes.only else models
    if unknown := sorted(set(changes.instances) - set(chosen)):
        raise UsageError(f"there is no model {', '.join(unknown)} in {source}; the models are {', '.join(chosen)}")
    if source != destination:
        for model in chosen:
            shutil.copytree(source / model, destination / model, dirs_exist_ok=True)
            for member in _members(source / model) if changes.only else ():
                # Inside of the model, where the server does not load it as a model of its own.
                shutil.copytree(source / member, destination / model / MEMBERS / member, dirs_exist_ok=True)
    for model in chosen:
        _change_file(destination / model / "config.pbtxt", model, changes)
    return chosen


def _first_of(source: Path, models: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return the first of the wanted models that the repository has. Raises UsageError without one."""
    first = next((model for model in wanted if model in models), None)
    if first is None:
        raise UsageError(f"there is no model {' or '.join(wanted)} in {source}; the models are {', '.join(models)}")
    return [first]


def _members(model: Path) -> list[str]:
    """Return the names of the models that a pair consists of."""
    parameters = _read(model / "config.pbtxt").parameters
    return parameters[MEMBERS].string_value.split() if MEMBERS in parameters else []


def _read(path: Path) -> Any:
    """Return a ModelConfig. Raises UsageError."""
    # Imported here: only the machines that prepare a repository need protobuf, and its classes of Triton's client.
    from google.protobuf import text_format  # type: ignore[import-untyped]  # ships no types
    from tritonclient.grpc.model_config_pb2 import ModelConfig

    try:
        return text_format.Parse(path.read_text(), ModelConfig())
    except (OSError, text_format.ParseError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error


def _change_file(path: Path, model: str, changes: Changes) -> None:
    from google.protobuf import text_format

    config = _read(path)
    change_config(config, changes.instances.get(model), changes)
    path.chmod(0o644)  # a read-only source gives read-only copies
    path.write_text(text_format.MessageToString(config))


def change_config(config: Any, instances: int | None, changes: Changes) -> None:
    """Apply the changes to a ModelConfig, in place."""
    if instances is not None:
        _set_instances(config, instances)
    if changes.cpu:
        _move_to_cpus(config)
    if config.HasField("dynamic_batching"):
        _set_batching(config, changes)


def _set_instances(config: Any, count: int) -> None:
    if not config.instance_group:
        config.instance_group.add()
    for group in config.instance_group:
        group.count = count


def _move_to_cpus(config: Any) -> None:
    for group in config.instance_group:
        group.kind = group.KIND_CPU
        del group.gpus[:]
    config.optimization.ClearField("cuda")


def _set_batching(config: Any, changes: Changes) -> None:
    if changes.max_queue_delay_microseconds is not None:
        config.dynamic_batching.max_queue_delay_microseconds = changes.max_queue_delay_microseconds
    if changes.preferred_sizes:
        fitting = [size for size in changes.preferred_sizes if size <= config.max_batch_size]
        config.dynamic_batching.preferred_batch_size[:] = fitting
