"""Stores that need not be there at the start: each is opened in the background, on its own, as often as it takes.

Until a store is open a stand-in takes its place, whose every call raises StoreUnavailable with the reason; so the
gateway starts, answers in part, and gets whole again by itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, cast

import structlog

from streams.errors import StoreUnavailable
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.topology import Store

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Between two tries to open a store; the last one repeats."""
OpenStores = Callable[[Settings, Iterable[Store]], AbstractAsyncContextManager[Stores]]

_FIELDS: dict[Store, tuple[str, ...]] = {
    "cassandra": ("blobs", "pages", "ledger", "fingerprints"),
    "qdrant": ("vectors",),
    "triton": ("embedder",),
}
"""What the gateway uses of each store."""

log = structlog.get_logger(__name__)


class AbsentStore:
    """Stands where a store is not open yet: every method raises StoreUnavailable when it is awaited."""

    def __init__(self, store: Store, why: str) -> None:
        self._store, self._why = store, why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def unavailable(*args: object, **keywords: object) -> None:
            raise StoreUnavailable(f"{self._store} is not connected: {self._why}")

        return unavailable


@asynccontextmanager
async def opened(
    settings: Settings,
    needs: Iterable[Store] = ("cassandra", "qdrant", "triton"),
    *,
    open_them: OpenStores = open_stores,
    retry_seconds: Sequence[float] = RETRY_SECONDS,
) -> AsyncIterator[Stores]:
    """The stores at once, though not open yet. They are closed at the end."""
    stores = Stores()
    stop = asyncio.Event()
    keepers = []
    for store in needs:
        _place(stores, store, AbsentStore(store, "it is being opened"))
        keepers.append(asyncio.create_task(_keep(settings, store, stores, open_them, retry_seconds, stop)))
    try:
        yield stores
    finally:
        stop.set()
        await asyncio.gather(*keepers)


async def _keep(
    settings: Settings,
    store: Store,
    stores: Stores,
    open_them: OpenStores,
    retry_seconds: Sequence[float],
    stop: asyncio.Event,
) -> None:
    """Open the store, keep it until the end, close it: all in one task, as clients of some servers ask for."""
    async with AsyncExitStack() as stack:
        for attempt in range(1_000_000):
            try:
                found = await _unless(stop, stack.enter_async_context(open_them(settings, (store,))))
            except Exception as error:  # whatever keeps it from opening, the others serve meanwhile
                wait_seconds = retry_seconds[min(attempt, len(retry_seconds) - 1)]
                _place(stores, store, AbsentStore(store, str(error) or type(error).__name__))
                log.warning("a store is not there yet", store=store, error=str(error), next_try_seconds=wait_seconds)
                await _unless(stop, asyncio.sleep(wait_seconds))
            else:
                if found is not None:
                    _adopt(stores, store, found)
                    await stop.wait()
            if stop.is_set():
                return


async def _unless(stop: asyncio.Event, awaitable: Any) -> Any:
    """The result, or None when the end comes first."""
    work, end = asyncio.ensure_future(awaitable), asyncio.ensure_future(stop.wait())
    done, pending = await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return work.result() if work in done else None


def _adopt(stores: Stores, store: Store, found: Stores) -> None:
    for name in _FIELDS[store]:
        setattr(stores, name, getattr(found, name))
    log.info("a store was opened", store=store)


def _place(stores: Stores, store: Store, absent: AbsentStore) -> None:
    for name in _FIELDS[store]:
        setattr(stores, name, cast(Any, absent))
