"""The run of a gateway: it listens, serves, and stops without losing a request or a query event."""

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import structlog
import uvicorn
from aiohttp import web
from fastapi import FastAPI

from schemas import Event
from streams.credentials import server_context
from streams.errors import StartError
from streams.gateway.app import create_app
from streams.gateway.http.connections import LimitedProtocol
from streams.gateway.lazy_stores import TO_SERVE, OpenStores, open_lazily
from streams.rare_ticks import QuietServer
from streams.resources import exempt_loaded_objects
from streams.runtime.health_thread import HealthThread
from streams.runtime.producer import EventProducer
from streams.runtime.readers.change_reader import ChangeReader, read_place
from streams.settings import GatewaySettings, Settings
from streams.tracing import traced

STUCK_SECONDS = 60.0
"""Time without a turn of the event loop after which the gateway is unhealthy: a restart helps (seconds)."""
MAX_CONNECTIONS = 1_000
"""Maximum number of open connections. Requests on further connections are refused with status 503."""
STOP_SECONDS = 10
"""Maximum time for running requests to finish when the process is stopped (seconds)."""
KEEP_ALIVE_SECONDS = 30
"""Time after which an idle connection is closed (seconds)."""
BACKLOG = 2_048
"""Maximum connections that wait to be accepted."""

log = structlog.get_logger(__name__)


class _Server(QuietServer):
    """A server that leaves the signals alone: uvicorn's own handlers would end the process before the stores close."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(settings: Settings, kafka: "GatewayEvents | None" = None, *, open_store: OpenStores = TO_SERVE) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests. Raises StartError if the port is taken.

    `kafka` sends the gateway's events; with None they are not sent. The gateway starts without a store that is down.
    """
    with contextlib.ExitStack() as sockets:
        listening = sockets.enter_context(contextlib.closing(listen(settings.gateway)))
        admin_port = settings.gateway.admin_port
        admin = None
        if admin_port is not None:
            admin = sockets.enter_context(contextlib.closing(listen(settings.gateway, admin_port, "ADMIN_PORT")))
        sockets.enter_context(traced("gateway", settings.otlp_endpoint, settings.trace_share))
        async with open_lazily(settings, open_store=open_store) as stores:
            app = create_app(
                settings,
                stores,
                publish=kafka,
                writes=kafka,
                follow=kafka.follow if kafka else None,
                clock=lambda: datetime.now(UTC),
            )
            # The language model is read before anyone can ask, or the first query would wait for it.
            await asyncio.to_thread(app.state.gateway.search.warm_up)
            exempt_loaded_objects()
            served = [(server_config(app, settings.gateway), listening)]
            scheme = "https" if settings.gateway.cert_file else "http"
            log.info("the gateway listens", address=f"{scheme}://{_place_of(listening)}/")
            if admin is not None:
                served.append((server_config(app.state.admin, settings.gateway, any_client=True), admin))
                log.info("the gateway's admin port listens", address=f"{scheme}://{_place_of(admin)}/")
            try:
                async with health_checks(settings.gateway):
                    await _run(served)
            finally:
                await app.state.gateway.close()


@contextlib.asynccontextmanager
async def health_checks(settings: GatewaySettings) -> AsyncIterator[HealthThread | None]:
    """Answer health checks in a thread of its own, if the settings have a port for them. Raises StartError."""
    if settings.health_port is None:
        yield None
        return

    async def healthz(_: web.Request) -> web.Response:
        healthy = thread.own_time.missed_seconds < STUCK_SECONDS
        answer = {"healthy": healthy, "loop_turn_age_seconds": round(thread.own_time.turn_age_seconds, 1)}
        return web.json_response(answer, status=200 if healthy else 503)

    thread = HealthThread({"/healthz": healthz}, host=settings.host, port=settings.health_port)
    try:
        await thread.start()
    except OSError as error:
        raise _taken(settings.host, settings.health_port, "HEALTH_PORT", error) from error
    log.info("the gateway's health port listens", port=thread.port)
    try:
        yield thread
    finally:
        await thread.stop()


