"""Concurrency by key, and acknowledgements in order of arrival.

Faust commits the offset after the highest acknowledged event when nothing was committed on a partition before, even
if earlier events are still in progress (`Consumer._new_offset` looks for a gap only above a committed offset other than
0). So this module acknowledges strictly in the order of arrival, per partition: a finished event waits for the events
before it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from weakref import WeakValueDictionary

Work = Callable[[], Awaitable[None]]
URGENT_SLOTS = 2
"""Number of slots that only urgent work has."""
CANCEL_SECONDS = 1.0
"""Maximum time that cancelled work takes to end (seconds)."""


@dataclass(slots=True)
class _Place:
    acknowledge: Work
    time: float
    done: bool = False


class InOrder:
    """Acknowledges the events of each partition in the order of their arrival.

    At most `limit` events are unacknowledged. Await `wait_for_room` before `add`: this is the backpressure.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lines: dict[Hashable, deque[_Place]] = {}
        self._held = 0
        self._freed = asyncio.Event()

    async def wait_for_room(self) -> None:
        """Wait until there is room for another event."""
        while self._held >= self._limit:
            self._freed.clear()
            await self._freed.wait()

    def add(self, partition: Hashable, acknowledge: Work, time: float = 0.0) -> Work:
        """Add an event to its partition's line. Call and await the result when the event is done.

        `time` is Kafka's time of the event (seconds since 1970 UTC).
        """
        line = self._lines.setdefault(partition, deque())
        place = _Place(acknowledge, time)
        line.append(place)
        self._held += 1

        async def done() -> None:
            place.done = True
            if self._lines.get(partition) is not line:
                return  # the partition was revoked, and its events belong to another worker
            while line and line[0].done:
                first = line.popleft()
                self._release(1)
                await first.acknowledge()

        return done

    def oldest(self) -> float | None:
        """Return Kafka's time of the oldest event that is not acknowledged, or None if there is none."""
        return min((line[0].time for line in self._lines.values() if line), default=None)

    def forget(self) -> None:
        """Forget all events, after a rebalance: unacknowledged events are delivered again."""
        self._release(len(self))
        self._lines.clear()

    def _release(self, count: int) -> None:
        self._held -= count
        self._freed.set()

    def __len__(self) -> int:
        return self._held


class KeyedTasks:
    """Runs work concurrently up to a limit. Work with the same key runs in the order of submission, one at a time.

    A slot is taken when work starts: work that waits for its key holds none, so that the events of one key don't keep
    the events of other keys waiting.

    Urgent work has slots of its own, and runs before all work with its key that has not started.
    """

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._urgent_slots = asyncio.Semaphore(URGENT_SLOTS)
        self._keys: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        """A lock for each key of the lines and of urgent work."""
        self._lines: dict[bytes, deque[Work]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._delayed: set[asyncio.Task[None]] = set()
        self._epoch = 0
        self.waiting = 0

    def submit(self, key: bytes, work: Work) -> None:
        """Run `work` when its key and a slot are free. `work` must not raise."""
        self.waiting += 1
        line = self._lines.get(key)
        if line is not None:
            line.append(work)
            return
        self._lines[key] = deque([work])
        _start(self._run_line(key, self._epoch), self._running)

    def submit_urgent(self, key: bytes, work: Work) -> None:
        """Run `work` when its key and an urgent slot are free. Urgent work with the same key runs in the order of
        submission. `work` must not raise."""
        self.waiting += 1
        _start(self._run_urgent(self._lock(key), work, self._epoch), self._running)

    def submit_later(self, key: bytes, work: Work, delay: Work) -> None:
        """Submit `work` after `delay`. Until then it holds neither its key nor a slot."""

        async def wait_and_submit() -> None:
            await delay()
            self.submit(key, work)

        _start(wait_and_submit(), self._delayed)

    def _lock(self, key: bytes) -> asyncio.Lock:
        if (lock := self._keys.get(key)) is None:
            lock = self._keys[key] = asyncio.Lock()
        return lock

    async def _run_urgent(self, lock: asyncio.Lock, work: Work, epoch: int) -> None:
        async with self._urgent_slots, lock:
            if epoch != self._epoch:
                return
            try:
                await work()
            finally:
                if epoch == self._epoch:
                    self.waiting -= 1

    async def _run_line(self, key: bytes, epoch: int) -> None:
        line, lock = self._lines[key], self._lock(key)
        while line:
            async with self._slots, lock:
                if epoch != self._epoch:
                    return
                try:
                    await line[0]()
                finally:
                    if epoch == self._epoch:
                        line.popleft()
                        self.waiting -= 1
        if self._lines.get(key) is line:
            del self._lines[key]

    async def drain(self, grace_seconds: float) -> bool:
        """Drop the work that has not started, and wait for the rest. Returns False if some had to be cancelled."""
        self._epoch += 1
        self._lines.clear()
        self.waiting = 0
        for task in self._delayed:
            task.cancel()
        if not self._running:
            return True
        _, late = await asyncio.wait(self._running, timeout=grace_seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_SECONDS)
        return not late


def _start(coroutine: Coroutine[None, None, None], tasks: set[asyncio.Task[None]]) -> None:
    task = asyncio.create_task(coroutine)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
