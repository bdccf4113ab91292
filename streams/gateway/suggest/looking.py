"""A look at a store from time to time, beside the answers: nobody waits for it, and its failure is logged."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

LOOK_SECONDS = 60.0
"""Time between two looks for a newer build of suggestions (seconds)."""

log = structlog.get_logger(__name__)


class Looking:
    """Runs a look in the background, if the last one began long ago and has ended."""

    def __init__(self, what: str, look: Callable[[], Awaitable[None]], clock: Callable[[], datetime]) -> None:
        """`what`: what is looked for, for the log."""
        self._what, self._look, self._clock = what, look, clock
        self._next = datetime.min.replace(tzinfo=clock().tzinfo)
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin a look that is due."""
        if self._clock() < self._next or (self._running and not self._running.done()):
            return
        self._next = self._clock() + timedelta(seconds=LOOK_SECONDS)
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End a running look."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._look()
        except Exception as error:
            log.info(f"{self._what} were not loaded", error=str(error) or type(error).__name__)
