"""The gateway's limits: what one client can hold, and what a page taken apart can cost."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import httpx2
import pytest
import structlog
import uvicorn
from fastapi import FastAPI, Request

from schemas.ids import page_id
from streams.gateway.access.guard import Guard
from streams.gateway.context import GatewayContext
from streams.gateway.http import responses
from streams.gateway.http.connections import LimitedProtocol
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.problems import ProblemError
from streams.gateway.http.requests import read_form
from streams.gateway.http.templates import Views
from streams.gateway.labs import view
from streams.gateway.labs.explainer import Explainer
from streams.gateway.labs.routes import LabsCapacity
from streams.gateway.search.api import search_api_routes
from streams.gateway.search.service import SearchService
from streams.gateway.serve import server_config
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.pages.sandbox.explanation import Explanation, RemovedGroup, RemovedText
from streams.seen.stores import SeenStores
from streams.settings import GatewaySettings, Settings
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, Normalized
from streams.stores.protocols import Candidates
from tests.stages.gateway_fakes import NOW, client, gateway, searchable, statement
from tests.stages.test_gateway_pages import HTML

URL = "https://logs.example/wal"
WAL = statement(URL, "The write-ahead log.", title="Write-Ahead Logging")
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: riffle.test\r\n\r\n"
HANG_SECONDS = 30.0
"""A guard against a test that hangs, not a target."""
HANG_TURNS, TURN_SECONDS = 600, 0.1
"""The same guard where both ends run in this process, in turns of its loop: a machine that stood still costs one."""


T = TypeVar("T")


class Impatient(LimitedProtocol):
    """The gateway's protocol with limits that a test can wait for."""

    header_seconds = body_seconds = read_seconds = 0.2


class Patient(LimitedProtocol):
    """The gateway's protocol without a limit of time that a slow machine could meet."""

    header_seconds = body_seconds = read_seconds = 600.0


class ImpatientForBodies(Patient):
    body_seconds = 0.2


@contextlib.asynccontextmanager
async def serving(
    app: Any, *, max_connections: int = 100, protocol: type[LimitedProtocol] = Impatient
) -> AsyncIterator[int]:
    """The app as `riffle gateway` serves it, on a free port of loopback. Gives the port."""
    config = server_config(app, GatewaySettings(), max_connections=max_connections)
    assert config.http is LimitedProtocol
    config.http, config.http_protocol_class = protocol, protocol
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = asyncio.create_task(server._serve([listening]))
        try:
            while not server.started:
                await asyncio.sleep(0.01)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await running


@pytest.fixture
async def app() -> FastAPI:
    return gateway(await searchable([WAL]))


async def in_turns(awaited: Coroutine[Any, Any, T]) -> T:
    """Return what is awaited, or fail after so many turns of the loop: time also passes while all stands still."""
    task = asyncio.ensure_future(awaited)
    for _ in range(HANG_TURNS):
        if (await asyncio.wait({task}, timeout=TURN_SECONDS))[0]:
            return task.result()
    task.cancel()
    raise AssertionError(f"nothing came in {HANG_TURNS} turns of the loop")


async def is_closed(reader: asyncio.StreamReader) -> bool:
    await everything(reader)
    return True


HALF_SENT = [b"", b"GET", b"GET /healthz HTTP/1.1\r\nHost: riffle.test\r\nX-Slow: ", REQUEST + b"GET /he"]


@pytest.mark.parametrize("sent", HALF_SENT, ids=["nothing", "a method", "half a header", "a second request"])
async def test_a_half_sent_request_is_closed(app: FastAPI, sent: bytes) -> None:
    async with serving(app) as port:
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        for _, writer in connections:
            writer.write(sent)
        if sent.startswith(REQUEST):  # uvicorn's idle timer starts with the answer; a further byte stops it
            for reader, writer in connections:
                await reader.readuntil(b'"ok"}')
                writer.write(b"a")
        assert all([await is_closed(reader) for reader, _ in connections])
        async with httpx2.AsyncClient(trust_env=False, timeout=HANG_SECONDS) as web:
            assert (await web.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200
        for _, writer in connections:
            writer.close()


async def test_a_header_that_comes_byte_by_byte_is_closed_too(app: FastAPI) -> None:
    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(HANG_SECONDS):
                while not reader.at_eof():
                    writer.write(b"G")
                    await writer.drain()
                    await asyncio.sleep(0.02)
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1), 0.01)
        assert await is_closed(reader)
        writer.close()


