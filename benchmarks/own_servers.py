"""The servers and programs of Riffle that a benchmark starts: their command line, environment and process ids."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from streams.errors import UsageError
from streams.local import riffle_processes
from streams.local.ports import free_ports
from streams.local.probing import answers
from streams.settings import Settings

RIFFLE = [sys.executable, "-c", riffle_processes.RIFFLE]
"""The command line of `riffle`, of this environment."""
PROGRAMS = {"kafka": "kafka.Kafka", "cassandra": "CassandraDaemon", "qdrant": "qdrant_server"}
"""A word of the command line of each server."""
START_SECONDS = 120.0
LOOK_SECONDS = 0.25


def environment_of(settings: Settings, home: Path) -> dict[str, str]:
    """Return the environment of a program of Riffle that uses the Kafka and the Cassandra of these settings."""
    return {
        **os.environ,
        "RIFFLE_HOME": str(home),
        "RIFFLE_KAFKA__BOOTSTRAP": settings.kafka.bootstrap,
        "RIFFLE_CASSANDRA__HOSTS": json.dumps(list(settings.cassandra.hosts)),
        "RIFFLE_CASSANDRA__PORT": str(settings.cassandra.port),
    }


@contextmanager
def running_worker(stages: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[int]:
    """Run a worker of these stages, whose output is the file `log`. Yield its process id when it is ready."""
    (health,) = free_ports(1)
    command = [*RIFFLE, "worker", *stages, "--health-port", str(health)]
    with log.open("wb") as output:
        worker = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{health}/readyz"), "the worker")
            yield worker.pid
        finally:
            worker.terminate()  # does nothing if `end_worker` ended it
            worker.wait()


def end_worker(pid: int) -> float:
    """Let a worker finish and write what waits. Return the CPU time of its whole life (seconds), when it has ended."""
    os.kill(pid, signal.SIGTERM)
    _, _, used = os.wait4(pid, 0)
    return used.ru_utime + used.ru_stime


def server_pids() -> dict[str, int]:
    """Return the process ids of the servers that this process started, by their names."""
    found: dict[str, int] = {}
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            line = " ".join(child.cmdline())
            found = {name: child.pid for name, program in PROGRAMS.items() if program in line} | found
    return found


def wait_until(is_ready: Callable[[], bool], what: str) -> None:
    """Wait for a program. Raises UsageError after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while not is_ready():
        if time.monotonic() > deadline:
            raise UsageError(f"{what} is not ready after {START_SECONDS:g} s")
        time.sleep(LOOK_SECONDS)
