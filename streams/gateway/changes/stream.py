"""`/api/v1/changes`, `/api/v1/crawls/{id}/events`: what becomes of pages, as server-sent events.

Each event has an `id`: the place behind it in Kafka's topics. A client that comes again with `Last-Event-ID` goes on
there, also at another gateway, as long as Kafka has the events (7 days). An event may come twice, and no order is
promised between pages. The place also comes by itself (a block with an `id` and no data, which clients keep and don't
show): at the begin, so that a stream that breaks off before its first event goes on there, and while no event comes.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Protocol

import orjson
from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from schemas import Envelope, Event, PageFetched, PageIndexed, PageRemoved
from schemas.envelope import utc_from_micros
from streams.errors import RiffleError, UsageError
from streams.gateway.access.guard import Charge, Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import openapi
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter
from streams.gateway.http.requests import api_router
from streams.gateway.writing.crawls import CRAWL_ID, counts_of, find_crawl
from streams.gateway.writing.requests import prefix_of, writing
from streams.hooks.signing import cloud_event
from streams.seen.stores import shows
from streams.stores.protocols import Visible
from streams.writing.crawls import Crawl, Crawls

MAX_STREAMS = 32
"""Maximum number of streams of a gateway: each has a reader of Kafka."""
POLL_SECONDS = 0.5
BEAT_SECONDS = 15.0
"""Time without an event after which its place shows that the stream lives (seconds)."""
MAX_SECONDS = 3_600.0
"""Length of a stream (seconds). The client comes again: so a revoked key hears no more."""
PROGRESS_SECONDS = 2.0
QUIET_SECONDS = 10.0
"""Time without an event of a crawl whose addresses all have their result, after which its stream ends (seconds)."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
OF_PAGES: tuple[type[Event], ...] = (PageIndexed, PageRemoved)
OF_CRAWLS: tuple[type[Event], ...] = (PageIndexed, PageRemoved, PageFetched)
_EXAMPLE = (
    'id: 0.0.152-1.0.7\nevent: pages.indexed\ndata: {"specversion": "1.0", "type": "riffle.pages.indexed.v1"}\n\n'
)
_FULL = Problem("too-many-requests", "This gateway serves as many streams as it can.", headers={"Retry-After": "5"})


class Reader(Protocol):
    """A reader of Kafka for one client (`ChangeReader`)."""

    @property
    def place(self) -> str: ...

    def poll(self) -> list[tuple[Event, Envelope, str]]: ...

    def close(self) -> None: ...


class Follow(Protocol):
    """Opens a reader. Raises StoreUnavailable, and ValueError for a place that is none."""

    async def __call__(self, events: Sequence[type[Event]], place: str, since: datetime | None) -> Reader: ...


async def no_kafka(events: Sequence[type[Event]], place: str, since: datetime | None) -> Reader:
    """Refuse: this gateway has no Kafka."""
    raise RiffleError("this gateway has no Kafka")


class EventStream(StreamingResponse):
    """A stream of events. `end` is called however it ends: also before it began, or if only its head was asked for."""

    def __init__(self, blocks: AsyncGenerator[bytes, None], end: Callable[[], Awaitable[None]]) -> None:
        super().__init__(blocks, media_type="text/event-stream", headers=HEADERS)
        self._blocks, self._end = blocks, end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "HEAD":
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                await send({"type": "http.response.body", "body": b""})
            else:
                await super().__call__(scope, receive, send)
        finally:
            await self._blocks.aclose()
            await self._end()


def _stream_response(description: str) -> dict[str, Any]:
    content = {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}}
    return {"description": description, "content": content}


_PROBLEMS = openapi.problem_responses(
    "/api/v1/changes",
    *openapi.ACCESS_PROBLEMS,
    ("A parameter is not valid", invalid_parameter("Last-Event-ID", "It is no id of an event.")),
)
_OF_ONE = openapi.problem_responses("/api/v1/crawls", ("There is no such crawl", Problem("unknown-crawl")))
_Last = Annotated[str, Header(alias="Last-Event-ID", max_length=16_384, description="Where to go on.")]