def _place_of(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"{f'[{host}]' if ':' in host else host}:{port}"


def listen(settings: GatewaySettings, port: int | None = None, setting: str = "PORT") -> socket.socket:
    """Return a listening socket, on the public port or on `port`. Raises StartError, naming the setting of the port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    port = settings.port if port is None else port
    try:
        listening = socket.create_server((settings.host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise _taken(settings.host, port, setting, error) from error
    # Connections inherit TCP_NODELAY, which asyncio sets only on sockets that it makes itself. Without it the second
    # write of an answer waits for the client's delayed acknowledgement: 40 ms on every request but the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _taken(host: str, port: int, setting: str, error: OSError) -> StartError:
    return StartError(
        f"The gateway can't listen on {host} port {port}: {error.strerror}. "
        f"Choose another one with RIFFLE_GATEWAY__{setting} (0: any free one) or RIFFLE_GATEWAY__HOST"
    )


def server_config(
    app: FastAPI, settings: GatewaySettings, *, any_client: bool = False, max_connections: int = MAX_CONNECTIONS
) -> uvicorn.Config:
    """Return uvicorn's settings: with limits for connections, without access log and WebSockets.

    `any_client`: clients need no certificate. Kubernetes, which probes the admin port, has none.
    """
    return uvicorn.Config(
        app,
        ssl_context_factory=_tls(settings, None if any_client else settings.client_ca_file),
        log_config=None,
        access_log=False,  # addresses of people and their searches are not stored
        server_header=False,
        proxy_headers=False,  # only `access.trusted_proxies` says whose headers are believed
        http=LimitedProtocol,
        ws="none",
        limit_concurrency=max_connections,
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def _tls(
    settings: GatewaySettings, client_ca: Path | None
) -> Callable[[uvicorn.Config, object], ssl.SSLContext] | None:
    """Return a maker of the TLS context, or None to serve HTTP. uvicorn's own maker would read the files only once."""
    cert, key = settings.cert_file, settings.key_file
    if cert is None or key is None:
        return None
    return lambda _config, _default: server_context(cert, key, client_ca)


async def _run(served: Sequence[tuple[uvicorn.Config, socket.socket]]) -> None:
    servers = [_Server(config) for config, _ in served]
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, _stop, servers)
    try:
        async with asyncio.TaskGroup() as tasks:
            for server, (_, listening) in zip(servers, served, strict=True):
                tasks.create_task(server.serve(sockets=[listening]))
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _stop(servers: Sequence[uvicorn.Server]) -> None:
    """Stop after the running requests at the first signal, and at once at the second."""
    for server in servers:
        server.force_exit = server.should_exit
        server.should_exit = True


class GatewayEvents:
    """The sender of the gateway's events. It connects with the first one, so that the gateway starts without Kafka."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer = EventProducer(settings, "gateway")
        self._started = False
        self._lock = asyncio.Lock()

    async def __call__(self, event: Event, cause: str | None = None) -> None:
        """Send an event. Raises StoreUnavailable."""
        await self._start()
        await self._producer(event, cause)

    async def send_ahead(self, events: Iterable[Event], cause: str | None = None) -> None:
        """Send events ahead of all others (`EventProducer.send_ahead`). Raises StoreUnavailable."""
        await self._start()
        await self._producer.send_ahead(events, cause)

    async def follow(self, events: Sequence[type[Event]], place: str, since: datetime | None) -> ChangeReader:
        """Return a reader that goes on at a place. Raises StoreUnavailable, and ValueError for one that is none."""
        known = read_place(place) if place else None
        if place and known is None:
            raise ValueError("this is no place")
        return await asyncio.to_thread(ChangeReader, self._settings, events, known, since)

    async def stop(self) -> None:
        await self._producer.stop()

    async def _start(self) -> None:
        async with self._lock:
            if not self._started:
                await self._producer.start()
                self._started = True