SLOW_BODIES = [
    pytest.param(b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19999\r\n\r\n", b"a", id="a form"),
    pytest.param(
        b"POST /form HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1\r\na\r\n",
        id="a form in chunks",
    ),
    pytest.param(
        b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        b"",
        id="nothing after a 100",
    ),
    pytest.param(b"GET /waits HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n", b"", id="no body at all"),
]


@pytest.mark.parametrize(("head", "drop"), SLOW_BODIES)
async def test_a_body_that_comes_byte_by_byte_is_cut_off(
    head: bytes, drop: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    app = with_form(gateway(await searchable([WAL])))

    @app.get("/waits")
    async def waits(request: Request) -> None:
        await request.body()

    with structlog.testing.capture_logs() as logged:
        async with serving(app, protocol=ImpatientForBodies) as port:
            await cut_off(port, head, drop)
    # A stranger's slow body must not cost a traceback each.
    assert not [line for line in logged if line["log_level"] == "error"], "the cut was logged as an error"
    assert not [line.message for line in caplog.records if line.levelno >= logging.ERROR]


def with_form(app: FastAPI) -> FastAPI:
    """The app with a form that is read, as those of the gateway are."""

    @app.post("/form", status_code=204)
    async def form(request: Request) -> None:
        await read_form(request)

    return app


async def cut_off(port: int, head: bytes, drop: bytes) -> None:
    """Send slow bodies over twenty connections until each has its refusal."""
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
    dripping = [asyncio.create_task(drip(writer, head, drop)) for _, writer in connections]
    answers = await asyncio.gather(*(everything(reader) for reader, _ in connections))
    assert all(b"HTTP/1.1 408 " in answer for answer in answers), answers
    assert not any(b"HTTP/1.1 5" in answer for answer in answers)
    for task, (_, writer) in zip(dripping, connections, strict=True):
        task.cancel()
        writer.close()


async def drip(writer: asyncio.StreamWriter, head: bytes, drop: bytes) -> None:
    writer.write(head)
    with contextlib.suppress(ConnectionError):
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.02)


async def everything(reader: asyncio.StreamReader) -> bytes:
    """Return all that comes until the other end closes the connection. Fails if that is never."""
    read = b""
    with contextlib.suppress(ConnectionError):
        while piece := await in_turns(reader.read(65_536)):
            read += piece
    return read


async def test_a_body_in_time_is_read_and_the_connection_goes_on() -> None:
    app = with_form(gateway(await searchable([WAL])))
    body = b"url=" + URL.encode()
    head = b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with serving(app, protocol=Patient) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in (head, body[:3], body[3:], REQUEST.replace(b"riffle.test", b"localhost")):
            writer.write(part)
            await asyncio.sleep(0.02)
        async with asyncio.timeout(HANG_SECONDS):
            assert b" 204 " in await reader.readline()
            await reader.readuntil(b"HTTP/1.1 200 OK")
        writer.close()


async def test_a_client_that_stops_to_read_is_closed() -> None:
    app = FastAPI()

    @app.get("/large")
    async def large() -> Any:
        from starlette.responses import Response

        return Response(b"x" * 50_000_000)

    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000)
        writer.write(b"GET /large HTTP/1.1\r\nHost: riffle.test\r\n\r\n")
        await asyncio.sleep(1)  # longer than read_seconds, without reading
        read = 0
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(HANG_SECONDS):
                while piece := await reader.read(1_000_000):
                    read += len(piece)
        assert read < 50_000_000
        writer.close()


