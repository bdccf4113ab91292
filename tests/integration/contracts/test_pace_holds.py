"""The contract of the holds of keys, in memory and in Cassandra."""

import asyncio

import pytest

from streams.stores.cassandra import CassandraPaceHolds
from streams.stores.memory import MemoryPaceHolds
from streams.stores.protocols import PaceHolds
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def holds(request: pytest.FixtureRequest) -> PaceHolds:
    if request.param == "memory":
        return MemoryPaceHolds()
    return CassandraPaceHolds(request.getfixturevalue("cassandra_session"))


async def test_one_worker_holds_a_key_until_it_releases_it(holds: PaceHolds) -> None:
    key, other = fresh_name("host"), fresh_name("host")
    assert await holds.hold(key, "a", 600) == 0
    assert 0 < await holds.hold(key, "b", 600) <= 600
    assert 0 < await holds.left(key) <= 600
    assert await holds.left(other) == 0
    assert await holds.hold(other, "b", 600) == 0
    assert await holds.hold(key, "a", 3_600) == 0, "it may hold it longer"
    assert 600 < await holds.hold(key, "b", 600) <= 3_600
    await holds.release(key, "b")
    assert await holds.hold(key, "b", 600) > 0, "only the holder releases it"
    await holds.release(key, "a")
    assert await holds.hold(key, "b", 600) == 0


async def test_of_several_workers_at_once_one_gets_the_key(holds: PaceHolds) -> None:
    key = fresh_name("host")
    waits = await asyncio.gather(*(holds.hold(key, name, 600) for name in "abcdefgh"))
    assert sorted(wait > 0 for wait in waits) == [False] + [True] * 7


async def test_a_hold_ends_by_itself(holds: PaceHolds) -> None:
    key = fresh_name("host")
    assert await holds.hold(key, "a", 1) == 0
    async with asyncio.timeout(60):
        while await holds.hold(key, "b", 600):
            await asyncio.sleep(0.1)
    assert await holds.hold(key, "a", 1) > 0
