"""The counts of a crawl that the frontier keeps: exact whatever fails, and few writes."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from streams.crawl.frontier.crawl_marks import CrawlMarks
from streams.crawl.frontier.fence import Fence
from streams.errors import DeadlineExceeded, TransientError
from streams.stores.host_buckets import bucket_of
from streams.stores.memory import MemoryFrontier
from streams.stores.protocols import CRAWL_BUCKETS, CrawlCounts, CrawlState

HOSTS = [f"h{number}.example" for number in range(3)]
PAGES = [UUID(int=number) for number in range(40)]
STATES: tuple[CrawlState, ...] = ("queued", "fetched", "settled", "failed", "refused")


class Unsure(MemoryFrontier):
    """A store whose writes fail by chance: not done, done though they fail, or done only with the next write."""

    def __init__(self, rng: random.Random, probability: float = 0.0) -> None:
        super().__init__()
        self.rng, self.probability = rng, probability
        self.writes = self.reads = 0
        self._late: list[tuple[Any, ...]] = []

    async def states(self, crawl_id: str, bucket: int, page_ids: Any) -> dict[UUID, CrawlState]:
        self.reads += 1
        return await super().states(crawl_id, bucket, page_ids)

    async def put_states(
        self, crawl_id: str, bucket: int, states: Mapping[UUID, CrawlState], owner: str, counts: CrawlCounts
    ) -> None:
        await asyncio.sleep(0)
        self.writes += 1
        write = (crawl_id, bucket, dict(states), owner, counts)
        if self.rng.random() < self.probability:
            match self.rng.randrange(3):
                case 0:
                    await super().put_states(*write)
                case 1:
                    self._late.append(write)
            raise DeadlineExceeded("the store did not answer in time")
        await super().put_states(*write)
        late, self._late = self._late, []
        for former in late:
            await super().put_states(*former)

    def forget_late_writes(self) -> None:
        """Drop the writes that are not done yet: no store is that late."""
        self._late.clear()


class OpenFence(Fence):
    """The fence of a worker that owns every partition."""

    async def require(self, partition: int) -> None:
        return


def new_marks(store: MemoryFrontier, partitions: int = 1) -> CrawlMarks:
    ticks = iter(range(1_000_000_000))
    fence = OpenFence(store, "worker", lambda: 0)
    return CrawlMarks(store, fence, lambda: next(ticks), lambda: partitions)


async def rows_counted(store: MemoryFrontier) -> dict[CrawlState, int]:
    found: Counter[CrawlState] = Counter()
    for bucket in range(CRAWL_BUCKETS):
        found.update((await store.states("c", bucket, PAGES)).values())
    return dict(found)


async def test_states_that_come_during_a_write_are_written_together() -> None:
    store = Unsure(random.Random(1))
    marks = new_marks(store)
    await asyncio.gather(*(marks.mark("c", HOSTS[0], 0, {page: "queued"}) for page in PAGES))
    assert store.writes == 2, "the first one, and all others"
    assert await store.crawl_counts("c") == {"queued": len(PAGES)}


async def test_the_same_state_again_costs_nothing() -> None:
    store = Unsure(random.Random(1))
    marks = new_marks(store)
    for _ in range(3):
        await marks.mark("c", HOSTS[0], 0, dict.fromkeys(PAGES, "queued"))
    assert (store.writes, store.reads) == (1, 1)


async def test_a_new_process_counts_no_url_twice() -> None:
    store = Unsure(random.Random(1))
    for state in ("queued", "queued", "fetched", "fetched"):
        await new_marks(store).mark("c", HOSTS[0], 0, dict.fromkeys(PAGES[:7], state))
    assert await store.crawl_counts("c") == {"fetched": 7}


async def test_another_number_of_partitions_counts_no_url_twice() -> None:
    store = Unsure(random.Random(1))
    await new_marks(store, 1).mark("c", HOSTS[0], 0, dict.fromkeys(PAGES, "queued"))
    await new_marks(store, 8).mark("c", HOSTS[0], 5, dict.fromkeys(PAGES[:30], "settled"))
    assert await store.crawl_counts("c") == {"queued": 10, "settled": 30}


async def test_what_another_worker_wrote_is_read_after_a_reassignment() -> None:
    store = MemoryFrontier()
    first, second = new_marks(store), new_marks(store)
    await first.mark("c", HOSTS[0], 0, {PAGES[0]: "queued"})
    await second.mark("c", HOSTS[0], 0, {PAGES[0]: "settled", PAGES[1]: "queued"})
    first.forget()
    await first.mark("c", HOSTS[0], 0, {PAGES[1]: "settled"})
    assert await store.crawl_counts("c") == {"settled": 2}


async def test_a_url_of_no_crawl_has_no_state() -> None:
    store = Unsure(random.Random(1))
    await new_marks(store).mark("", HOSTS[0], 0, {PAGES[0]: "queued"})
    assert store.writes == 0


@pytest.mark.parametrize("seed", range(20))
async def test_counts_are_those_of_the_rows_whatever_fails(seed: int) -> None:
    """Events change states side by side. One that fails is tried again, and now and then a new process goes on."""
    rng = random.Random(seed)
    store = Unsure(rng, probability=0.3)
    holder = [new_marks(store)]

    async def event(page: UUID, state: CrawlState) -> None:
        host = HOSTS[page.int % len(HOSTS)]
        while True:
            try:
                return await holder[0].mark("c", host, 0, {page: state})
            except TransientError:
                await asyncio.sleep(0)

    for _ in range(15):
        pages = rng.sample(PAGES, 8)
        await asyncio.gather(*(event(page, rng.choice(STATES)) for page in pages))
        if rng.random() < 0.3:
            store.forget_late_writes()
            holder[0] = new_marks(store)
    store.probability = 0.0
    await asyncio.gather(*(event(page, "settled") for page in PAGES))
    assert await store.crawl_counts("c") == await rows_counted(store) == {"settled": len(PAGES)}
    assert {bucket_of(host) % CRAWL_BUCKETS for host in HOSTS} <= set(range(CRAWL_BUCKETS))