async def test_beyond_the_limit_of_connections_requests_are_refused(app: FastAPI) -> None:
    async with serving(app, max_connections=3, protocol=Patient) as port:
        address = f"http://127.0.0.1:{port}/healthz"
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        async with httpx2.AsyncClient(trust_env=False, timeout=HANG_SECONDS) as web:
            assert (await web.get(address)).status_code == 503
        for _, writer in held:
            writer.close()
        async with httpx2.AsyncClient(trust_env=False, timeout=HANG_SECONDS) as web, asyncio.timeout(HANG_SECONDS):
            while (await web.get(address)).status_code != 200:
                await asyncio.sleep(0.05)


class Explaining(Explainer):
    """An explainer without a process: it gives an explanation that was made before."""

    def __init__(self, explanation: Explanation) -> None:
        super().__init__()
        self._explanation = explanation

    async def explain(self, *arguments: Any, **options: Any) -> Explanation:
        return self._explanation


async def stored(document: Document, body: bytes) -> Stores:
    stores = memory_stores()
    fetched = {"url": URL, "body_ref": await stores.blobs.put(body), "headers": {"content-type": "text/html"}}
    normalized = {"url": URL, "document_ref": await stores.blobs.put(encode_document(document))}
    await stores.pages.put(page_id(URL), Fetched.of_row({**fetched, "generation": 1}), 1)
    await stores.pages.put(page_id(URL), Normalized.of_row({**normalized, "generation": 1}), 1)
    return stores


LARGE = [
    pytest.param((Block("p", "word " * 2_000_000),), id="one block of 10 MB"),
    pytest.param(tuple(Block("p", "word " * 1_000) for _ in range(2_000)), id="2,000 blocks of 5 KB"),
    pytest.param((Block("pre", "\n" * 10_000_000),), id="10 MB of lines"),
]


@pytest.mark.parametrize("blocks", LARGE)
async def test_the_page_of_a_large_page_is_small(blocks: tuple[Block, ...]) -> None:
    texts = tuple(RemovedText("menu " * 400, 2_000) for _ in range(1_000))
    explainer = Explaining(Explanation((RemovedGroup("element", "nav", 1_000, 2_000_000, texts),)))
    stores = await stored(Document(URL, "Large", blocks=blocks), b"<p>" + b"word " * 2_000_000)
    async with client(gateway(stores, deadline_seconds=120, explainer=explainer)) as web:
        page = await web.get("/labs/page", params={"url": URL}, headers=HTML)
    assert page.status_code == 200
    most = view.MAX_ORIGINAL_CHARS + view.MAX_DOCUMENT_CHARS + view.MAX_REMOVED_CHARS
    assert len(page.text) < 3 * most
    assert "more characters" in page.text or "The first" in page.text
    assert "more are not shown" in page.text


