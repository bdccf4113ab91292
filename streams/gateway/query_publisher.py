"""The gateway's connection to Kafka, for query events."""

import asyncio

from schemas import Event
from streams.runtime.producer import EventProducer
from streams.settings import Settings


class QueryPublisher:
    """The sender of query events. It connects with the first event, so that the gateway starts without Kafka."""

    def __init__(self, settings: Settings) -> None:
        self._producer = EventProducer(settings, "gateway")
        self._started = False
        self._lock = asyncio.Lock()

    async def __call__(self, event: Event) -> None:
        async with self._lock:
            if not self._started:
                await self._producer.start()
                self._started = True
        await self._producer(event)

    async def stop(self) -> None:
        await self._producer.stop()
