"""A thread that answers health checks, so that a process whose event loop is busy is slow, and not silent.

Restarting a busy process makes its machine busier. So the thread says how long ago the loop had its last turn, and
only a loop that is stuck for long is a reason to restart.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from aiohttp import web

TICK_SECONDS = 1.0
"""Time between two turns of the process's loop, and between two looks at them (seconds)."""
Handler = Callable[[web.Request], Awaitable[web.Response]]


def measure_queue_seconds(thread_id: int, tasks: Path = Path("/proc/self/task")) -> float:
    """Return how long a thread of this process was ready to run and had no processor (seconds).

    It is 0 where the kernel doesn't say: the second number in the thread's `schedstat`, in nanoseconds (Linux).
    """
    try:
        return int((tasks / str(thread_id) / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class OwnTime:
    """The time that this process really had (seconds), measured by the ticks of a thread.

    Time in which the process's loop was ready to run and had no processor does not count. While the process is stopped,
    the thread doesn't tick, and a long pause counts as two ticks. So what takes long on a busy machine takes less of
    this time.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, queue_seconds: Callable[[], float] = lambda: 0.0
    ) -> None:
        """`queue_seconds` returns how long the loop was ready to run and had no processor since its start (seconds)."""
        self._clock, self._queue_seconds = clock, queue_seconds
        self._queued = queue_seconds()
        self._ticked = self._turned = clock()
        self._turned_at = 0.0
        self.seconds = 0.0

    def tick(self) -> None:
        """Note a tick of the thread."""
        before, self._ticked = self._ticked, self._clock()
        queued_before, self._queued = self._queued, self._queue_seconds()
        had = self._ticked - before - (self._queued - queued_before)
        self.seconds += min(max(had, 0.0), 2 * TICK_SECONDS)

    def turn(self) -> None:
        """Note a turn of the worker's event loop."""
        self._turned, self._turned_at = self._clock(), self.seconds

    @property
    def missed_seconds(self) -> float:
        """Own time since the last turn of the loop (seconds)."""
        return self.seconds - self._turned_at

    @property
    def turn_age_seconds(self) -> float:
        """Time by the clock since the last turn of the loop (seconds)."""
        return self._clock() - self._turned


class HealthThread:
    """Answers GET requests in a thread of its own, and measures the turns of the loop that starts the thread."""

    def __init__(self, routes: Mapping[str, Handler], *, host: str, port: int) -> None:
        """`routes`: path -> handler, which runs in the thread. `port` 0: any free port."""
        self._routes, self._host, self.port = routes, host, port
        # The loop runs in the thread that makes this object.
        self.own_time = OwnTime(queue_seconds=partial(measure_queue_seconds, threading.get_native_id()))
        self._turns: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None
        self._own_loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Start the thread, and return when it serves. Raises OSError if the port is taken."""
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns = asyncio.create_task(self._take_turns())
        self._thread = threading.Thread(
            target=self._run, args=(asyncio.get_running_loop(), started), name="health", daemon=True
        )
        self._thread.start()
        await started

    async def stop(self) -> None:
        if self._turns:
            self._turns.cancel()
        if self._thread and self._own_loop and self._thread.is_alive():
            self._own_loop.call_soon_threadsafe(self._stop.set)
            await asyncio.to_thread(self._thread.join)

    async def _take_turns(self) -> None:
        while True:
            self.own_time.turn()
            await asyncio.sleep(TICK_SECONDS)

    def _run(self, loop: asyncio.AbstractEventLoop, started: "asyncio.Future[None]") -> None:
        own_loop = self._own_loop = asyncio.new_event_loop()
        try:
            own_loop.run_until_complete(self._serve(lambda: loop.call_soon_threadsafe(started.set_result, None)))
        except OSError as error:
            loop.call_soon_threadsafe(started.set_exception, error)
        finally:
            own_loop.close()

    async def _serve(self, serving: Callable[[], object]) -> None:
        app = web.Application()
        app.add_routes([web.get(path, handler) for path, handler in self._routes.items()])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self.port).start()
            self.port = runner.addresses[0][1]
            serving()
            while not self._stop.is_set():
                self.own_time.tick()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), TICK_SECONDS)
        finally:
            await runner.cleanup()
