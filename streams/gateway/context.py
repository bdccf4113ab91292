"""What every route of the gateway needs, in one place that is passed on, not looked up."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from schemas import Event, QueryMade
from streams.gateway.http.metrics import Metrics
from streams.gateway.labs.explanation import Explainer
from streams.gateway.search.request import query_hash
from streams.gateway.search.searcher import Answer, Searcher
from streams.settings import Settings
from streams.stores.opener import Stores

Publish = Callable[[Event], Awaitable[None]]
Clock = Callable[[], datetime]
"""The time now, aware."""

PUBLISHING_AT_ONCE = 1_000
"""Query events on their way to Kafka. With Kafka down they must not fill the memory: beyond that they are dropped."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Site:
    """One gateway process."""

    settings: Settings
    stores: Stores
    searcher: Searcher
    metrics: Metrics
    publish: Publish | None
    clock: Clock
    explainer: Explainer = field(default_factory=Explainer)
    publishing: set[asyncio.Task[None]] = field(default_factory=set)

    def tell(self, answer: Answer) -> None:
        """Publish what was asked and shown, without keeping the person waiting."""
        for part in answer.trace.failed:
            self.metrics.partial_answers.labels(part).inc()
        if self.publish is None:
            return
        if len(self.publishing) >= PUBLISHING_AT_ONCE:
            self.metrics.unpublished.inc()
            return
        task = asyncio.create_task(self._publish(self.publish, query_made(answer)))
        self.publishing.add(task)
        task.add_done_callback(self.publishing.discard)

    async def drain(self, timeout_seconds: float = 5.0) -> None:
        """Wait for the query events on their way."""
        if self.publishing:
            await asyncio.wait(self.publishing, timeout=timeout_seconds)

    async def close(self) -> None:
        """Before the process ends: query events go out, the process that explains pages ends."""
        await self.drain()
        await self.explainer.close()

    async def _publish(self, publish: Publish, event: Event) -> None:
        try:
            await publish(event)
        except Exception as error:
            # A person's answer never depends on Kafka; the loss is counted and logged.
            self.metrics.unpublished.inc()
            log.warning("a query event was not published", error=str(error))


def query_made(answer: Answer) -> QueryMade:
    return QueryMade(
        query_hash=query_hash(answer.request.text),
        query=answer.request.text,
        results=tuple(page.page_id for page in answer.pages),
        partial=answer.partial,
        took_ms=answer.took_ms,
    )
