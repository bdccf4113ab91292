"""Concurrency by key, and acknowledgements in order of arrival.

Faust commits the offset after the highest acknowledged event when nothing was committed on a partition before, even
if earlier events are still in progress (`Consumer._new_offset` looks for a gap only above a committed offset other than
0). So this module acknowledges strictly in the order of arrival, per partition: a finished event waits for those
before it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass


@dataclass(slots=True)
class _Place:
    acknowledge: Callable[[], Awaitable[None]]
    done: bool = False


class InOrder:
    """Acknowledges events of each partition in the order in which they arrived."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[_Place]] = {}

    def arrived(self, partition: Hashable, acknowledge: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Add an event to its partition's line. Call and await the result when the event is done."""
        line = self._waiting.setdefault(partition, deque())
        place = _Place(acknowledge)
        line.append(place)

        async def done() -> None:
            place.done = True
            while line and line[0].done:
                await line.popleft().acknowledge()

        return done

    def __len__(self) -> int:
        return sum(len(line) for line in self._waiting.values())


class KeyedTasks:
    """Runs work concurrently up to a limit. Work with the same key runs in the order of submission, one at a time."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._lines: dict[bytes, deque[Callable[[], Awaitable[None]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.waiting = 0

    async def submit(self, key: bytes, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for a free slot (the backpressure), then start `work`. `work` must not raise."""
        await self._slots.acquire()
        self.waiting += 1
        line = self._lines.get(key)
        if line is not None:
            line.append(work)
            return
        self._lines[key] = deque([work])
        task = asyncio.create_task(self._drain(key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self, key: bytes) -> None:
        line = self._lines[key]
        while line:
            try:
                await line[0]()
            finally:
                line.popleft()
                self.waiting -= 1
                self._slots.release()
                if not line:
                    del self._lines[key]

    async def join(self, timeout_seconds: float) -> bool:
        """Wait for all work in progress. Returns False if some was not finished in time; that work is cancelled."""
        if not self._tasks:
            return True
        _, pending = await asyncio.wait(self._tasks, timeout=timeout_seconds)
        for task in pending:
            task.cancel()
        return not pending
