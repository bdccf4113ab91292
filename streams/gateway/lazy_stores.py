"""Stores that may come after the start: each is opened in the background, and tried again until it opens.

Until then a placeholder takes its place: its calls raise StoreUnavailable with the reason. So the gateway starts
without its stores, answers in part, and recovers by itself. During a restore, all stores are placeholders.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, cast

import structlog

from streams.errors import RestoreUnfinished, StoreUnavailable
from streams.servers import STORES, Store, server_of
from streams.settings import Settings
from streams.stores.opener import Stores, fields_of, open_stores

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Pauses between tries to open a store (seconds). The last pause repeats."""
RESTORE_SECONDS = 5.0
"""Time between two looks at whether a restore of the installation runs (seconds)."""
OpenStores = Callable[[Settings, Iterable[Store]], AbstractAsyncContextManager[Stores]]
TO_SERVE: OpenStores = partial(open_stores, use="serve")

log = structlog.get_logger(__name__)


class AbsentStore:
    """The placeholder of a store that is not open: every method raises StoreUnavailable when it is awaited.

    During a restore it raises RestoreUnfinished.
    """

    def __init__(self, store: Store, reason: str, error: type[StoreUnavailable] = StoreUnavailable) -> None:
        self._store, self._reason, self._error = store, reason, error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def unavailable(*args: object, **keywords: object) -> None:
            raise self._error(f"{server_of(self._store).title} is not connected: {self._reason}")

        return unavailable


class _Shown:
    """The stores that requests use: each is the opened store, or a placeholder with the reason.

    While a restore of the installation is not finished, all are placeholders: parts of what they hold are missing.
    """

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self._opened: dict[Store, Stores] = {}
        self._absent: dict[Store, str] = {}
        self._unfinished = ""

    def open(self, store: Store, opened: Stores) -> None:
        self._opened[store] = opened
        log.info("a store was opened", store=store)
        self._show(store)

    def absent(self, store: Store, reason: str) -> None:
        self._absent[store] = reason
        self._show(store)

    def restoring(self, reason: str) -> None:
        """Show placeholders for all stores, or the stores again if there is no reason any more."""
        if reason == self._unfinished:
            return
        self._unfinished = reason
        log.warning("a restore is not finished" if reason else "the restore is finished", reason=reason)
        for store in self._absent:
            self._show(store)

    def _show(self, store: Store) -> None:
        opened = None if self._unfinished else self._opened.get(store)
        restoring = AbsentStore(store, self._unfinished, RestoreUnfinished) if self._unfinished else None
        absent = cast(Any, restoring or AbsentStore(store, self._absent[store]))
        for name in fields_of(store):
            setattr(self.stores, name, getattr(opened, name) if opened else absent)


@asynccontextmanager
async def open_lazily(
    settings: Settings,
    *,
    open_store: OpenStores = TO_SERVE,
    retry_seconds: Sequence[float] = RETRY_SECONDS,
    restore_seconds: float = RESTORE_SECONDS,
) -> AsyncIterator[Stores]:
    """Provide the stores at once, open or not, and close them at the end."""
    shown = _Shown(Stores())
    stop = asyncio.Event()
    tasks = []
    for store in STORES:
        shown.absent(store, "it is being opened")
        tasks.append(
            asyncio.create_task(_hold_open(settings, store, shown, open_store, retry_seconds, restore_seconds, stop))
        )
    try:
        yield shown.stores
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def _hold_open(
    settings: Settings,
    store: Store,
    shown: _Shown,
    open_store: OpenStores,
    retry_seconds: Sequence[float],
    restore_seconds: float,
    stop: asyncio.Event,
) -> None:
    """Open the store, hold it until the end, and close it: all in one task, as some clients require."""
    async with AsyncExitStack() as stack:
        for attempt in range(1_000_000):
            try:
                opened = await _or_stop(stop, stack.enter_async_context(open_store(settings, (store,))))
            except Exception as error:  # the other stores are used meanwhile
                wait_seconds = retry_seconds[min(attempt, len(retry_seconds) - 1)]
                shown.absent(store, str(error) or type(error).__name__)
                if isinstance(error, RestoreUnfinished):
                    shown.restoring(str(error))
                log.warning(
                    "a store could not be opened yet", store=store, error=str(error), next_try_seconds=wait_seconds
                )
                await _or_stop(stop, asyncio.sleep(wait_seconds))
            else:
                if opened is not None:
                    shown.open(store, opened)
                    await _watch_restores(opened, shown, restore_seconds, stop)
            if stop.is_set():
                return


async def _watch_restores(opened: Stores, shown: _Shown, restore_seconds: float, stop: asyncio.Event) -> None:
    """Wait for the end. If the records were opened, look now and then whether a restore has begun or ended."""
    if opened.unfinished_restore is None:
        await stop.wait()
    while not stop.is_set() and opened.unfinished_restore:
        try:
            shown.restoring(await opened.unfinished_restore())
        except Exception as error:
            log.debug("unknown whether a restore runs", error=repr(error))
        await _or_stop(stop, asyncio.sleep(restore_seconds))


async def _or_stop(stop: asyncio.Event, awaitable: Any) -> Any:
    """Return the result, or None if `stop` is set first."""
    work, end = asyncio.ensure_future(awaitable), asyncio.ensure_future(stop.wait())
    done, pending = await asyncio.wait({work, end}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return work.result() if work in done else None
