"""The events `queries.made` and `results.clicked`, sent in the background, so that nobody waits for Kafka.

They are sent only where the operator wants them (`gateway.publish_queries`, `gateway.publish_clicks`).
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Protocol

import structlog
from starlette.requests import Request

from schemas import Event, QueryAsked, QueryMade
from schemas.ids import query_hash
from streams.gateway.access.clients import HOUSEHOLD_BITS, person_of
from streams.gateway.http.keys import Key, derive_keys
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.requests import was_chosen
from streams.search.query_language.query import normalize_query
from streams.search.request import SearchRequest
from streams.search.searcher import Found
from streams.settings import Settings


class Publish(Protocol):
    """The sender of single events: `EventProducer`, as far as a gateway uses it."""

    async def __call__(self, event: Event, cause: str | None = None, /) -> None:
        """Send the event. Two with the same cause have the same id."""


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

    def send(self, event: Event, cause: str | None = None) -> None:
        """Send the event, in the background. Two with the same cause have the same id, also of two gateways."""
        if self._publish is None:
            return
        if len(self._in_flight) >= MAX_IN_FLIGHT:
            self._metrics.unpublished.inc()
            return
        task = asyncio.create_task(self._send(self._publish, event, cause))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def drain(self, timeout_seconds: float = 5.0) -> None:
        """Wait for the events that are being sent."""
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=timeout_seconds)

    async def _send(self, publish: Publish, event: Event, cause: str | None) -> None:
        try:
            await publish(event, cause)
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


_HASH_BYTES = 16
MAX_SHOWN = 10
"""Maximum results of a question that its event names."""


def person_keys(settings: Settings) -> tuple[Key, ...]:
    """Return the keys of people's hashes; none where queries are not collected, or where there is no secret."""
    if not settings.queries.collect:
        return ()
    return derive_keys([secret.get_secret_value() for secret in settings.gateway.keys[:1]], "people")


class AskedQueries:
    """The sender of questions."""

    def __init__(
        self,
        keys: Sequence[Key],
        publish: Publish | None,
        metrics: Metrics,
        clock: Callable[[], datetime],
        proxies: Sequence[str],
    ) -> None:
        """`proxies`: the addresses whose `X-Forwarded-For` is believed."""
        self._keys, self._clock, self._proxies = keys, clock, proxies
        self._events = BackgroundEvents(publish if keys else None, metrics)

    def identify(self, request: Request) -> str:
        """Return the hash of the person who sent a request; empty where nothing is collected, or no person chose it."""
        if not self._events.is_on or not was_chosen(request, "none", "same-origin"):
            return ""
        return self._hash("person", person_of(request, self._proxies, HOUSEHOLD_BITS))

    def send(self, found: Found, person: str) -> None:
        """Send the question. Later pages of a query are no new question."""
        if not self._events.is_on or not person or found.request.page > 1:
            return
        query = normalize_query(found.request.text)
        if not query:
            return
        language = found.request.language or ""
        self._events.send(
            QueryAsked(
                query_hash=self._digest(language, query),
                query=query,
                language=language,
                person=person,
                results=len(found.pages),
                nearest_only=found.notes.nearest_only,
                partial=bool(found.failed),
                shown=tuple(page.page_id for page in found.pages[:MAX_SHOWN]),
            )
        )

    def hash_of(self, request: SearchRequest) -> str:
        """Return the hash of a query as its questions have it; empty where no clicks are counted."""
        query = normalize_query(request.text) if self._events.is_on else ""
        return self._digest(request.language or "", query) if query else ""

    async def drain(self) -> None:
        """Wait for the events that are being sent."""
        await self._events.drain()

    def _digest(self, language: str, query: str) -> str:
        return self._hash("query", f"{language}\0{query}")

    def _hash(self, use: str, text: str) -> str:
        day = self._clock().astimezone(UTC).date().isoformat()
        of_day = blake2b(f"{use} {day}".encode(), key=self._keys[0].value).digest()
        return blake2b(text.encode(), key=of_day, digest_size=_HASH_BYTES).hexdigest()
