"""The pipe to Chromium: messages of the DevTools protocol, JSON with a zero byte behind each.

Chromium reads commands from file descriptor 3 and writes answers and events to 4 (`--remote-debugging-pipe`). So no
port is open that another process of the machine could use.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from streams.errors import Refused

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Maximum length of one message (bytes)."""

OnEvent = Callable[[str, Mapping[str, Any], str], Awaitable[None]]
"""Called with an event's name, its parameters and its session."""


class RendererEnded(Exception):
    """Chromium ended, or broke a rule of the pipe."""


class Pipe:
    """Commands to Chromium, and its answers and events."""

    def __init__(self, reader: asyncio.StreamReader, write: Callable[[bytes], None], on_event: OnEvent) -> None:
        self._reader = reader
        self._write = write
        self._on_event = on_event
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._overrun = asyncio.Event()

    async def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; empty if Chromium answers with an error. Raises RendererEnded."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._write(orjson.dumps(message) + b"\0")
            return await answer
        except OSError as error:
            raise RendererEnded(f"the pipe is closed: {error}") from error
        finally:
            self._waiting.pop(number, None)

    async def serve(self) -> None:
        """Read messages until the pipe ends. Raises RendererEnded, also in all commands that wait."""
        try:
            while True:
                await self._take(orjson.loads((await self._reader.readuntil(b"\0"))[:-1]))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, orjson.JSONDecodeError, OSError) as error:
            if isinstance(error, asyncio.LimitOverrunError):
                self._overrun.set()
            ended = RendererEnded(f"the browser ended: {type(error).__name__}")
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ended)
            raise ended from error
        finally:
            for task in self._tasks:
                task.cancel()

    async def until_overrun(self) -> None:
        """Return never. Raises Refused if Chromium sends a message that is too long: only the page makes it so."""
        await self._overrun.wait()
        raise Refused("render", f"its browser sent more than {MAX_MESSAGE_BYTES >> 20} MiB at once")

    async def _take(self, message: dict[str, Any]) -> None:
        answer = self._waiting.get(message.get("id", 0))
        if answer is not None and not answer.done():
            answer.set_result(message.get("result") or {})
        elif "method" in message:
            event = self._on_event(message["method"], message.get("params") or {}, message.get("sessionId", ""))
            task = asyncio.ensure_future(event)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
