"""Riffle's own processes in the local stack: a worker for each stage, and the gateway."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from streams.local.children import Launch
from streams.local.ports import free_ports, preferred_port
from streams.local.probing import answers
from streams.local.server import Hints
from streams.topology import STAGES, Stage

RIFFLE = "from streams.cli import main; main()"
"""The command line on the interpreter that we run on, whether or not its script is on the PATH."""


@dataclass(slots=True)
class Member:
    """A `riffle` command that runs until it's told to stop, and tells over HTTP how it is."""

    name: str
    title: str
    port: int
    arguments: tuple[str, ...]
    home: Path
    hints: Hints = field(default=())
    ready_timeout_seconds: float = 120.0

    @property
    def health(self) -> str:
        return f"http://127.0.0.1:{self.port}/healthz"

    def prepare(self) -> Launch:
        command = [sys.executable, "-c", RIFFLE, *self.arguments]
        return Launch(command, {"RIFFLE_HOME": str(self.home), "PYTHONUNBUFFERED": "1"})

    def is_ready(self) -> bool:
        return answers(f"http://127.0.0.1:{self.port}/readyz")


def workers(home: Path, stages: tuple[Stage, ...] = STAGES) -> list[Member]:
    """One member for each worker that the topology wants of each stage."""
    names = [(stage.name, number) for stage in stages for number in range(stage.workers)]
    return [
        _worker(home, stage, number, port) for (stage, number), port in zip(names, free_ports(len(names)), strict=True)
    ]


def _worker(home: Path, stage: str, number: int, port: int) -> Member:
    suffix = f"-{number + 1}" if number else ""
    arguments = ("worker", stage, "--health-port", str(port), "--instance", str(number))
    return Member(f"worker-{stage}{suffix}", f"Worker {stage}{suffix}", port, arguments, home)


def gateway(home: Path, wanted_port: int) -> Member:
    """The gateway on `wanted_port` if that is free, else on any."""
    return Member("gateway", "Gateway", preferred_port(wanted_port), ("gateway",), home)
