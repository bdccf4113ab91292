"""Tasks of a command in other processes and on other machines: the client of a Dask cluster, and stores that stay open.

`keep_stores` is the initializer of a pool: a process then has one session for all its tasks, not one for each. The
stores are opened by the first task, so that a failure is the task's error, and closed when the process ends.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from multiprocessing import util
from typing import Any

from streams.errors import UsageError
from streams.servers import Store
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores


def dask_client(scheduler: str) -> Any:
    """Return a client of the scheduler at this address. Raises UsageError."""
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("a Dask scheduler needs Dask: pip install 'PATH_OF_THE_CLONE[cluster]'") from None
    try:
        return Client(scheduler, timeout="10s")  # type: ignore[no-untyped-call]  # it has types in part
    except OSError as error:
        raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from None


class DaskEngine:
    """Runs tasks on the machines of a cluster (`streams.links.batch.Engine`)."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, function: Any, *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False)

    def gather(self, handles: Any) -> list[Any]:
        return list(self._client.gather(list(handles)))

    def share(self, value: Any) -> Any:
        return self._client.scatter(value, broadcast=True, hash=False)


Use = Callable[[Stores], Awaitable[Any]]


class KeptStores:
    """The stores of this process, and the loop that they belong to."""

    def __init__(self) -> None:
        self._runner, self._stack = asyncio.Runner(), AsyncExitStack()
        self._stores: Stores | None = None

    def run(self, use: Use, settings: Settings, needs: Iterable[Store]) -> Any:
        """Run a function with the stores, and return what it returns. The first call opens them."""
        return self._runner.run(self._run(use, settings, needs))

    def close(self) -> None:
        """Close the stores."""
        self._runner.run(self._stack.aclose())
        self._runner.close()

    async def _run(self, use: Use, settings: Settings, needs: Iterable[Store]) -> Any:
        if self._stores is None:
            self._stores = await self._stack.enter_async_context(open_stores(settings, needs))
        return await use(self._stores)


_kept: KeptStores | None = None


def keep_stores() -> None:
    """Keep the stores of this process open from its first task to its end."""
    global _kept
    _kept = KeptStores()
    # A process of a pool ends without `atexit`: these finalizers are what `multiprocessing` calls.
    util.Finalize(None, _kept.close, exitpriority=10)


def run_with_stores(use: Use, settings: Settings, needs: Iterable[Store]) -> Any:
    """Run a function with stores: those that the process keeps, or else some that are closed afterwards."""
    if _kept is not None:
        return _kept.run(use, settings, needs)
    passing = KeptStores()
    try:
        return passing.run(use, settings, needs)
    finally:
        passing.close()
