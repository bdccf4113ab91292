"""Runs the gateway: opens the stores one by one, serves, and stops without dropping a request.

A store that is down at the start does not keep the gateway from starting: a stand-in says so on every call, the answers
are partial meanwhile, and the real one takes its place when it is there.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import structlog
import uvicorn

from streams.errors import StoreUnavailable
from streams.gateway.app import create_app
from streams.gateway.site import Publish
from streams.settings import Settings
from streams.stores.opening import Stores, open_stores
from streams.topology import Store

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Between two tries to open a store; the last one repeats."""
STOP_SECONDS = 10
"""What running requests get to end when the process is asked to stop."""

_FIELDS: dict[Store, tuple[str, ...]] = {
    "cassandra": ("blobs", "pages", "ledger", "fingerprints"),
    "qdrant": ("vectors",),
    "triton": ("embedder",),
}

log = structlog.get_logger(__name__)


class _Absent:
    """Stands where a store is that could not be opened yet: every call of a method raises StoreUnavailable."""

    def __init__(self, store: Store, why: str) -> None:
        self._store, self._why = store, why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def unavailable(*args: object, **keywords: object) -> None:
            raise StoreUnavailable(f"{self._store} is not connected: {self._why}")

        return unavailable


async def serve(settings: Settings, publish: Publish | None = None, *, listening: socket.socket | None = None) -> None:
    """Serve until the process is told to stop (SIGINT, SIGTERM). Raises StartError's kin only for our own faults.

    `publish` sends query events; `listening` is a socket to serve on in place of the settings' host and port.
    """
    async with opened(settings) as stores:
        app = create_app(settings, stores, publish=publish, clock=lambda: datetime.now(UTC))
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                host=settings.gateway.host,
                port=settings.gateway.port,
                log_config=None,
                access_log=False,  # addresses of people, and what they search for, are not ours to keep
                server_header=False,
                timeout_graceful_shutdown=STOP_SECONDS,
                timeout_keep_alive=30,
                h11_max_incomplete_event_size=64 * 1024,
            )
        )
        log.info("the gateway listens", host=settings.gateway.host, port=settings.gateway.port)
        await server.serve(sockets=[listening] if listening else None)
        await app.state.site.drain()


@asynccontextmanager
async def opened(
    settings: Settings, needs: Iterable[Store] = ("cassandra", "qdrant", "triton")
) -> AsyncIterator[Stores]:
    """Stores that are opened in the background, each on its own, and as often as it takes."""
    stores = Stores()
    async with AsyncExitStack() as stack:
        tasks = []
        for store in needs:
            _place(stores, store, _Absent(store, "it is being opened"))
            tasks.append(asyncio.create_task(_keep_opening(settings, store, stores, stack)))
        try:
            yield stores
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _keep_opening(settings: Settings, store: Store, stores: Stores, stack: AsyncExitStack) -> None:
    for attempt in range(1_000_000):
        try:
            found = await stack.enter_async_context(open_stores(settings, (store,)))
        except Exception as error:  # whatever keeps it from opening, the others serve meanwhile
            _place(stores, store, _Absent(store, str(error)))
            wait_seconds = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
            log.warning("a store is not there yet", store=store, error=str(error), next_try_seconds=wait_seconds)
            await asyncio.sleep(wait_seconds)
        else:
            for name in _FIELDS[store]:
                setattr(stores, name, getattr(found, name))
            log.info("a store was opened", store=store)
            return


def _place(stores: Stores, store: Store, absent: _Absent) -> None:
    for name in _FIELDS[store]:
        setattr(stores, name, cast(Any, absent))
