"""Points of several entities in one request: the request costs the client and Qdrant more than such a point.

Events that are handled at once get their vectors from one batch of the model, so their points come together. A point
may be written twice (`grouped_calls`).
"""

from collections.abc import Awaitable, Callable, Sequence

from streams.errors import TransientError
from streams.grouped_calls import GroupedCalls, groups_of
from streams.stores.protocols import Point

MAX_POINTS = 64
"""Maximum number of points of a request: as many as a batch of the model has texts."""

Upsert = Callable[[str, Sequence[Point]], Awaitable[None]]
"""Writes points to a collection."""


class GroupedPoints:
    """Groups the points of each collection, and tells each caller how its point ended."""

    def __init__(self, upsert: Upsert) -> None:
        self._upsert = upsert
        self._calls: dict[str, GroupedCalls[Point]] = {}

    async def upsert(self, collection: str, point: Point) -> None:
        """Write a point. Raises what the store raises: for this point only, unless the whole request failed."""
        if collection not in self._calls:

            async def send(points: Sequence[Point]) -> None:
                await self._upsert(collection, points)

            self._calls[collection] = GroupedCalls(send, groups_of(MAX_POINTS), TransientError)
        await self._calls[collection].call(point)
