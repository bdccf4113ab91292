"""A TCP proxy on loopback that can be cut, or fall silent: a server that goes away and comes back."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

from streams.local.ports import free_ports


class Proxy:
    """`async with Proxy(port) as proxy`: connect to `proxy.port` instead."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._pipes: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._heard = asyncio.Event()
        self._heard.set()
        self._answered = asyncio.Event()
        self._answered.set()
        (self.port,) = free_ports(1)  # no client's connection takes it while it is cut

    async def __aenter__(self) -> Self:
        await self.restore()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._heard.set()
        self._answered.set()
        await self.cut()

    async def restore(self) -> None:
        """Accept connections, on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def cut(self) -> None:
        """Close all connections and refuse new ones."""
        if self._server is not None:
            self._server.close()
        for pipe in list(self._pipes):
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    def hush(self) -> None:
        """Take what is sent, and let nothing of it through."""
        self._heard.clear()

    def keep_answers(self) -> None:
        """Let requests through, and none of their answers."""
        self._answered.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pipes.add(task)
        ends = [writer]
        try:
            with suppress(OSError, asyncio.CancelledError):
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
                ends.append(far_writer)
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pipe(reader, far_writer, self._heard))
                    both.create_task(self._pipe(far_reader, writer, self._heard, self._answered))
        finally:
            self._pipes.discard(task)
            for end in ends:
                end.close()
                with suppress(OSError):
                    await end.wait_closed()

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *allowed: asyncio.Event) -> None:
        while sent := await reader.read(65_536):
            for one in allowed:
                await one.wait()
            writer.write(sent)
            await writer.drain()
        raise ConnectionResetError("one side closed: so does the other")
