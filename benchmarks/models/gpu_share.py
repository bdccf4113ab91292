"""The share of the time in which the GPUs of this machine are busy, by nvidia-smi. Without it, it is not known.

`utilization.gpu` is the share of the time in which at least one kernel ran on the GPU. It does not say how much of the
GPU a kernel used.
"""

import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

SAMPLE_MS = 200
FIELDS = "index,utilization.gpu,memory.used,power.draw"


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of nvidia-smi for one GPU, `at` a time of the monotonic clock (seconds)."""

    at: float
    gpu: int
    busy: float
    memory_mb: float
    watts: float


@dataclass(frozen=True, slots=True)
class GpuShare:
    """`busy`: the median of the samples of a time, from 0 to 1, of all GPUs. `memory_mb`: the most of one GPU."""

    busy: float
    memory_mb: float
    watts: float
    samples: int


def parse_sample(line: str, at: float) -> Sample | None:
    """Return the sample of a line of nvidia-smi, or None for a line without numbers."""
    parts = [part.strip() for part in line.split(",")]
    try:
        gpu, busy, memory, watts = parts
        return Sample(at, int(gpu), float(busy) / 100, float(memory), _number(watts))
    except ValueError:
        return None


def _number(text: str) -> float:
    """Return the number, or 0 where the GPU does not report it ("[N/A]")."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def share_of(samples: Sequence[Sample], start: float, end: float) -> GpuShare | None:
    """Return the share of the samples between these times, or None without samples."""
    within = [sample for sample in samples if start <= sample.at <= end]
    if not within:
        return None
    return GpuShare(
        round(statistics.median(sample.busy for sample in within), 3),
        max(sample.memory_mb for sample in within),
        round(statistics.median(sample.watts for sample in within), 1),
        len(within),
    )


class GpuSampler:
    """Reads nvidia-smi in a thread while the context is open."""

    def __init__(self) -> None:
        self._samples: list[Sample] = []
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        if program := shutil.which("nvidia-smi"):
            self._process = subprocess.Popen(
                [program, f"--query-gpu={FIELDS}", "--format=csv,noheader,nounits", f"--loop-ms={SAMPLE_MS}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if (sample := parse_sample(line, time.monotonic())) is not None:
                self._samples.append(sample)

    def between(self, start: float, end: float) -> GpuShare | None:
        """Return the share between two times of the monotonic clock, or None if it is not known."""
        return share_of(list(self._samples), start, end)


def gpu_names() -> list[str]:
    """Return the names of the GPUs of this machine with their drivers. Empty without nvidia-smi."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()] if answer.returncode == 0 else []
