"""A worker checks its partitions once for all that wait, and all of them hear of a loss."""

import asyncio

import pytest

from streams.crawl.frontier.fence import CHECK_MICROS, Fence, LostPartition
from streams.stores.memory import MemoryFrontier
from streams.stores.protocols import PartitionOwner


class SlowFrontier(MemoryFrontier):
    """A store that counts the questions for owners, and answers them when `answers` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.answers = asyncio.Event()
        self.answers.set()

    async def owners(self) -> dict[int, PartitionOwner]:
        self.asked += 1
        await self.answers.wait()
        return await super().owners()


class World:
    """A fence of partition 3, and a clock (microseconds)."""

    def __init__(self) -> None:
        self.now = 10 * CHECK_MICROS
        self.store = SlowFrontier()
        self.fence = Fence(self.store, "first", lambda: self.now)

    async def claim(self) -> None:
        """Claim the partition. The next question has to wait for its answer."""
        await self.fence.claim(3)
        self.store.asked = 0
        self.store.answers.clear()
        self.now += CHECK_MICROS

    async def begin(self, count: int) -> list[asyncio.Task[None]]:
        """Begin to require the partition. Returns when all of them wait."""
        tasks = [asyncio.create_task(self.fence.require(3)) for _ in range(count)]
        for _ in range(3):
            await asyncio.sleep(0)
        return tasks


async def test_all_that_wait_at_the_same_time_share_a_check() -> None:
    world = World()
    await world.claim()
    waiting = await world.begin(20)
    world.store.answers.set()
    await asyncio.gather(*waiting)
    await world.fence.require(3)
    assert world.store.asked == 1


async def test_all_that_wait_hear_of_a_lost_partition_and_so_does_the_next_task() -> None:
    world = World()
    await world.claim()
    waiting = await world.begin(5)
    await world.store.put_owner(PartitionOwner(3, "second", world.now))
    world.store.answers.set()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(answer) for answer in answers} == {LostPartition}
    with pytest.raises(LostPartition):
        await world.fence.require(3)


async def test_one_check_is_for_all_partitions_of_a_worker() -> None:
    world = World()
    await world.fence.claim(4)
    await world.claim()
    await world.store.put_owner(PartitionOwner(4, "second", world.now))
    world.store.answers.set()
    answers = await asyncio.gather(*map(world.fence.require, (3, 4)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [type(None), LostPartition]
    assert world.store.asked == 1


async def test_a_check_that_began_too_long_ago_counts_for_none_that_comes_later() -> None:
    world = World()
    await world.claim()
    early = await world.begin(2)
    world.now += CHECK_MICROS
    late = await world.begin(2)
    assert world.store.asked == 2
    world.store.answers.set()
    await asyncio.gather(*early, *late)


async def test_one_that_is_cancelled_leaves_the_check_to_the_others() -> None:
    world = World()
    await world.claim()
    leaving, *staying = await world.begin(3)
    leaving.cancel()
    world.store.answers.set()
    await asyncio.gather(*staying)
    assert leaving.cancelled()
    assert world.store.asked == 1


async def test_a_partition_without_a_claim_may_not_be_written() -> None:
    world = World()
    with pytest.raises(LostPartition):
        await world.fence.require(3)
    await world.claim()
    world.fence.keep(frozenset())
    with pytest.raises(LostPartition):
        await world.fence.require(3)
    assert world.store.asked == 0
