"""A breaker for one stage: during an outage its events wait, and one at a time tries if the outage has ended.

No event leaves the topic because of an outage (`errors.is_outage`), however long it is. The events that already arrived
wait in the worker, and the bound on unacknowledged events stops the consumer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

MAX_PROBE_SECONDS = 10.0
"""Maximum time between two tries while the breaker is open."""
FIRST_PROBE_SECONDS = 0.5


@dataclass(slots=True)
class Breaker:
    """Closed: events pass. Open: they wait, and take turns to try again."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    reason: str = ""
    """The error of the outage: it names what is away. Empty while the breaker is closed."""
    passed: int = 0
    """Number of events that were handled."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _pause_seconds: float = FIRST_PROBE_SECONDS

    def success(self) -> None:
        """Close the breaker: an event was handled."""
        self.passed += 1
        self.reason = ""
        self._pause_seconds = FIRST_PROBE_SECONDS

    def open(self, error: Exception) -> None:
        """Open the breaker because of an outage."""
        self.reason = f"{type(error).__name__}: {error}"

    async def wait_turn(self) -> None:
        """Return at once while the breaker is closed, else when this event may try again."""
        if not self.reason:
            return
        async with self._turn:
            if self.reason:
                pause_seconds = self._pause_seconds
                self._pause_seconds = min(2 * pause_seconds, MAX_PROBE_SECONDS)
                await self.sleep(pause_seconds)
