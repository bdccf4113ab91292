"""Small writes in one request: the request costs client and server more than such a write.

The writes that come within one turn of the event loop, from any task, go together as unlogged batches, and so do the
writes of a list. So each must be idempotent, with its own time and without a condition: a request that failed may have
done some of its writes. Then each is sent once more in a request of its own, so that a refused write is the only one
that fails. Not when the time was over, the server's included: an overloaded server gets no more requests by it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MAX_WRITES = 10
"""Maximum number of writes of different partitions in one request: with more, Cassandra logs a warning for each."""
MAX_BYTES = 4_096
"""Maximum size of the values of a request (bytes). Cassandra logs a warning from 5 KiB on, and refuses 50 KiB."""
CELL_BYTES = 16
"""Bytes that Cassandra counts for a value beside its own: for its time and its place."""

Statement = Any
"""A bound statement of the driver, which ships no types."""


@dataclass(slots=True)
class _Write:
    statements: Sequence[Statement]
    size_bytes: int
    done: asyncio.Future[None]


class GroupedWrites:
    """Groups writes, and tells each of them how it ended.

    `send` runs statements as one request, and raises TimeoutError when their time is over.
    """

    def __init__(self, send: Callable[[Sequence[Statement]], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: list[_Write] = []
        self._requests: set[asyncio.Task[None]] = set()

    async def execute(self, statements: Sequence[Statement]) -> None:
        """Run statements of one partition: all or none of them. Raises what `send` raises for them."""
        size_bytes = _size_of(statements)
        if size_bytes > MAX_BYTES:
            await self._send(statements)
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        write = _Write(statements, size_bytes, loop.create_future())
        self._waiting.append(write)
        await write.done

    async def execute_each(self, statements: Sequence[Statement]) -> None:
        """Run statements of any partitions, in few requests. Raises the first failure, when all have ended.

        A future for each write of a list would cost more than the rest of the write: it is sent by the caller's task.
        """
        loop = asyncio.get_running_loop()
        writes = [_Write((one,), _size_of((one,)), loop.create_future()) for one in statements]
        for group in _groups(writes):
            await self._send_group(group)
        failures = [write.done.exception() for write in writes]
        if first := next(filter(None, failures), None):
            raise first

    def _send_waiting(self) -> None:
        writes, self._waiting = self._waiting, []
        for group in _groups([write for write in writes if not write.done.cancelled()]):
            request = asyncio.ensure_future(self._send_group(group))
            self._requests.add(request)
            request.add_done_callback(self._requests.discard)

    async def _send_group(self, group: Sequence[_Write]) -> None:
        try:
            # One partition's statements stay one write of the server, also among others.
            await self._send([statement for write in group for statement in write.statements])
        except TimeoutError as error:
            _end(group, error)
        except Exception as error:
            if len(group) == 1:
                _end(group, error)
            else:
                await asyncio.gather(*(self._send_group([write]) for write in group))
        except BaseException:
            for write in group:
                write.done.cancel()
            raise
        else:
            _end(group)


def _size_of(statements: Sequence[Statement]) -> int:
    """Return the size of a write as Cassandra counts it (bytes)."""
    return sum(CELL_BYTES + len(value) for one in statements for value in one.values if value)


def _end(group: Sequence[_Write], error: Exception | None = None) -> None:
    """End writes, except for those whose caller has gone."""
    for write in group:
        if write.done.done():
            continue
        if error:
            write.done.set_exception(error)
        else:
            write.done.set_result(None)


def _groups(writes: Sequence[_Write]) -> Iterator[list[_Write]]:
    """Yield writes in groups that a request may have."""
    group: list[_Write] = []
    size_bytes = 0
    for write in writes:
        if group and (len(group) == MAX_WRITES or size_bytes + write.size_bytes > MAX_BYTES):
            yield group
            group, size_bytes = [], 0
        group.append(write)
        size_bytes += write.size_bytes
    if group:
        yield group
