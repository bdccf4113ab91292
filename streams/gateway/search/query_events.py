"""The events `queries.made` and `results.clicked`, sent in the background, so that nobody waits for Kafka.

They are sent only where the operator wants them (`gateway.publish_queries`, `gateway.publish_clicks`).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from schemas import Event, QueryMade
from schemas.ids import query_hash
from streams.gateway.http.metrics import Metrics
from streams.search.searcher import Found

Publish = Callable[[Event], Awaitable[None]]

MAX_IN_FLIGHT = 1_000
"""Maximum events that wait for Kafka. Further events are dropped, so that they don't fill the memory."""

SECRET_AGE = timedelta(days=1)
"""Maximum age of the secret of query hashes."""
_SECRET_BYTES = 32

log = structlog.get_logger(__name__)


class DailySecret:
    """The secret of query hashes, held only in memory. After a day, or a restart, a query has another hash."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._made = clock()
        self._value = secrets.token_bytes(_SECRET_BYTES)

    def value(self) -> bytes:
        """Return the secret of today. It is exchanged when it is too old."""
        now = self._clock()
        if now - self._made >= SECRET_AGE:
            self._made, self._value = now, secrets.token_bytes(_SECRET_BYTES)
        return self._value


class BackgroundEvents:
    """The sender of events in the background. If `publish` is None, no events are sent."""

    def __init__(self, publish: Publish | None, metrics: Metrics) -> None:
        self._publish = publish
        self._metrics = metrics
        self._in_flight: set[asyncio.Task[None]] = set()

    @property
    def is_on(self) -> bool:
        """True if events are sent."""
        return self._publish is not None

    def send(self, event: Event) -> None:
        """Send the event, in the background."""
        if self._publish is None:
            return
        if len(self._in_flight) >= MAX_IN_FLIGHT:
            self._metrics.unpublished.inc()
            return
        task = asyncio.create_task(self._send(self._publish, event))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def drain(self, timeout_seconds: float = 5.0) -> None:
        """Wait for the events that are being sent."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=timeout_seconds)

    async def _send(self, publish: Publish, event: Event) -> None:
        try:
            await publish(event)
        except Exception as error:
            # No answer depends on Kafka; the loss is counted and logged.
            self._metrics.unpublished.inc()
            log.warning("an event was not published", topic=event.topic, error=str(error))


def query_made(found: Found, secret: bytes) -> QueryMade:
    return QueryMade(
        query_hash=query_hash(found.request.text, secret),
        query=found.request.text,
        results=tuple(page.page_id for page in found.pages),
        partial=bool(found.failed),
        took_ms=found.took_ms,
    )
