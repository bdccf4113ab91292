"""Runs the gateway: listens, serves, and stops without dropping a request or a query's event."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator
from datetime import UTC, datetime

import structlog
import uvicorn
from fastapi import FastAPI

from streams.errors import StartError
from streams.gateway.app import create_app
from streams.gateway.context import Publish
from streams.gateway.lazy_stores import OpenStores, opened
from streams.settings import GatewaySettings, Settings
from streams.stores.opener import open_stores

STOP_SECONDS = 10
"""What running requests get to end when the process is asked to stop."""
KEEP_ALIVE_SECONDS = 30
BACKLOG = 2_048

log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Leaves the process's signals alone: uvicorn's own would end it before the stores are closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(settings: Settings, publish: Publish | None = None, *, open_them: OpenStores = open_stores) -> None:
    """Serve until SIGINT or SIGTERM, then answer what was asked, and close. Raises StartError when the port is taken.

    `publish` sends query events; with None they are not sent. A store that is down keeps nothing from starting.
    """
    with contextlib.closing(listen(settings.gateway)) as listening:
        async with opened(settings, open_them=open_them) as stores:
            app = create_app(settings, stores, publish=publish, clock=lambda: datetime.now(UTC))
            host, port, *_ = listening.getsockname()
            log.info("the gateway listens", address=f"http://{f'[{host}]' if ':' in host else host}:{port}/")
            try:
                await _run(app, listening)
            finally:
                await app.state.site.close()


def listen(settings: GatewaySettings) -> socket.socket:
    """The socket to serve on. Raises StartError, saying how to choose another port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise StartError(
            f"The gateway can't listen on {settings.host} port {settings.port}: {error.strerror}. "
            "Choose another one with RIFFLE_GATEWAY__PORT (0: any free one) or RIFFLE_GATEWAY__HOST"
        ) from error
    # Connections inherit it. asyncio sets it on sockets of its own making alone, and without it the second write of
    # an answer waits for the client's delayed acknowledgement: 40 ms on every request but a connection's first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


async def _run(app: FastAPI, listening: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # addresses of people, and what they search for, are not ours to keep
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, _stop, server)
    try:
        await server.serve(sockets=[listening])
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _stop(server: uvicorn.Server) -> None:
    """The first signal asks, the second insists."""
    server.force_exit = server.should_exit
    server.should_exit = True
