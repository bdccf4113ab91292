"""Calls of several tasks in one request, where the request costs more than what one call adds to it. And one read for
several tasks that ask for the same.

The calls that come within one turn of the event loop go together. While their request is on its way, further calls
gather, and go when it is answered (group commit): so an idle process waits for nobody, and the requests of a busy one
get larger and fewer. They wait for `GATHER_SECONDS` at most, so that one slow request does not keep others back.

A request that failed may have done a part of its work, so each call must be idempotent: it is sent once more in a
request of its own, so that a refused call is the only one that fails. Not when the failure is the whole request's, such
as an overloaded server's.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

GATHER_SECONDS = 0.02
"""Maximum time that a call waits for the request before it (seconds)."""

T = TypeVar("T")


def groups_of(most: int) -> Callable[[Sequence[T]], Iterable[Sequence[T]]]:
    """Return a function that cuts items into groups of at most `most`, in their order."""

    def split(items: Sequence[T]) -> Iterable[Sequence[T]]:
        return (items[first : first + most] for first in range(0, len(items), most))

    return split


@dataclass(slots=True)
class _Call(Generic[T]):
    item: T
    done: asyncio.Future[None]


class GroupedCalls(Generic[T]):
    """Groups calls, and tells each of them how it ended.

    `send` runs items as one request. `split` cuts items into groups that one request may have, in their order.
    `whole`: the failure of a request that is the failure of each of its calls. Where nobody waits for the calls, they
    gather for `seconds`, until `full` of them wait.
    """

    def __init__(
        self,
        send: Callable[[Sequence[T]], Awaitable[None]],
        split: Callable[[Sequence[T]], Iterable[Sequence[T]]],
        whole: type[Exception],
        *,
        seconds: float = 0.0,
        full: float = math.inf,
    ) -> None:
        self._send = send
        self._split = split
        self._whole = whole
        self._seconds, self._full = seconds, full
        self._is_hurried = False
        self._waiting: list[_Call[T]] = []
        self._requests: set[asyncio.Task[None]] = set()
        """The requests that are on their way, but for the requests of `call_each`."""
        self._send_later: asyncio.TimerHandle | None = None

    async def call(self, item: T) -> None:
        """Send an item with others. Raises what `send` raises: for this item only, unless the whole request failed."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            gathering_seconds = 0.0 if self._is_hurried else self._seconds
            if seconds := gathering_seconds or (GATHER_SECONDS if self._requests else 0.0):
                self._send_later = loop.call_later(seconds, self._send_waiting)
            else:
                loop.call_soon(self._send_waiting)
        call = _Call(item, loop.create_future())
        self._waiting.append(call)
        if len(self._waiting) >= self._full:
            self._send_waiting()
        await call.done

    def hurry(self, *, is_on: bool) -> None:
        """Send the calls that gather now, and let later ones gather only while requests are on their way."""
        self._is_hurried = is_on
        if is_on and self._waiting:
            self._send_waiting()

    async def call_each(self, items: Sequence[T]) -> None:
        """Send items in few requests, one after the other. Raises the first failure, when all have ended.

        A future that each item's task waits for would cost more than the rest of the call: the caller's task sends.
        """
        loop = asyncio.get_running_loop()
        calls = [_Call(item, loop.create_future()) for item in items]
        for group in self._groups(calls):
            await self._send_group(group)
        failures = [call.done.exception() for call in calls]
        if first := next(filter(None, failures), None):
            raise first

    def _send_waiting(self) -> None:
        if self._send_later:
            self._send_later.cancel()
            self._send_later = None
        calls, self._waiting = self._waiting, []
        for group in self._groups([call for call in calls if not call.done.cancelled()]):
            request = asyncio.ensure_future(self._send_group(group))
            self._requests.add(request)
            request.add_done_callback(self._ended)

    def _ended(self, request: asyncio.Task[None]) -> None:
        self._requests.discard(request)
        if self._send_later and not self._requests and not self._seconds:
            self._send_waiting()

    def _groups(self, calls: Sequence[_Call[T]]) -> Iterable[Sequence[_Call[T]]]:
        begin = 0
        for group in self._split([call.item for call in calls]):
            yield calls[begin : begin + len(group)]
            begin += len(group)

    async def _send_group(self, group: Sequence[_Call[T]]) -> None:
        try:
            await self._send([call.item for call in group])
        except self._whole as error:
            _end(group, error)
        except Exception as error:
            if len(group) == 1:
                _end(group, error)
            else:
                stay = [call for call in group if not call.done.done()]  # the caller of none of these has gone
                await asyncio.gather(*(self._send_group([call]) for call in stay))
        except BaseException:
            for call in group:
                call.done.cancel()
            raise
        else:
            _end(group)


Key = TypeVar("Key", bound=Hashable)


class BegunRead(Generic[T]):
    """A read that several tasks wait for."""

    def __init__(self, task: asyncio.Task[T]) -> None:
        self._task = task
        task.add_done_callback(read_failure)

    @property
    def has_failed(self) -> bool:
        return self._task.done() and (self._task.cancelled() or self._task.exception() is not None)

    @property
    def result(self) -> T | None:
        """The value that was read; None if the read has not ended, or failed."""
        return self._task.result() if self._task.done() and not self.has_failed else None

    def when_ended(self, call: Callable[[], None]) -> None:
        """Call a function when the read has ended, also if nobody waits for it."""
        self._task.add_done_callback(lambda _: call())

    async def get(self) -> T:
        """Return what was read. Raises what the read raises."""
        return await asyncio.shield(self._task)


class SharedReads(Generic[Key, T]):
    """Reads that tasks share which ask for the same within one turn of the event loop.

    A read begins after all of its calls, so it shows each caller what was written before the call.
    """

    def __init__(self, read: Callable[[Key], Awaitable[T]]) -> None:
        self._read = read
        self._next: dict[Key, BegunRead[T]] = {}
        """The reads that have not begun."""

    async def get(self, key: Key) -> T:
        """Read a value. Raises what the read raises."""
        return await self.begin(key).get()

    def begin(self, key: Key) -> BegunRead[T]:
        """Return a read of a value that begins with the next turn."""
        read = self._next.get(key)
        if read is None:
            read = self._next[key] = BegunRead(asyncio.create_task(self._read_next(key)))
        return read

    async def _read_next(self, key: Key) -> T:
        await asyncio.sleep(0)  # for further calls of this turn
        del self._next[key]
        return await self._read(key)


def _end(group: Sequence[_Call[T]], error: Exception | None = None) -> None:
    """End calls, except for those whose caller has gone."""
    for call in group:
        if call.done.done():
            continue
        if error:
            call.done.set_exception(error)
        else:
            call.done.set_result(None)


def read_failure(call: asyncio.Future[Any]) -> None:
    """Read the failure of a call that has ended, if there is one.

    All tasks that waited may be cancelled, and asyncio warns of failures that nobody has read. For `add_done_callback`.
    """
    if not call.cancelled():
        call.exception()


def is_cancelled(error: BaseException) -> bool:
    """Return whether the present task itself was cancelled, and not only something that it waited for.

    What was cancelled from inside, as by a client that closes its connection, is a failure: nobody else handles it.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
