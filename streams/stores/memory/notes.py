"""Small values that end by themselves, and the holds of keys by fetch workers, in memory."""

import time
from collections.abc import Callable

from streams.clock import now_micros


class MemoryNotes:
    """See `Notes`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shelves: dict[str, dict[str, tuple[int, float, bytes]]] = {}
        """The time of the write, the end and the value of each note."""

    async def put(self, shelf: str, name: str, value: bytes, *, seconds: int, at: int | None = None) -> None:
        at = now_micros() if at is None else at
        notes = self._shelves.setdefault(shelf, {})
        if at >= notes.get(name, (at,))[0]:
            notes[name] = at, self._clock() + seconds, value

    async def of_shelf(self, shelf: str) -> dict[str, bytes]:
        notes, now = self._shelves.get(shelf, {}), self._clock()
        return {name: value for name, (_, until, value) in notes.items() if now < until}

    async def clear(self, shelf: str) -> None:
        self._shelves.pop(shelf, None)


class MemoryPaceHolds:
    """See `PaceHolds`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._holds: dict[str, tuple[str, float]] = {}

    async def hold(self, key: str, holder: str, seconds: int) -> float:
        now = self._clock()
        other, until = self._holds.get(key, (holder, now))
        if other != holder and until > now:
            return until - now
        self._holds[key] = holder, now + seconds
        return 0.0

    async def left(self, key: str) -> float:
        return max(self._holds.get(key, ("", 0.0))[1] - self._clock(), 0.0)

    async def release(self, key: str, holder: str) -> None:
        if self._holds.get(key, ("", 0.0))[0] == holder:
            del self._holds[key]
