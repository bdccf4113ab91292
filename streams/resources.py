"""The share of its machine that a process takes: niceness, the work of the garbage collector, and the memory it keeps.

Where the kernel groups processes by session (sched(7), autogroup: most desktops), sessions share the processor first,
and niceness only orders the processes within one session. A nice process in a session of its own then gets as much as
any other session. But the session itself has a niceness too, in `/proc/PID/autogroup`.

Python's collector of cycles looks at objects again and again, whether they can end or not. All that a process loads
before its first event or request stays for good: 97,000 objects in a gateway. A full collection of them takes 60 ms,
and no request is answered meanwhile.

By default the C library gives each thread a heap of its own, of up to 8 for each core, and raises its limit for buffers
that go back at once with each large buffer that is freed. Then a burst of large pages stays with a worker for good.
"""

import contextlib
import ctypes
import gc
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

FULL_LOAD = 5.5
"""Load of a core, as an average of a minute, from which the machine is full with other work. A stack that indexes while
people search stays below it: it has 2 to 3 for each core."""
TRIES = 10
RETRY_SECONDS = 0.11
COLLECTED_OBJECTS = 5_000
"""Objects that are made between two collections, by default. Python's own 700 looks at each search tens of times."""
OBJECTS_WHILE_LOADING = 50_000
"""The same while modules are imported: they make hundreds of thousands of objects, which all stay."""
MIDDLE_AFTER = 10
"""Number of collections of the youngest generation before one of the middle generation: Python's own."""
FULL_AFTER = 10
"""Number of collections of the middle generation before a full one: Python's own."""
FULL_AFTER_IN_WORKERS = 2
"""The same in workers. A connection that has ended is a cycle of some thirty objects, since its transport holds its own
method. If it lived for some seconds, it waits for a full collection, which came after 18,000 hosts (135 MB)."""
HEAPS = 2
"""Maximum number of heaps. Threads of Python seldom allocate at the same time."""
LARGE_BYTES = 1024 * 1024
"""Minimum size of a buffer that goes back as soon as it is freed (bytes). Reads from a socket have smaller ones."""
FREE_BYTES = 4 * 1024 * 1024
"""Maximum free memory at the end of a heap (bytes)."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8


def is_machine_full(load: float, cores: int) -> bool:
    """Return whether the work that waits is so much that a nice process gets hardly any time."""
    return load >= FULL_LOAD * cores


def raise_session_niceness(leader: int, least: int) -> bool:
    """Give a session's leader, its process group and its session at least this niceness.

    The group has all threads of the processes that the leader started and that are still in it. A leader that somebody
    made as nice already keeps its niceness, and its session keeps its share: with more, it would starve beside the
    other sessions. Returns whether the session's niceness was raised. Raises ProcessLookupError when the leader has
    ended.
    """
    if os.getpriority(os.PRIO_PROCESS, leader) >= least:
        return False
    os.setpriority(os.PRIO_PGRP, leader, least)
    set_session_niceness(leader, least)
    return True


def set_session_niceness(pid: int, niceness: int, proc: Path = Path("/proc")) -> None:
    """Give the session of a process this niceness. Does nothing where sessions have none, or where it isn't allowed."""
    for _ in range(TRIES):
        try:
            (proc / str(pid) / "autogroup").write_text(str(niceness))
        except BlockingIOError:  # the kernel takes ten changes a second from all who aren't root
            time.sleep(RETRY_SECONDS)
        except OSError:
            return
        else:
            return


def expect_imports() -> None:
    """Let the collector run seldom, until `exempt_loaded_objects` or the end of the process."""
    gc.set_threshold(OBJECTS_WHILE_LOADING)


def exempt_loaded_objects(collected_objects: int = COLLECTED_OBJECTS, full_after: int = FULL_AFTER) -> None:
    """Exempt all present objects from collection, and let the collector run every `collected_objects` new ones.

    `full_after`: number of collections of the middle generation before a full one.
    """
    gc.freeze()
    gc.set_threshold(collected_objects, MIDDLE_AFTER, full_after)


def return_freed_memory() -> None:
    """Let this process give freed memory back. Call it before any thread begins. Another C library does nothing."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in (
            (_M_ARENA_MAX, HEAPS),
            (_M_MMAP_THRESHOLD, LARGE_BYTES),
            (_M_TRIM_THRESHOLD, FREE_BYTES),
        ):
            mallopt(option, value)


def new_registry() -> "CollectorRegistry":
    """Return a registry of metrics with the memory, CPU time and open files of the process, and Riffle's version."""
    from prometheus_client import CollectorRegistry, Gauge, ProcessCollector  # not all that ask for processors have it

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    Gauge("riffle_build_info", "Always 1, with the version of Riffle that runs", ["version"], registry=registry).labels(
        version("riffle-search")
    ).set(1)
    return registry
