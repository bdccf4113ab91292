"""The reads of a page that its events share: one for a moment and a generation, and none from before a loss."""

import asyncio
from functools import partial
from uuid import UUID, uuid4
from weakref import WeakSet

import pytest

from streams.errors import StoreUnavailable
from streams.links.stored_links import MAX_BYTES, MAX_PAGES, MOMENT_SECONDS, Stored, StoredLinks
from streams.stores.memory import MemoryPages
from streams.stores.page_record import PageRecord
from streams.stores.protocols import LinkGroup

PAGE = uuid4()


class Counting(MemoryPages):
    """A store that counts reads, and may be down."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.is_down = False

    async def get_with_links(self, page_id: UUID) -> Stored:
        self.reads += 1
        if self.is_down:
            raise StoreUnavailable("the store is down")
        return await super().get_with_links(page_id)


class Reader:
    """A reader with a clock that stands still."""

    def __init__(self) -> None:
        self.pages, self.now = Counting(), 0.0
        self.stored = StoredLinks(self.pages, lambda: self.now)


async def test_events_of_one_generation_share_a_read_for_a_moment() -> None:
    reader = Reader()
    await asyncio.gather(*(reader.stored.get_of(PAGE, 1) for _ in range(3)))
    await reader.stored.get_of(PAGE, 1)
    assert reader.pages.reads == 1
    await reader.stored.get_of(PAGE, 2)
    assert reader.pages.reads == 2, "the links of another generation were stored later"
    reader.now += MOMENT_SECONDS
    await reader.stored.get_of(PAGE, 2)
    assert reader.pages.reads == 3


async def test_nothing_is_shared_after_a_loss_a_move_or_a_failure() -> None:
    reader = Reader()
    for forget in (partial(reader.stored.forget, PAGE), reader.stored.forget_all):
        await reader.stored.get_of(PAGE, 1)
        reader.pages.reads = 0
        forget()
        await reader.stored.get_of(PAGE, 1)
        assert reader.pages.reads == 1
    reader.stored.forget_all()
    reader.pages.is_down = True
    with pytest.raises(StoreUnavailable):
        await reader.stored.get_of(PAGE, 1)
    reader.pages.is_down = False
    await reader.stored.get_of(PAGE, 1)


async def test_links_that_no_stage_stored_before_are_read_each_time() -> None:
    reader = Reader()
    await reader.stored.get_of(PAGE, 1)
    await reader.stored.get(PAGE)
    assert reader.pages.reads == 2


class Longest(LinkGroup):
    """A group of links that a set can watch."""


class Hostile(Counting):
    """A store whose pages use all that they may: 5,000 links, each to another host, with the longest URLs."""

    def __init__(self) -> None:
        super().__init__()
        self.in_memory: WeakSet[Longest] = WeakSet()
        """The first group of each page that somebody holds."""

    async def get_with_links(self, page_id: UUID) -> Stored:
        self.reads += 1
        groups = [Longest((f"https://{number}.test/{self.reads}".ljust(2_048, "a"),), 1) for number in range(5_000)]
        self.in_memory.add(groups[0])
        return PageRecord({}), list(groups)


async def test_reads_of_hostile_pages_have_a_bound_in_memory_and_are_shared() -> None:
    pages, now = Hostile(), 0.0
    stored = StoredLinks(pages, lambda: now)
    for number in range(8):
        page = UUID(int=number)
        await asyncio.gather(*(stored.get_of(page, 1) for _ in range(3)))
        await stored.get_of(page, 1)
        await asyncio.sleep(0)
        assert pages.reads == number + 1, "each of its events reads 10 MB otherwise"
        assert 0 < len(pages.in_memory) * 5_000 * 2_048 <= MAX_BYTES
    now = 2 * MOMENT_SECONDS
    await stored.get_of(PAGE, 1)
    await asyncio.sleep(0)
    assert len(pages.in_memory) == 1, "the reads of the moment before have left the memory"


async def test_a_read_that_nobody_waits_for_any_more_has_a_size_too() -> None:
    pages = Hostile()
    stored = StoredLinks(pages, lambda: 0.0)
    for number in range(8):
        waiting = asyncio.create_task(stored.get_of(UUID(int=number), 1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        for _ in range(3):
            await asyncio.sleep(0)
    del waiting
    assert pages.reads == 8
    assert 0 < len(pages.in_memory) * 5_000 * 2_048 <= MAX_BYTES < MAX_PAGES * 5_000 * 2_048
