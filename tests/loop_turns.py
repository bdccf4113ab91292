"""A count of turns of the event loop: a measure of time that stands still when the whole machine does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

TURN_SECONDS = 0.01


class Turns:
    """The number of turns of 10 ms that the loop has had."""

    def __init__(self) -> None:
        self.count = 0

    async def go_on(self) -> None:
        while True:
            await asyncio.sleep(TURN_SECONDS)
            self.count += 1


@asynccontextmanager
async def counted_turns() -> AsyncIterator[Turns]:
    turns = Turns()
    counting = asyncio.create_task(turns.go_on())
    try:
        yield turns
    finally:
        counting.cancel()
