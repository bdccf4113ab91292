"""The pace of requests over all fetch workers: a worker holds a key in the store while it asks.

Hosts of one domain or address are in different partitions, so different workers fetch them. Each key (`pace`) has one
holder at a time. A hold outlasts the window of each request by a second: a worker that is killed, or loses its
partitions, leaves the key to nobody before the next request may begin. Times are durations: by this machine's steady
clock here, by the store's in the store. So a clock that is set forward or back changes nothing.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil

from streams.crawl.fetch.pace import EndTimes, Pace, Window
from streams.errors import TransientError
from streams.stores.protocols import PaceHolds

HOLD_SECONDS = 5
"""Time of a hold beyond the window of the request that needs it (seconds). A killed worker keeps a key for as long."""
STORE_STEP_SECONDS = 1.0
"""Resolution of the store's times (seconds)."""
TURN_SECONDS = 20.0
"""Time after which a worker gives a key up if another one waits for it (seconds)."""
REST_SECONDS = HOLD_SECONDS + 2.0
"""Time that others have to take the key (seconds): each asks for it again within this time."""
_ANY = "any"
"""The holder of the keys by which workers say that they wait."""
RELEASE_SECONDS = 2.0
"""Maximum time that a stop waits until the keys are released (seconds)."""
MAX_RELEASED = 200
"""Maximum number of holds that a worker ends when it stops."""


class SharedPace:
    """One worker's part of the pace."""

    def __init__(self, holds: PaceHolds, holder: str, monotonic: Callable[[], float]) -> None:
        self._holds = holds
        self._holder = holder
        self._monotonic = monotonic
        self._pace = Pace()
        self._held_until = EndTimes()
        self._turn_began: dict[str, float] = {}
        self._promised = EndTimes()
        """Time of the last request of a key that was sent back until then."""
        self.is_alone = False
        """True if no other worker fetches, so that nobody waits for a key."""

    async def take(self, windows: Sequence[Window]) -> float:
        """Count a request that begins now and return 0, or return how long it must wait (seconds)."""
        if wait := self._pace.wait(windows, self._monotonic()):
            return wait
        held = _held_windows(windows)
        for window in held:
            if wait := await self._hold(window):
                return wait
        now = self._monotonic()
        if any(self._held_until.get(window.key, 0.0) < now + window.seconds for window in held):
            return STORE_STEP_SECONDS  # the store answered late
        if wait := self._pace.wait(windows, now):
            return wait
        self._pace.count(windows, now)
        return 0.0

    def postpone(self, windows: Sequence[Window], wait: float) -> float:
        """Return for how long a request is sent back that must wait: one after the other for each key (seconds)."""
        now = self._monotonic()
        at = now + wait
        for window in windows:
            at = max(at, self._promised.get(window.key, 0.0) + window.seconds / window.requests)
        for window in windows:
            self._promised[window.key] = at
        self._promised.forget_past(now)
        return at - now

    async def _hold(self, window: Window) -> float:
        """Hold a key for long enough. Return 0, or how long another worker has it (seconds)."""
        now, key = self._monotonic(), window.key
        until = self._held_until.get(key, 0.0)
        if until >= now + window.seconds:
            return 0.0
        if until > now and await self._is_turn_over(key, now):
            return until - now + STORE_STEP_SECONDS + REST_SECONDS
        seconds = ceil(window.seconds + STORE_STEP_SECONDS) + HOLD_SECONDS
        if left := await self._holds.hold(key, self._holder, seconds):
            await self._holds.hold(f"waiting {key}", _ANY, 2 * seconds)
            return left
        if until <= now:
            self._turn_began[key] = now
        self._held_until[key] = now + seconds - STORE_STEP_SECONDS
        for past in self._held_until.forget_past(now):
            del self._turn_began[past]
        return 0.0

    async def _is_turn_over(self, key: str, now: float) -> bool:
        """Return whether another worker waits for a key that this one has had for long enough."""
        if self.is_alone or now - self._turn_began[key] < TURN_SECONDS:
            return False
        return await self._holds.left(f"waiting {key}") > 0

    async def release_in_time(self) -> None:
        """Release what can be released soon, when the worker stops. The other holds end by themselves."""
        with suppress(TransientError, TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                await self.release()

    async def release(self) -> None:
        """End the holds whose windows have passed, before the worker stops. The others end by themselves."""
        now = self._monotonic()
        for key, until in list(self._held_until.items())[-MAX_RELEASED:]:
            if until > now and self._pace.is_past(key, now):
                await self._holds.release(key, self._holder)
        self._held_until.clear()


def _held_windows(windows: Sequence[Window]) -> list[Window]:
    """Return the windows whose keys are held. Who holds a domain also holds its hosts, for as long as its window."""
    shared = [window for window in windows if not window.key.startswith("host ")]
    covered = max((window.seconds for window in shared if window.key.startswith("domain ")), default=0.0)
    return [window for window in windows if window in shared or window.seconds > covered]
