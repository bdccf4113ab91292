"""The event `queries.asked`, sent in the background where the operator collects queries (`queries.collect`).

A person is a hash of address and browser, with a key of the day that is derived from the first secret of the gateway
and from the date, and is stored nowhere. So on one day the same person has the same hash at all gateways, and another
hash on the next day. Behind a proxy whose addresses the gateway doesn't know, people count as one: fewer queries are
counted, never more.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b

from starlette.requests import Request

from schemas import QueryAsked
from streams.gateway.http.keys import Key, derive_keys
from streams.gateway.http.metrics import Metrics
from streams.gateway.search.query_events import BackgroundEvents, Publish
from streams.search.query_language.query import normalize_query
from streams.search.request import SearchRequest
from streams.search.searcher import Found
from streams.settings import Settings

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
    ) -> None:
        self._keys, self._clock = keys, clock
        self._events = BackgroundEvents(publish if keys else None, metrics)

    def identify(self, request: Request) -> str:
        """Return the hash of the person who sent a request; empty where nothing is collected."""
        if not self._events.is_on:
            return ""
        address = request.client.host if request.client else ""
        return self._hash("person", f"{address}\0{request.headers.get('user-agent', '')}")

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
