"""The holds of keys by fetch workers, in memory."""

import time
from collections.abc import Callable


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
