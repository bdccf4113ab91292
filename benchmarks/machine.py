"""The machine that figures were measured on, and helpers that all benchmarks share."""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table


def machine() -> dict[str, Any]:
    """Cores that this process may use, processor, memory, interpreter: printed with every figure."""
    cores = len(os.sched_getaffinity(0))
    memory_gb = int(Path("/proc/meminfo").read_text().split()[1]) / 1e6
    load_1m, _, _ = os.getloadavg()
    return {
        "cores": cores,
        "processor": _processor(),
        "memory_gb": round(memory_gb, 1),
        "python": platform.python_version(),
        "load_before": round(load_1m, 2),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def describe(conditions: Mapping[str, Any]) -> str:
    """Return the conditions of `machine` as a line for people."""
    return (
        f"{conditions['cores']} cores, {conditions['processor']}, Python {conditions['python']}, "
        f"load before {conditions['load_before']}"
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile of at least one value; `share` from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds."""

    p50: float
    p95: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latency":
        return cls(
            round(statistics.median(seconds) * 1000, 1), round(percentile(seconds, 0.95) * 1000, 1), len(seconds)
        )


def table(title: str, *columns: str) -> Table:
    found = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        found.add_column(column, justify="right" if number else "left")
    return found