def stream_routes(context: GatewayContext, guard: Guard, crawls: Crawls, follow: Follow) -> APIRouter:
    router = api_router("changes")
    open_streams: set[object] = set()
    public_url = context.settings.gateway.public_url

    async def opened(events: Sequence[type[Event]], place: str, since: datetime | None) -> Reader:
        if len(open_streams) >= MAX_STREAMS:
            raise ProblemError(_FULL)
        try:
            async with writing(context):
                return await follow(events, place, since)
        except ValueError:
            raise ProblemError(invalid_parameter("Last-Event-ID", "It is no id of an event.")) from None

    def streamed(reader: Reader, blocks: AsyncGenerator[bytes, None]) -> StreamingResponse:
        token = object()
        open_streams.add(token)

        async def end() -> None:
            open_streams.discard(token)
            await asyncio.to_thread(reader.close)

        return EventStream(blocks, end)

    @router.get(
        "/changes",
        summary="Pages that became searchable, or were removed",
        description="Server-sent events from now on, or behind `Last-Event-ID`, of pages that the key may see.",
        response_class=StreamingResponse,
        responses={200: _stream_response("Events `pages.indexed` and `pages.removed`"), **_PROBLEMS},
    )
    async def changes(
        charge: Annotated[Charge, Depends(guard.needs("changes"))],
        prefix: Annotated[str, Query(max_length=2_048, description="Only pages whose addresses begin with it.")] = "",
        last_event_id: _Last = "",
    ) -> StreamingResponse:
        try:
            begin = prefix_of(prefix, context.settings.crawl.origins, charge.key.hosts)
        except UsageError as error:
            raise ProblemError(invalid_parameter("prefix", f"{error}.")) from None
        reader = await opened(OF_PAGES, last_event_id, None)

        def wants(event: Event) -> bool:
            url = str(getattr(event, "url", ""))
            return url.startswith(begin) and shows(charge.visible, url)

        return streamed(reader, _follow(reader, wants, public_url))

    @router.get(
        "/crawls/{crawl_id}/events",
        summary="The events of a crawl",
        description=(
            "Server-sent events from its begin on, or behind `Last-Event-ID`: each fetch, each page that became "
            "searchable or was removed, `progress` with the counts, and `end`."
        ),
        response_class=StreamingResponse,
        responses={200: _stream_response("Events of pages, `progress`, and `end`"), **_PROBLEMS, **_OF_ONE},
    )
    async def crawl_events(
        charge: Annotated[Charge, Depends(guard.needs("write"))],
        crawl_id: Annotated[str, CRAWL_ID],
        last_event_id: _Last = "",
    ) -> StreamingResponse:
        crawl = await find_crawl(context, crawls, charge, crawl_id)
        reader = await opened(OF_CRAWLS, last_event_id, utc_from_micros(crawl.created))
        return streamed(reader, _follow_crawl(reader, crawl, crawls, charge.visible, public_url))

    return router


def block_of(name: str, data: Any, place: str = "") -> bytes:
    """Return one server-sent event (HTML, section 9.2.6). JSON has no line break, so it is one line of data."""
    head = f"id: {place}\n" if place else ""
    return f"{head}event: {name}\ndata: ".encode() + orjson.dumps(data) + b"\n\n"


def _place_of(reader: Reader) -> bytes:
    """Return a block that no client shows, with the place of a reader if it has one."""
    return f"id: {reader.place}\n\n".encode() if reader.place else b":\n\n"


def _blocks(reader: Reader, wants: Callable[[Event], bool], gateway: str) -> Iterator[bytes]:
    for event, envelope, place in reader.poll():
        if wants(event):
            yield block_of(event.topic, cloud_event(event, envelope, gateway), place)


async def _follow(reader: Reader, wants: Callable[[Event], bool], gateway: str) -> AsyncGenerator[bytes, None]:
    loop = asyncio.get_running_loop()
    begun = beat = loop.time()
    yield _place_of(reader)
    while loop.time() - begun < MAX_SECONDS:
        for block in _blocks(reader, wants, gateway):
            beat = loop.time()
            yield block
        if loop.time() - beat >= BEAT_SECONDS:
            beat = loop.time()
            yield _place_of(reader)
        await asyncio.sleep(POLL_SECONDS)


async def _follow_crawl(
    reader: Reader, crawl: Crawl, crawls: Crawls, visible: Visible, gateway: str
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a crawl until it is done and quiet. A store that is away for a while delays `progress`."""
    loop = asyncio.get_running_loop()
    begun = beat = last = looked = loop.time()
    shown: Any = None
    state = "queued"
    yield _place_of(reader)

    def wants(event: Event) -> bool:
        return getattr(event, "crawl_id", "") == crawl.id and shows(visible, str(getattr(event, "url", "")))

    while loop.time() - begun < MAX_SECONDS:
        for block in _blocks(reader, wants, gateway):
            last = loop.time()
            yield block
        now = loop.time()
        if shown is None or now - looked >= PROGRESS_SECONDS:
            looked = now
            try:
                progress = await crawls.progress(crawl)
                known = await crawls.get(crawl.id, crawl.key)
            except RiffleError:
                pass  # a store is away for a while: `progress` comes later, and the events go on
            else:
                state = await crawls.status(known or crawl, progress)
                counts = counts_of(progress).model_dump()
                if (state, counts) != shown:
                    shown, last = (state, counts), now
                    yield block_of("progress", {"state": state, "counts": counts})
        if now - max(last, beat) >= BEAT_SECONDS:
            beat = now
            yield _place_of(reader)
        if state in ("done", "cancelled") and now - last >= QUIET_SECONDS:
            yield block_of("end", {"state": state})
            return
        await asyncio.sleep(POLL_SECONDS)