class Slow(MemoryIndex):
    """An index that answers when `release` is set, and counts the searches that wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.release = asyncio.Event()
        self.waiting = self.most = 0

    async def candidates(self, **options: Any) -> Candidates:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await self.release.wait()
        finally:
            self.waiting -= 1
        return Candidates()


@pytest.mark.parametrize(("released", "status"), [(True, 200), (False, 503)], ids=["soon", "never"])
async def test_searches_beyond_the_limit_wait_and_are_refused_after_the_deadline(released: bool, status: int) -> None:
    stores = memory_stores()
    stores.vectors = index = Slow()
    settings = Settings(gateway=GatewaySettings(deadline_seconds=30 if released else 0.2))
    context = GatewayContext(settings, SeenStores(stores), Metrics(), lambda: NOW)
    guard = Guard(context)
    service = SearchService(context, None, people=guard.visible_to_people, max_at_once=2)
    app = FastAPI()
    app.include_router(search_api_routes(service, guard))
    responses.install(app, Views())
    async with client(app) as web:
        searches = [asyncio.create_task(web.get("/api/v1/search", params={"q": f"log {n}"})) for n in range(6)]
        while index.most < 2:
            await asyncio.sleep(0.01)
        if released:
            index.release.set()
        statuses = [response.status_code for response in await asyncio.gather(*searches)]
    assert statuses == [status] * 6
    assert index.most == 2


async def test_of_many_labs_pages_at_once_the_last_are_refused() -> None:
    capacity, release = LabsCapacity(at_once=2, max_waiting=3), asyncio.Event()
    most = 0
    running = 0

    async def one() -> None:
        nonlocal most, running
        async with capacity.slot():
            running += 1
            most = max(most, running)
            await release.wait()
            running -= 1

    tasks = [asyncio.create_task(one()) for _ in range(8)]
    await asyncio.sleep(0.05)
    release.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, ProblemError)]
    assert (most, len(refused)) == (2, 3)
    assert refused[0].problem.headers["Retry-After"]
    async with capacity.slot():
        pass


HEAD = b"GET /healthz HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
CHUNKED = b"POST /healthz HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n"
UNUSUAL = [
    pytest.param(HEAD + HOST + b"\r\n", b"200", id="a plain request"),
    pytest.param(b"GET /healthz HTTP/1.0\r\n\r\n", b"200", id="HTTP/1.0 needs no Host"),
    pytest.param(HEAD + b"\r\n", b"400", id="no Host"),
    pytest.param(HEAD + HOST + HOST + b"\r\n", b"400", id="two Hosts"),
    pytest.param(HEAD + HOST + b"A b: c\r\n\r\n", b"400", id="a space in a header's name"),
    pytest.param(HEAD + HOST + b"A: b\x00c\r\n\r\n", b"400", id="a NUL in a header"),
    pytest.param(b"GET http://localhost/healthz HTTP/1.1\r\n" + HOST + b"\r\n", b"200", id="a whole URL"),
    pytest.param(b"GET //healthz HTTP/1.1\r\n" + HOST + b"\r\n", b"4", id="two slashes"),
    pytest.param(b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n", b"400", id="a path that is no ASCII"),
    pytest.param(
        HEAD + HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
        b"200",
        id="an offer of HTTP/2",
    ),
    pytest.param(HEAD + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", b"200", id="a WebSocket"),
    pytest.param(HEAD + HOST + b"A: " + b"b" * 60_000 + b"\r\n\r\n", b"200", id="a header of 60 KB"),
    pytest.param(HEAD + HOST + b"A: " + b"b" * 200_000 + b"\r\n\r\n", b"431", id="a header of 200 KB"),
    pytest.param(HEAD + b"A: b\r\n" * 40_000 + HOST + b"\r\n", b"431", id="40,000 headers"),
    pytest.param(CHUNKED + b"\r\n" + b"1\r\na\r\n" * 30_000 + b"0\r\n\r\n", b"405", id="chunks of one byte"),
    pytest.param(CHUNKED + b"\r\n1;" + b"x" * 200_000 + b"\r\na\r\n0\r\n\r\n", b"431", id="200 KB behind a chunk"),
    pytest.param(CHUNKED + b"\r\n1\r\na\r\n0\r\n" + b"A: b\r\n" * 40_000 + b"\r\n", b"431", id="40,000 trailers"),
    pytest.param(CHUNKED + b"Content-Length: 3\r\n\r\n0\r\n\r\n", b"400", id="a length and chunks"),
]


@pytest.mark.parametrize(("sent", "status"), UNUSUAL)
async def test_unusual_requests_are_answered_or_refused(sent: bytes, status: bytes) -> None:
    async def after_the_body(scope: Any, receive: Any, send: Any) -> None:
        while scope["method"] == "POST" and (await receive()).get("more_body"):
            pass
        await app(scope, receive, send)

    app = gateway(memory_stores())
    async with serving(after_the_body, protocol=Patient) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(HANG_SECONDS):
            line = await reader.readline()
        assert line.startswith(b"HTTP/1.1 " + status), line
        writer.close()


async def test_requests_of_one_connection_are_answered_in_turn_and_only_some_may_wait() -> None:
    app = gateway(memory_stores())
    for count, is_answered in [(10, True), (500, False)]:
        async with serving(app, protocol=Patient) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST.replace(b"riffle.test", b"localhost") * (count - 1))
            writer.write(REQUEST.replace(b"riffle.test", b"localhost\r\nConnection: close"))
            answers = (await everything(reader)).count(b"HTTP/1.1 200 ")
            assert (answers == count) == is_answered
            writer.close()
