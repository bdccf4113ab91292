"""Long pages take turns: a worker works on one at a time, since one takes as much memory as a hundred others.

A page that waits says now and then that it does, so that its event is not overdue. Other pages go on meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streams.runtime.agent import Delivery

LONG_STATEMENTS = 4_000
"""Minimum number of statements of a long page. Of 540 pages of manuals, the longest had 3,100."""
LOOK_SECONDS = 60.0
"""Time after which a page that waits for its turn says so (seconds)."""


class LongPages:
    """The turn of the long pages of one worker."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, delivery: Delivery, statements: int) -> AsyncIterator[None]:
        """Wait for the turn of a long page, and keep it meanwhile. Other pages don't wait."""
        if statements < LONG_STATEMENTS:
            yield
            return
        while not await self._took_turn():
            delivery.note_part()
        try:
            yield
        finally:
            self._turn.release()

    async def _took_turn(self) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._turn.acquire()
        except TimeoutError:
            return False
