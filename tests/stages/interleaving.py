"""Handlers that run at the same time over shared stores, in an order of store calls that the test chooses."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any


class Interleaving:
    """Lets one of several coroutines make its next store call at a time; `choices` (numbers) decide which."""

    def __init__(self, choices: Iterable[int]) -> None:
        self._choices: Iterator[int] = iter(choices)
        self._waiting: dict[asyncio.Task[Any], asyncio.Future[None]] = {}
        self._changed = asyncio.Event()
        self._tasks: frozenset[asyncio.Task[Any]] = frozenset()

    def watched(self, store: Any) -> Any:
        """The store, with each call waiting for its turn."""
        return _Watched(store, self)

    async def run(self, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run to the end, and return the results in order."""
        tasks = [asyncio.ensure_future(call) for call in calls]
        self._tasks = frozenset(tasks)
        for task in tasks:
            task.add_done_callback(lambda _: self._changed.set())
        while any(not task.done() for task in tasks):
            self._changed.clear()
            running = [task for task in tasks if not task.done()]
            if all(task in self._waiting for task in running):
                chosen = running[next(self._choices, 0) % len(running)]
                self._waiting.pop(chosen).set_result(None)
            await self._changed.wait()
        return [task.result() for task in tasks]

    async def turn(self) -> None:
        """Wait until this task may go on. A call of a task that isn't run here goes on at once, as in a `gather`."""
        task = asyncio.current_task()
        if task is None or task not in self._tasks:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[task] = waiting
        self._changed.set()
        await waiting


class _Watched:
    def __init__(self, store: Any, interleaving: Interleaving) -> None:
        self._store = store
        self._interleaving = interleaving

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            await self._interleaving.turn()
            return await method(*args, **kwargs)

        return call
