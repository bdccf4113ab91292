"""The start of the local stack, several times with empty data: seconds until all is ready, and the memory then."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine import describe, machine, table
from benchmarks.own_servers import RIFFLE
from streams.commands.console import AsJson, command, err, out, print_json
from streams.commands.stack.status import proportional_memory
from streams.errors import UsageError
from streams.local.home import running_state

SECONDS_TARGET = 20


@command
def run(
    times: Annotated[int, typer.Option(min=1, help="Number of starts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure how long `riffle up` takes with empty data, several times, on stacks of its own.

    Example:  python -m benchmarks startup --times 5
    """
    conditions = machine()
    starts = [start_once(number) for number in range(times)]
    result = {
        "machine": conditions,
        "seconds": [start["seconds"] for start in starts],
        "median_seconds": statistics.median(start["seconds"] for start in starts),
        "median_cpu_seconds": statistics.median(start["cpu_seconds"] for start in starts),
        "median_memory_gb": statistics.median(start["memory_gb"] for start in starts),
    }
    if as_json:
        print_json(result)
    else:
        show(result)


def start_once(number: int) -> dict[str, float]:
    """Start and stop a stack of its own. Raises UsageError if it doesn't start."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        environment = {**os.environ, "RIFFLE_HOME": scratch, "RIFFLE_GATEWAY__PORT": "0"}
        err.print(f"Start {number + 1} ...", highlight=False)
        begun, before = time.monotonic(), _busy_seconds()
        try:
            done = subprocess.run([*RIFFLE, "up"], env=environment, capture_output=True, text=True)
            seconds, used = time.monotonic() - begun, _busy_seconds() - before
            state = running_state(home)
            if done.returncode or state is None:
                raise UsageError(f"the stack did not start: {done.stdout}{done.stderr}")
            memory = sum(proportional_memory(process.pid) for process in state.processes)
        finally:
            subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)
    return {"seconds": round(seconds, 1), "cpu_seconds": round(used, 1), "memory_gb": round(memory / 1e9, 2)}


def _busy_seconds() -> float:
    """CPU seconds of the whole machine until now, which include other work."""
    import psutil

    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def show(result: dict[str, Any]) -> None:
    out.print(describe(result["machine"]), highlight=False)
    rows = table("Start with empty data", "", "measured", "target")
    rows.add_row("seconds, median", str(result["median_seconds"]), str(SECONDS_TARGET))
    rows.add_row("seconds, each", " ".join(map(str, result["seconds"])), "")
    rows.add_row("CPU seconds of the machine meanwhile, median", str(result["median_cpu_seconds"]), "")
    rows.add_row("memory once all is ready, median", f"{result['median_memory_gb']} GB", "")
    out.print(rows)
