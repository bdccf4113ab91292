"""The interval between two reads of a crawl's progress."""

from uuid import UUID

from streams.crawl.frontier.progress import CrawlProgress, ProgressReader
from streams.stores.memory import MemoryFrontier
from streams.stores.opener import Stores
from streams.stores.protocols import CrawlCounts, CrawlState


class SlowFrontier(MemoryFrontier):
    """A store whose count of a crawl takes some time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.now, self.reads = seconds, 100.0, 0

    async def crawl_counts(self, crawl_id: str) -> dict[CrawlState, int]:
        self.now += self.seconds
        self.reads += 1
        return await super().crawl_counts(crawl_id)


async def reads_in_a_minute(seconds: float, state: CrawlState) -> int:
    store = SlowFrontier(seconds)
    await store.put_states("c", 0, {UUID(int=1): state}, "0/1", CrawlCounts({state: 1}, 1))
    reader = ProgressReader(Stores(frontier=store), "c", lambda: store.now)
    while store.now < 160:
        assert (await reader.read()).discovered == 1
        store.now += 0.5
    return store.reads


async def test_reads_take_a_small_share_of_the_time() -> None:
    assert 20 <= await reads_in_a_minute(0.01, "queued") <= 31
    assert await reads_in_a_minute(1.0, "queued") <= 4


async def test_a_crawl_that_seems_to_be_done_is_always_read_again() -> None:
    assert await reads_in_a_minute(0.01, "settled") > 100


async def test_before_the_first_url_all_counts_are_zero() -> None:
    store = SlowFrontier(0.01)
    assert await ProgressReader(Stores(frontier=store), "c", lambda: store.now).read() == CrawlProgress()
