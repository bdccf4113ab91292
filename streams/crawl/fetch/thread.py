"""The thread that makes the requests, with an event loop of its own, apart from the loop of the Kafka client.

A response that takes long to parse or decode only delays other requests, not the heartbeats to Kafka: without them the
worker would lose its partitions. The decoders are C code that releases the interpreter's lock.

If the thread ends, its requests fail at once as an outage (`ThreadEnded`), and the stage starts another thread. That a
thread hangs is not noticed here: its requests last until the deadline of their events.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

import aiohttp
import structlog
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
from streams.errors import ThreadEnded
from streams.grouped_calls import is_cancelled
from streams.settings import CrawlSettings

T = TypeVar("T")
log = structlog.get_logger(__name__)

END_TLS_SECONDS = 0.1
"""Time for the connections of cancelled requests to end (seconds). No socket stays open behind the loop."""


class FetchThread:
    """A running thread with a session. `start` makes it, and `stop` ends it."""

    def __init__(self, settings: CrawlSettings, monotonic: Callable[[], float]) -> None:
        self._settings = settings
        self._limits = limits_of(settings)
        self._monotonic = monotonic
        self._opened: Future[tuple[asyncio.AbstractEventLoop, aiohttp.ClientSession, aiohttp.ClientSession]] = Future()
        self._stopping: asyncio.Event | None = None
        self._calls: set[Future[Any]] = set()
        """The calls in progress."""
        self._end: ThreadEnded | None = None
        self._thread = threading.Thread(target=self._run, name="fetch", daemon=True)

    @classmethod
    async def start(cls, settings: CrawlSettings, monotonic: Callable[[], float] = time.monotonic) -> "FetchThread":
        """Start a thread. Raises ValueError if the settings are invalid, and ThreadEnded if there is no thread."""
        fetching = cls(settings, monotonic)
        try:
            fetching._thread.start()
        except RuntimeError as error:
            raise ThreadEnded(f"the thread that makes the requests can't be started: {error}") from error
        await asyncio.wrap_future(fetching._opened)
        return fetching

    @property
    def has_ended(self) -> bool:
        """True if the thread makes no requests any more."""
        return self._end is not None

    async def get(self, scheduled: PageScheduled, sign_in: Mapping[str, str] | None = None) -> Answer:
        """Make the request of a scheduled URL. A cancelled caller also cancels the request. Raises ThreadEnded.

        `sign_in`: secret headers.
        """
        loop, session = self._session_for(scheduled.url)
        request = get(
            session,
            scheduled.url,
            purpose=scheduled.purpose,
            limits=self._limits,
            monotonic=self._monotonic,
            etag=scheduled.etag,
            last_modified=scheduled.last_modified,
            sign_in=sign_in,
        )
        return await self._call(request, loop)

    async def addresses(self, url: str) -> list[str]:
        """Return the addresses that the next request for a URL connects to; an empty list if its name leads nowhere.

        Raises ThreadEnded.
        """
        loop, session = self._session_for(url)
        request = addresses_of(session, URL(url, encoded=True).raw_host or "")
        return await self._call(request, loop)

    async def _call(self, work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
        """Run a coroutine in the thread."""
        try:
            call = asyncio.run_coroutine_threadsafe(work, loop)
        except RuntimeError as error:  # the loop is closed
            work.close()
            raise self._end or ThreadEnded(f"the thread that makes the requests has ended: {error}") from error
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        if self._end:  # just now: nobody else cancels this call
            call.cancel()
        try:
            return await asyncio.wrap_future(call)
        except asyncio.CancelledError as error:
            if is_cancelled(error):
                raise
            # The caller was not cancelled: so the end of the thread cancelled the call.
            raise ThreadEnded("the thread that makes the requests ended during the request") from None

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
        with suppress(RuntimeError):  # the thread has ended, and its loop is closed
            loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        """Make the requests until `stop`. Nothing is above this function in the thread, so it catches everything."""
        reason: BaseException | None = None
        serving = self._serve()
        try:
            asyncio.run(serving)
        except BaseException as error:
            reason = error
            log.error(
                "the thread that makes the requests has ended; the next request starts another", error=repr(error)
            )
        serving.close()  # if there was no loop to run it
        self._end = ThreadEnded(f"the thread that makes the requests has ended: {reason!r}")
        if not self._opened.done():
            self._opened.set_exception(self._end)
        for call in list(self._calls):
            call.cancel()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        try:
            sessions = open_session(self._settings), open_allowed_session(self._settings)
        except Exception as error:
            self._opened.set_exception(error)
            return
        self._opened.set_result((asyncio.get_running_loop(), *sessions))
        try:
            await self._stopping.wait()
        finally:
            for session in sessions:
                await close_session(session)
            if not self._stopping.is_set():  # requests were cancelled: both sides of TLS say that they end
                await asyncio.sleep(END_TLS_SECONDS)
