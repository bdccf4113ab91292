"""The sandbox process: reads requests from its standard input, writes answers to its standard output.

    python -m streams.sandbox.worker PARENT_PID LIMITS TASK...

The process may be killed at any moment, and the kernel ends it when a task uses too much CPU time or memory (`limits`).
A process that got no more memory, or keeps much of its memory, ends after its answer, so that a task's result does not
depend on the tasks before it.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

from streams.errors import Refused
from streams.resources import exempt_loaded_objects, expect_imports
from streams.sandbox.confinement import confine, die_with_parent
from streams.sandbox.limits import (
    OUT_OF_MEMORY,
    Limits,
    MemoryRefused,
    data_bytes,
    limit_process,
    memory_refusal,
    start_cpu_limit,
    stop_cpu_limit,
)
from streams.sandbox.messages import pack_frame, read_frame

Task = Callable[[bytes], bytes]
COLLECTED_OBJECTS = 20_000
"""Number of new objects between two runs of the collector. A page makes some ten thousand, hardly any of them in
cycles, and by default the collector would look at them fifteen times."""


def load_task(name: str) -> Task:
    """Import a task, `module:function`."""
    module, _, function = name.partition(":")
    task: Task = getattr(import_module(module), function)
    return task


def warm_up(names: list[str]) -> None:
    """Call `warm_up()` of each task's module that has one, and load what libraries load only when it is used."""
    for module in dict.fromkeys(name.partition(":")[0] for name in names):
        prepare = getattr(import_module(module), "warm_up", None)
        if prepare is not None:
            prepare()
    if "numpy" in sys.modules:
        import_module("numpy.ma")  # numpy 2 loads it in the first call of `unique`


def run_task(task: Task, payload: bytes, limits: Limits) -> tuple[bool, list[Any]]:
    """Run a task. Returns whether it was short of memory, and the rest of the answer."""
    try:
        return False, ["ok", task(payload)]
    except Refused as refusal:
        return isinstance(refusal, MemoryRefused), ["refused", refusal.rule, refusal.detail]
    except MemoryError:
        return True, ["refused", *memory_refusal(limits)]
    except RecursionError:
        return False, ["refused", "nesting", "structures nest deeper than the interpreter's stack"]
    except Exception as error:
        return False, ["failed", f"{type(error).__name__}: {error}"]


def serve(source: BinaryIO, sink: BinaryIO, tasks: dict[str, Task], limits: Limits, started_with: int) -> None:
    """Answer until the input ends or the memory is used up.

    The input ends when the parent ends, too. `started_with`: data of the process before the first task (bytes).
    """
    most = started_with + int(limits.memory_bytes * limits.kept_share)
    ends = False
    while not ends and (request := read_frame(source)) is not None:
        name, payload = request
        start_cpu_limit(limits)
        short_of_memory, answer = run_task(tasks[name], payload, limits)
        stop_cpu_limit()
        del request, payload  # not kept while the next one is read
        ends = short_of_memory or (started_with > 0 and data_bytes() > most)
        try:
            _write(sink, [ends, short_of_memory, *answer])
        except MemoryError:
            ends = True
            _write(sink, [ends, True, "refused", *memory_refusal(limits)])


def _write(sink: BinaryIO, frame: list[Any]) -> None:
    sink.write(pack_frame(frame))
    sink.flush()


def silence(descriptor: int) -> None:
    """Lead a descriptor of this process to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def main() -> None:
    parent, limits, names = int(sys.argv[1]), Limits(**json.loads(sys.argv[2])), sys.argv[3:]
    die_with_parent(parent)
    sink = os.fdopen(os.dup(1), "wb")
    silence(1)  # what a library prints must not be between the frames
    expect_imports()
    tasks = {name: load_task(name) for name in names}
    warm_up(names)
    started_with = limit_process(limits)
    silence(2)  # a task writes nothing into the log of the worker
    in_force = confine()
    exempt_loaded_objects(COLLECTED_OBJECTS)
    _write(sink, [in_force])
    try:
        serve(sys.stdin.buffer, sink, tasks, limits, started_with)
    except MemoryError:  # even the refusal found no memory; the interpreter's own end would find none, either
        os._exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()
