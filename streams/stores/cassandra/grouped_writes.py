"""Small writes in one request: the request costs client and server more than such a write.

The writes that come within one turn of the event loop, from any task, or while a request is on its way, go together as
unlogged batches, and so do the writes of a list (`grouped_calls`). So each must be idempotent, with its own time and
without a condition. When the time of a request was over, the server's included, its writes are not sent again: an
overloaded server gets no more requests.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streams.grouped_calls import GroupedCalls

MAX_WRITES = 10
"""Maximum number of writes of different partitions in one request: with more, Cassandra logs a warning for each."""
MAX_BYTES = 4_096
"""Maximum size of the values of a request (bytes). Cassandra logs a warning from 5 KiB on, and refuses 50 KiB."""
CELL_BYTES = 16
"""Bytes that Cassandra counts for a value beside its own: for its time and its place."""

Statement = Any
"""A bound statement of the driver, which ships no types."""


@dataclass(frozen=True, slots=True)
class _Write:
    statements: Sequence[Statement]
    size_bytes: int


class GroupedWrites:
    """Groups writes, and tells each of them how it ended.

    `send` runs statements as one request, and raises TimeoutError when their time is over.
    """

    def __init__(self, send: Callable[[Sequence[Statement]], Awaitable[None]]) -> None:
        self._send = send
        self._calls = GroupedCalls(self._send_writes, _groups, TimeoutError)

    async def execute(self, statements: Sequence[Statement]) -> None:
        """Run statements of one partition: all or none of them. Raises what `send` raises for them."""
        size_bytes = _size_of(statements)
        if size_bytes > MAX_BYTES:
            await self._send(statements)
            return
        await self._calls.call(_Write(statements, size_bytes))

    async def execute_each(self, statements: Sequence[Statement]) -> None:
        """Run statements of any partitions, in few requests. Raises the first failure, when all have ended."""
        await self._calls.call_each([_Write((one,), _size_of((one,))) for one in statements])

    async def _send_writes(self, writes: Sequence[_Write]) -> None:
        # One partition's statements stay one write of the server, also among others.
        await self._send([statement for write in writes for statement in write.statements])


def _size_of(statements: Sequence[Statement]) -> int:
    """Return the size of a write as Cassandra counts it (bytes)."""
    return sum(CELL_BYTES + len(value) for one in statements for value in one.values if value)


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
