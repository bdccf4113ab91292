"""A server of uvicorn that is idle without requests: its own looks ten times a second whether it should end."""

import asyncio

import uvicorn

TICK_SECONDS = 0.5
"""Time between two looks whether the server should end, and between two values of the header Date (seconds)."""
RENEWING = 0
"""The number of a tick at which uvicorn renews the header Date."""


class QuietServer(uvicorn.Server):
    """A server that looks twice a second whether it should end."""

    async def main_loop(self) -> None:
        while not await self.on_tick(RENEWING):  # noqa: ASYNC110  # signals set an attribute of uvicorn's
            await asyncio.sleep(TICK_SECONDS)
