"""Stores that may come after the start: each is opened in the background, and tried again until it opens.

Until then a placeholder takes its place: its calls raise StoreUnavailable with the reason. So the gateway starts
without its stores, answers in part, and recovers by itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, cast

import structlog

from streams.errors import StoreUnavailable
from streams.servers import STORES, Store, server_of
from streams.settings import Settings
from streams.stores.opener import Stores, fields_of, open_stores

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses between tries to open a store (seconds). The last pause repeats."""
OpenStores = Callable[[Settings, Iterable[Store]], AbstractAsyncContextManager[Stores]]

log = structlog.get_logger(__name__)


class AbsentStore:
    """The placeholder of a store that is not open: every method raises StoreUnavailable when it is awaited."""

    def __init__(self, store: Store, reason: str) -> None:
        self._store, self._reason = store, reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def unavailable(*args: object, **keywords: object) -> None:
            raise StoreUnavailable(f"{server_of(self._store).title} is not connected: {self._reason}")

        return unavailable


@asynccontextmanager
async def open_lazily(
    settings: Settings,
    needs: Iterable[Store] = STORES,
    *,
    open_store: OpenStores = open_stores,
    retry_seconds: Sequence[float] = RETRY_SECONDS,
) -> AsyncIterator[Stores]:
    """Provide the stores at once, open or not, and close them at the end."""
    stores = Stores()
    stop = asyncio.Event()
    tasks = []
    for store in needs:
        _use_placeholder(stores, store, AbsentStore(store, "it is being opened"))
        tasks.append(asyncio.create_task(_hold_open(settings, store, stores, open_store, retry_seconds, stop)))
    try:
        yield stores
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def _hold_open(
    settings: Settings,
    store: Store,
    stores: Stores,
    open_store: OpenStores,
    retry_seconds: Sequence[float],
    stop: asyncio.Event,
) -> None:
    """Open the store, hold it until the end, and close it: all in one task, as some clients require."""
    async with AsyncExitStack() as stack:
        for attempt in range(1_000_000):
            try:
                opened = await _or_stop(stop, stack.enter_async_context(open_store(settings, (store,))))
            except Exception as error:  # the other stores are used meanwhile
                wait_seconds = retry_seconds[min(attempt, len(retry_seconds) - 1)]
                _use_placeholder(stores, store, AbsentStore(store, str(error) or type(error).__name__))
                log.warning(
                    "a store could not be opened yet", store=store, error=str(error), next_try_seconds=wait_seconds
                )
                await _or_stop(stop, asyncio.sleep(wait_seconds))
            else:
                if opened is not None:
                    _use(stores, store, opened)
                    await stop.wait()
            if stop.is_set():
                return


async def _or_stop(stop: asyncio.Event, awaitable: Any) -> Any:
    """Return the result, or None if `stop` is set first."""
    work, end = asyncio.ensure_future(awaitable), asyncio.ensure_future(stop.wait())
    done, pending = await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return work.result() if work in done else None


def _use(stores: Stores, store: Store, opened: Stores) -> None:
    for name in fields_of(store):
        setattr(stores, name, getattr(opened, name))
    log.info("a store was opened", store=store)


def _use_placeholder(stores: Stores, store: Store, absent: AbsentStore) -> None:
    for name in fields_of(store):
        setattr(stores, name, cast(Any, absent))
