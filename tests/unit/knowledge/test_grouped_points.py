"""Points of several entities in one request: which requests they are, and how each ends."""

import asyncio
from collections.abc import Sequence

import pytest

from streams.errors import PoisonError, StoreUnavailable
from streams.knowledge.entity import Entity
from streams.knowledge.points import MAX_POINTS, GroupedPoints, point_id, point_of
from streams.stores.protocols import Point

REFUSED = point_id("refused")


class Store:
    """A store that refuses one point, and is away if it is told to."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_away = is_away
        self.requests: list[tuple[str, int]] = []
        self.written: set[str] = set()

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        self.requests.append((collection, len(points)))
        await asyncio.sleep(0)
        if self.is_away:
            raise StoreUnavailable("away")
        if any(point.id == REFUSED for point in points):
            raise PoisonError("refused")
        self.written |= {point.payload.url for point in points}


def point(entity_id: str) -> Point:
    return point_of(Entity(entity_id=entity_id, label=entity_id), [0.0])


async def write(store: Store, *ids: str, collection: str = "one") -> list[BaseException | None]:
    points = GroupedPoints(store.upsert)
    return await asyncio.gather(*(points.upsert(collection, point(one)) for one in ids), return_exceptions=True)


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (5, [5]), (MAX_POINTS + 3, [MAX_POINTS, 3])])
async def test_points_that_come_together_share_requests(count: int, sizes: list[int]) -> None:
    store, ids = Store(), [f"Q{number}" for number in range(count)]
    assert await write(store, *ids) == [None] * count
    assert [size for _, size in store.requests] == sizes
    assert store.written == set(ids)


async def test_each_collection_has_its_own_request() -> None:
    store = Store()
    points = GroupedPoints(store.upsert)
    await asyncio.gather(points.upsert("one", point("Q1")), points.upsert("two", point("Q2")))
    assert sorted(store.requests) == [("one", 1), ("two", 1)]


async def test_a_refused_point_is_the_only_one_that_fails() -> None:
    store = Store()
    first, refused, last = await write(store, "Q1", "refused", "Q2")
    assert (first, last) == (None, None)
    assert isinstance(refused, PoisonError)
    assert store.written == {"Q1", "Q2"}


async def test_a_store_that_is_away_is_asked_once_and_fails_all() -> None:
    store = Store(is_away=True)
    assert {type(error) for error in await write(store, "Q1", "Q2", "Q3")} == {StoreUnavailable}
    assert store.requests == [("one", 3)]


async def test_a_caller_that_has_gone_harms_no_other() -> None:
    store = Store()
    points = GroupedPoints(store.upsert)
    gone, other = (asyncio.create_task(points.upsert("one", point(one))) for one in ("Q1", "Q2"))
    await asyncio.sleep(0)
    gone.cancel()
    await other
    assert store.written == {"Q2"}
    with pytest.raises(asyncio.CancelledError):
        await gone
