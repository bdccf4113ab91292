"""The limit of labs pages that are made at the same time: each page reads, decodes and shows up to 10 MB."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streams.gateway.http.problems import Problem, ProblemError

AT_ONCE = 2
"""Maximum labs pages that are made at the same time."""
MAX_WAITING = 8
"""Maximum labs pages that wait. Further pages are refused."""
RETRY_AFTER_SECONDS = 10


class LabsCapacity:
    """The slots for labs pages of one gateway process."""

    def __init__(self, at_once: int = AT_ONCE, max_waiting: int = MAX_WAITING) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._max = at_once + max_waiting
        self._inside = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it. Raises ProblemError when MAX_WAITING pages wait already."""
        if self._inside >= self._max:
            raise ProblemError(_busy())
        self._inside += 1
        try:
            async with self._slots:
                yield
        finally:
            self._inside -= 1


def _busy() -> Problem:
    return Problem(
        503,
        "labs-busy",
        "Too many pages are being taken apart",
        "Each of them takes a second or more.",
        "Try again in a few seconds.",
        headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
    )
