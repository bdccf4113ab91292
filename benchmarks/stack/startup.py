"""The local stack with empty data: seconds until all is ready, several times, its memory then, and its work while it
is idle."""

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
from streams.commands.stack.status import proportional_memory, usage
from streams.errors import UsageError
from streams.local.home import StackState, running_state

SECONDS_TARGET = 20
IDLE_TARGET = 0.04
SETTLING_SECONDS = 40
"""Time after the start before the idle stack is watched (seconds): Java compiles what the start used."""
IDLE_SECONDS = 60


@command
def run(
    times: Annotated[int, typer.Option(min=1, help="Number of starts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure how long `riffle up` takes with empty data, several times, on stacks of its own.

    The last stack is watched for a minute without work.

    Example:  python -m benchmarks startup --times 5
    """
    conditions = machine()
    starts = [start_once(number, watched=number == times - 1) for number in range(times)]
    result = {
        "machine": conditions,
        "seconds": [start["seconds"] for start in starts],
        "median_seconds": statistics.median(start["seconds"] for start in starts),
        "median_cpu_seconds": statistics.median(start["cpu_seconds"] for start in starts),
        "median_memory_gb": statistics.median(start["memory_gb"] for start in starts),
        "idle_cores": starts[-1]["idle_cores"],
    }
    if as_json:
        print_json(result)
    else:
        show(result)


def start_once(number: int, *, watched: bool) -> dict[str, float]:
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
            idle = _idle_cores(state) if watched else 0.0
        finally:
            subprocess.run([*RIFFLE, "down"], env=environment, capture_output=True)
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used, 1),
        "memory_gb": round(memory / 1e9, 2),
        "idle_cores": round(idle, 4),
    }


def _idle_cores(state: StackState) -> float:
    """Return the share of a core that the stack and its supervisor use without work."""
    time.sleep(SETTLING_SECONDS)
    begun, before = time.monotonic(), usage(state.pid)[1]
    time.sleep(IDLE_SECONDS)
    return (usage(state.pid)[1] - before) / (time.monotonic() - begun)


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
    rows.add_row("cores while it is idle", str(result["idle_cores"]), str(IDLE_TARGET))
    out.print(rows)
