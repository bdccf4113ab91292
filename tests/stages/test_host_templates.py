"""What a host repeats, through the normalize stage: who is judged by whom, and that a second delivery is the first."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from schemas import Envelope, Event, PageFetched, PageNormalized
from schemas.ids import page_id
from streams.errors import StoreUnavailable
from streams.pages.agent import NormalizeAgent
from streams.pages.content.host_boilerplate import MIN_PAGES, block_hash
from streams.pages.content.host_samples import FRESH_SECONDS, HostTemplates
from streams.pages.document.codec import decode_document
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Delivery
from streams.stores.memory import MemoryBlobs, MemoryHostPages, MemoryPages
from streams.stores.opener import Stores
from streams.stores.protocols import HostPage

HOST = "shop.example"
OFFER = "Join our club today and get ten percent off your first order above fifty."
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


class Sample(MemoryHostPages):
    """Counts how often it is read, and may be away."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.away = False

    async def sample(self, host: str) -> list[HostPage]:
        self.reads += 1
        return await super().sample(host)

    async def put(self, page: HostPage, at: int) -> None:
        if self.away:
            raise StoreUnavailable("the sample is away")
        await super().put(page, at)


class Shop:
    """A host, and the stage that reads it."""

    def __init__(self, pool: ParsePool) -> None:
        self.sample = Sample()
        self.stores = Stores(blobs=MemoryBlobs(), pages=MemoryPages(), host_pages=self.sample)
        self.pool = pool
        self.now = 0.0
        self.restart()

    def restart(self) -> None:
        """Another process takes over: it remembers nothing."""
        self.agent = NormalizeAgent(self.stores, self.pool, HostTemplates(self.sample, lambda: self.now))

    async def fetched(self, number: int, *, offer: str = OFFER, day: int = 0, own: str = "") -> Delivery:
        text = f"Page {number} {own} says something of its own about its subject, and takes some room to say it. " * 4
        url = f"https://{HOST}/page/{number}"
        event = PageFetched.model_validate(
            {
                "page_id": page_id(url),
                "url": url,
                "host": HOST,
                "outcome": "ok",
                "generation": day + 1,
                "crawl_id": "c1",
                "body_ref": await self.stores.blobs.put(f"<main><p>{text}</p><p>{offer}</p></main>".encode()),
            }
        )
        time = START + timedelta(days=day, seconds=number)
        envelope = Envelope(id=UUID(int=number), type=event.event_type(), source="/test", time=time)
        return Delivery(event, envelope, event.topic, 0, 0)

    async def handle(self, number: int, **fields: Any) -> list[Event]:
        return list(await self.agent.handle(await self.fetched(number, **fields)))

    async def filled(self, pages: int = 30) -> "Shop":
        for number in range(pages):
            await self.handle(number)
        return self

    async def texts(self, events: list[Event]) -> list[str]:
        (normalized,) = (event for event in events if isinstance(event, PageNormalized))
        return [block.text for block in decode_document(await self.stores.blobs.get(normalized.document_ref)).blocks]

    async def record(self, number: int) -> dict[str, Any]:
        return (await self.stores.pages.get(page_id(f"https://{HOST}/page/{number}")))["normalized"]


@pytest.fixture
async def shop(pool: ParsePool) -> Shop:
    return await Shop(pool).filled()


async def test_what_all_pages_repeat_goes_once_enough_pages_are_known(pool: ParsePool) -> None:
    shop = Shop(pool)
    kept = [OFFER in await shop.texts(await shop.handle(number)) for number in range(2 * MIN_PAGES)]
    others = [len({page_id(f"https://{HOST}/page/{n}").int % 32 for n in range(number)}) for number in range(len(kept))]
    assert kept == [count < MIN_PAGES for count in others]  # pages that share a slot count once
    assert (await shop.record(2 * MIN_PAGES - 1))["template"] == [block_hash(OFFER)]


async def test_a_hosts_sample_is_read_once_and_kept_up_to_date(shop: Shop) -> None:
    assert shop.sample.reads == 1
    shop.now += FRESH_SECONDS / 2
    assert OFFER not in await shop.texts(await shop.handle(99))
    assert shop.sample.reads == 1
    shop.now += FRESH_SECONDS / 2
    await shop.handle(98)
    assert shop.sample.reads == 2


async def test_the_same_page_again_and_again_is_one_page(pool: ParsePool) -> None:
    shop = Shop(pool)
    for day in range(2 * MIN_PAGES):
        assert OFFER in await shop.texts(await shop.handle(1, day=day, own=f"on day {day}"))
    assert len(await shop.sample.sample(HOST)) == 1


async def everything(shop: Shop) -> tuple[Any, ...]:
    return [await shop.record(50)], await shop.sample.sample(HOST)


async def test_a_second_delivery_changes_nothing_whatever_the_host_says_meanwhile(pool: ParsePool) -> None:
    shop = await Shop(pool).filled()
    delivery = await shop.fetched(50)
    first = await shop.agent.handle(delivery)
    assert OFFER not in await shop.texts(list(first))
    for number in range(30):
        await shop.handle(number, offer="Another offer, of which the same may be said as of the first.", day=1)
    before = await everything(shop)
    shop.restart()
    assert await shop.agent.handle(delivery) == first
    assert await everything(shop) == before


async def test_a_crash_between_the_writes_leaves_what_an_undisturbed_run_leaves(pool: ParsePool) -> None:
    disturbed, undisturbed = await Shop(pool).filled(), await Shop(pool).filled()
    delivery = await disturbed.fetched(50)
    disturbed.sample.away = True
    with pytest.raises(StoreUnavailable):
        await disturbed.agent.handle(delivery)
    disturbed.sample.away = False
    disturbed.restart()
    assert await disturbed.agent.handle(delivery) == await undisturbed.handle(50)
    assert await everything(disturbed) == await everything(undisturbed)


async def test_the_same_body_stays_the_same_document_and_another_is_judged_anew(pool: ParsePool) -> None:
    shop = Shop(pool)
    first = await shop.texts(await shop.handle(0))
    await shop.filled()
    assert OFFER in first
    assert await shop.texts(await shop.handle(0, day=1)) == first
    assert OFFER not in await shop.texts(await shop.handle(0, day=2, own="now"))


async def test_turned_off_nothing_is_read_or_kept(pool: ParsePool) -> None:
    shop = Shop(pool)
    shop.agent = NormalizeAgent(shop.stores, pool)
    await shop.filled()
    assert await shop.sample.sample(HOST) == []
    assert "template" not in await shop.record(0)
