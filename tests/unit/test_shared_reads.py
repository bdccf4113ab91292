"""Reads that events share: each caller sees what was written before its call."""

import asyncio
from uuid import UUID, uuid4

import pytest

from streams.errors import StoreUnavailable
from streams.grouped_calls import SharedReads
from streams.stores.memory import MemoryPages
from streams.stores.page_record import Normalized, PageRecord

PAGE = uuid4()


class SlowPages(MemoryPages):
    """A store whose reads show what was stored when they began, and end when they may."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.may_end = asyncio.Event()
        self.fails = False

    async def get(self, page_id: UUID) -> PageRecord:
        self.reads += 1
        found = await super().get(page_id)
        await self.may_end.wait()
        if self.fails:
            raise StoreUnavailable("the store is down")
        return found

    async def read_again(self, generation: int) -> None:
        await self.put(PAGE, Normalized.of_row({"url": "https://a.example/", "generation": generation}), generation)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_calls_for_one_page_that_come_together_share_a_read() -> None:
    pages = SlowPages()
    pages.may_end.set()
    reads = SharedReads(pages.get)
    await pages.read_again(3)
    records = await asyncio.gather(*(reads.get(PAGE) for _ in range(5)), reads.get(uuid4()))
    assert [record.normalized.generation for record in records] == [3, 3, 3, 3, 3, -1]
    assert pages.reads == 2


async def test_a_call_never_gets_the_answer_of_a_read_that_began_before_it() -> None:
    pages = SlowPages()
    reads = SharedReads(pages.get)
    first = asyncio.create_task(reads.get(PAGE))
    await turns()
    await pages.read_again(4)
    second = asyncio.create_task(reads.get(PAGE))
    await turns()
    pages.may_end.set()
    assert ((await first).normalized.generation, (await second).normalized.generation) == (-1, 4)


async def test_a_failed_read_fails_for_each_caller_and_the_next_call_reads_again() -> None:
    pages = SlowPages()
    pages.may_end.set()
    pages.fails = True
    reads = SharedReads(pages.get)
    failures = await asyncio.gather(reads.get(PAGE), reads.get(PAGE), return_exceptions=True)
    assert [type(failure) for failure in failures] == [StoreUnavailable] * 2
    pages.fails = False
    assert (await reads.get(PAGE)).normalized.generation == -1


async def test_a_caller_that_is_cancelled_takes_the_answer_from_nobody() -> None:
    pages = SlowPages()
    reads = SharedReads(pages.get)
    gone, waits = asyncio.create_task(reads.get(PAGE)), asyncio.create_task(reads.get(PAGE))
    await turns()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    pages.may_end.set()
    assert (await waits).normalized.generation == -1
    assert pages.reads == 1
