"""The limits that the kernel enforces on a sandbox process: CPU time of a task, memory of the process."""

import contextlib
import ctypes
import os
import resource
import signal
from dataclasses import dataclass
from functools import cache

from streams.errors import Refused

_LARGE_BYTES = 1024 * 1024
"""Minimum size of a buffer that returns to the system when it is freed. By default the allocator raises this limit with
each buffer, and keeps the buffers of a large page."""
_M_MMAP_THRESHOLD = -3
_COUNTS_BYTES = 256
OUT_OF_MEMORY = 77
"""Exit status of a process that had no memory to say so."""


class MemoryRefused(Refused):
    """A refusal for memory that the process did not get. The task is tried once more alone in a fresh process."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one process. CPU time is counted, not the clock: a busy machine must not change a result."""

    cpu_seconds: float = 2.0
    """Maximum CPU time of one task (seconds)."""
    memory_bytes: int = 200 * 1024 * 1024
    """Maximum data of the process beyond its data after the start."""
    kept_share: float = 0.75
    """Maximum share of `memory_bytes` that a process may keep after a task. With more, a fresh process replaces it.
    At half, one page in a thousand keeps more: a start costs as much as hundreds of pages."""


EXHAUSTING = frozenset({"time", "memory", "crash"})
"""The rules of refusals that cost as much as a task may."""


@cache
def _memory_counts() -> int:
    """Return the open file with the kernel's counts. It stays open: a confined process opens none."""
    return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)


def memory_refusal(limits: Limits) -> tuple[str, str]:
    """Return the rule and the detail of a refusal for memory."""
    return "memory", f"more than {limits.memory_bytes >> 20} MiB"


def data_bytes() -> int:
    """Return this process's data as the kernel counts it (bytes); 0 where the kernel has no such count."""
    try:
        fields = os.pread(_memory_counts(), _COUNTS_BYTES, 0).split()
        return int(fields[5]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def limit_process(limits: Limits) -> int:
    """Limit this process. Returns its data before (bytes). Called after the imports, which do not count."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    data = data_bytes()
    with contextlib.suppress(OSError, ValueError):
        if data:
            most = data + limits.memory_bytes
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return data


def start_cpu_limit(limits: Limits) -> None:
    """End this process with SIGPROF if it uses more CPU time from now on."""
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)


def stop_cpu_limit() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
