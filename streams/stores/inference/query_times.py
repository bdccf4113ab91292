"""The time of the last query, shared by the model processes of one server: models for statements pause after it.

A niced process still takes its part of a processor, and what a search needs after its embedding (the index, ranking)
runs beside it. So every second instance of the model for statements waits between two of its batches until the search
has had time to end. It waits once for a batch, so that statements are embedded however many people search.
"""

import mmap
import os
import struct
from pathlib import Path
from time import monotonic, sleep
from typing import Self

SHARED = Path("/dev/shm")  # noqa: S108 - where the server's own shared memory is
PREFIX = "riffle-query-"
"""The beginning of the files' names, before the server's process id."""
_TIME = struct.Struct("d")


class QueryTimes:
    """Eight bytes of shared memory with a time of `time.monotonic`, which all processes of a machine share."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.ftruncate(descriptor, _TIME.size)
            self._memory = mmap.mmap(descriptor, _TIME.size)
        finally:
            os.close(descriptor)

    @classmethod
    def of_server(cls, server: int, folder: Path = SHARED) -> Self | None:
        """The one of the server with this process id. None where memory can't be shared: nothing pauses there."""
        try:
            return cls(folder / f"{PREFIX}{server}")
        except OSError:
            return None

    def mark(self) -> None:
        """Note that a query has come."""
        _TIME.pack_into(self._memory, 0, monotonic())

    def pause(self, seconds: float) -> None:
        """Wait until the last query is this long ago, and never longer."""
        (marked,) = _TIME.unpack_from(self._memory)
        left = marked + seconds - monotonic()
        if 0 < left <= seconds:  # a time from before the machine's start, in a file that was left behind, is no query
            sleep(left)
