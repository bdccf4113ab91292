"""Python's garbage collector of cycles, and memory that goes back to the system, in processes that run for long.

The collector looks at objects again and again, whether they can end or not. All that a process loads before its first
event or request stays for good: 97,000 objects in a gateway. A full collection of them takes 60 ms, and no request is
answered meanwhile.

By default the C library gives each thread a heap of its own, of up to 8 for each core, and raises its limit for buffers
that go back at once with each large buffer that is freed. Then a burst of large pages stays with a worker for good.
"""

import contextlib
import ctypes
import gc

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
