"""The thread that makes the requests, with an event loop of its own, apart from the loop of the Kafka client.

A response that takes long to parse or decode only delays other requests, not the heartbeats to Kafka: without them the
worker would lose its partitions. The decoders are C code that releases the interpreter's lock.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import aiohttp
from yarl import URL

from schemas import PageScheduled
from streams.allowed_origins import origin_of
from streams.crawl.fetch.http import (
    Answer,
    addresses_of,
    close_session,
    get,
    limits_of,
    open_allowed_session,
    open_session,
)
from streams.settings import CrawlSettings


class FetchThread:
    """A running thread with a session. `start` makes it, and `stop` ends it."""

    def __init__(self, settings: CrawlSettings, monotonic: Callable[[], float]) -> None:
        self._settings = settings
        self._limits = limits_of(settings)
        self._monotonic = monotonic
        self._opened: Future[tuple[asyncio.AbstractEventLoop, aiohttp.ClientSession, aiohttp.ClientSession]] = Future()
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="fetch", daemon=True)

    @classmethod
    async def start(cls, settings: CrawlSettings, monotonic: Callable[[], float] = time.monotonic) -> "FetchThread":
        """Start a thread. Raises ValueError if the settings are invalid."""
        fetching = cls(settings, monotonic)
        fetching._thread.start()
        await asyncio.wrap_future(fetching._opened)
        return fetching

    async def get(self, scheduled: PageScheduled) -> Answer:
        """Make the request of a scheduled URL. A cancelled caller also cancels the request."""
        loop, session = self._session_for(scheduled.url)
        request = get(
            session,
            scheduled.url,
            purpose=scheduled.purpose,
            limits=self._limits,
            monotonic=self._monotonic,
            etag=scheduled.etag,
            last_modified=scheduled.last_modified,
        )
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(request, loop))

    async def addresses(self, url: str) -> list[str]:
        """Return the addresses that the next request for a URL connects to; an empty list if its name leads nowhere."""
        loop, session = self._session_for(url)
        request = addresses_of(session, URL(url, encoded=True).raw_host or "")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(request, loop))

    def _session_for(self, url: str) -> tuple[asyncio.AbstractEventLoop, aiohttp.ClientSession]:
        loop, session, allowed_session = self._opened.result()
        return loop, allowed_session if self._needs_permission(url) else session

    def _needs_permission(self, url: str) -> bool:
        """Return whether the URL is of an allowed origin. All others go through the strict guard."""
        return self._settings.origins.allows(origin_of(url))

    async def stop(self) -> None:
        """Close the sessions and end the thread."""
        loop, *_ = self._opened.result()
        assert self._stopping
        loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        try:
            sessions = open_session(self._settings), open_allowed_session(self._settings)
        except Exception as error:
            self._opened.set_exception(error)
            return
        self._opened.set_result((asyncio.get_running_loop(), *sessions))
        await self._stopping.wait()
        for session in sessions:
            await close_session(session)
