"""One request at a time for each host, in the order of arrival: one of strangers' pages among the others at most."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from streams.crawl.polite.refusals import NotAsked


class Places:
    """The places of one process. A host without requests takes no memory."""

    def __init__(self) -> None:
        self._locks: dict[tuple[str, bool], asyncio.Lock] = {}
        self._users: Counter[tuple[str, bool]] = Counter()

    @asynccontextmanager
    async def take(self, host: str, max_wait_seconds: float, *, is_stranger: bool) -> AsyncIterator[None]:
        """Hold the place of a host. Requests of strangers' pages wait for each other first. Raises NotAsked."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(max_wait_seconds):
                    for key in ((host, True), (host, False)) if is_stranger else ((host, False),):
                        await stack.enter_async_context(self._hold(key))
            except TimeoutError:
                raise NotAsked("busy", f"{host} is asked by others just now.", max_wait_seconds) from None
            yield

    @asynccontextmanager
    async def _hold(self, key: tuple[str, bool]) -> AsyncIterator[None]:
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]
