"""The lists of prefixes from Cassandra, in a bounded cache. A list that can't be read in time is missing."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial

from streams.caches import TimedCache
from streams.search.optional import OnFailure, OptionalPart, Rest
from streams.stores.opener import Stores
from streams.stores.protocols import StoredSuggestion

MAX_CACHED = 50_000
"""Maximum lists in the cache: about 100 MB of full ones."""
MAX_AGE_SECONDS = 60.0
"""Age at which a list is read again (seconds)."""
READ_SECONDS = 0.1
"""Maximum time to read a list (seconds): people type on."""
REST_SECONDS = 2.0
"""Pause after a failure before lists are read again (seconds)."""
MAX_READING = 16
"""Maximum lists that are read at once in the background."""

Rows = tuple[StoredSuggestion, ...]
_Key = tuple[str, str]


class PrefixLists:
    """The reader of lists. Each process has one reader, which holds the cache."""

    def __init__(self, stores: Stores, on_failure: OnFailure, clock: Callable[[], datetime]) -> None:
        self._stores = stores
        self._cached: TimedCache[_Key, Rows] = TimedCache(MAX_AGE_SECONDS, MAX_CACHED, lambda: clock().timestamp())
        self._reading: dict[_Key, asyncio.Task[Rows | None]] = {}
        self._part = OptionalPart("suggestions", partial(on_failure, "records"), Rest(REST_SECONDS))

    def known(self, language: str, prefix: str) -> Rows | None:
        """Return a list from the cache, also an old one. An old or missing list is read in the background."""
        cached = self._cached.find((language, prefix))
        if cached is None or not cached.is_fresh:
            self._start(language, prefix, MAX_READING)
        return cached.value if cached else None

    def fresh(self, language: str, prefix: str) -> Rows | None:
        """Return a list from the cache, or None if it is missing or old."""
        return self._cached.fresh((language, prefix))

    async def read(self, language: str, prefix: str) -> Rows:
        """Return a list, from the cache or from Cassandra; empty if it can't be read in time. Raises nothing."""
        cached = self._cached.find((language, prefix))
        if cached is not None and cached.is_fresh:
            return cached.value
        running = self._start(language, prefix, 64 * MAX_READING)
        found = await asyncio.shield(running) if running else None
        return found if found is not None else (cached.value if cached else ())

    def _start(self, language: str, prefix: str, max_reading: int) -> asyncio.Task[Rows | None] | None:
        """Begin to read a list, or join the task that reads it. None: too many are being read."""
        key = (language, prefix)
        if key not in self._reading:
            if len(self._reading) >= max_reading:
                return None
            self._reading[key] = asyncio.create_task(self._read(key))
        return self._reading[key]

    async def _read(self, key: _Key) -> Rows | None:
        try:
            read = partial(self._stores.suggestions.of_prefix, *key)
            found = await self._part.read(read, asyncio.timeout(READ_SECONDS))
            if found is None:
                return None
            self._cached.keep(key, tuple(found))
            return tuple(found)
        finally:
            self._reading.pop(key, None)
