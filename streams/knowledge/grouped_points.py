"""Points of several entities in one request: the request costs the client and Qdrant more than such a point.

The points that come within one turn of the event loop go together. Events that are handled at once get their vectors
from one batch of the model, so their points come together. Nobody waits for others. A point may be written twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from streams.errors import TransientError
from streams.stores.protocols import Point

MAX_POINTS = 64
"""Maximum number of points of a request: as many as a batch of the model has texts."""

Upsert = Callable[[str, Sequence[Point]], Awaitable[None]]
"""Writes points to a collection."""


@dataclass(slots=True)
class _Write:
    collection: str
    point: Point
    done: asyncio.Future[None]


class GroupedPoints:
    """Groups points, and tells each caller how its point ended."""

    def __init__(self, upsert: Upsert) -> None:
        self._upsert = upsert
        self._waiting: list[_Write] = []
        self._requests: set[asyncio.Task[None]] = set()

    async def upsert(self, collection: str, point: Point) -> None:
        """Write a point. Raises what the store raises: for this point only, unless the whole request failed."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        write = _Write(collection, point, loop.create_future())
        self._waiting.append(write)
        await write.done

    def _send_waiting(self) -> None:
        writes, self._waiting = [write for write in self._waiting if not write.done.cancelled()], []
        for collection in dict.fromkeys(write.collection for write in writes):
            own = [write for write in writes if write.collection == collection]
            for first in range(0, len(own), MAX_POINTS):
                request = asyncio.ensure_future(self._send(collection, own[first : first + MAX_POINTS]))
                self._requests.add(request)
                request.add_done_callback(self._requests.discard)

    async def _send(self, collection: str, group: Sequence[_Write]) -> None:
        try:
            await self._upsert(collection, [write.point for write in group])
        except TransientError as error:
            _end(group, error)
        except Exception as error:
            if len(group) == 1:
                _end(group, error)
            else:  # a refused point is the only one that fails
                await asyncio.gather(*(self._send(collection, [write]) for write in group))
        except BaseException:
            for write in group:
                write.done.cancel()
            raise
        else:
            _end(group)


def _end(group: Sequence[_Write], error: Exception | None = None) -> None:
    """End writes, except for those whose caller has gone."""
    for write in group:
        if write.done.done():
            continue
        if error:
            write.done.set_exception(error)
        else:
            write.done.set_result(None)
