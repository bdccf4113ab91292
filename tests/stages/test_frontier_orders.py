"""Orders of operators: a blocked, slowed or bounded host, a dropped queue, and a host that is tried at once."""

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from schemas import (
    Event,
    PageChunked,
    PageDeduplicated,
    PageEmbedded,
    PageFetched,
    PageIndexed,
    PageNormalized,
    PageRemoved,
)
from schemas.ids import page_id
from streams.crawl.cancelled import cancel_crawl
from streams.crawl.frontier.host_caches import ORDERS_SECONDS
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.urls import host_of
from streams.maintenance.frontier_hosts import change_order, due_hosts, view_host
from streams.maintenance.host_pages import SETTLING_SECONDS, HostProgress, Send, remove_pages, restore_pages
from streams.pages.sandbox.pool import ParsePool
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from streams.stores.page_record import Fetched
from streams.stores.protocols import ALL_HOSTS, HostOrder
from tests.inline_sandbox import inline_parse_pool
from tests.stages.frontier_world import SECOND, START, Site, World
from tests.stages.test_unchanged_and_removed_pages import BODY, OTHER
from tests.stages.whole_journey import START as JOURNEY_START
from tests.stages.whole_journey import WholeJourney

HOST = "a.example"
HOUR = 3_600 * SECOND


def world(pages: int = 5, **fields: Any) -> World:
    paths = [f"/{n}" for n in range(pages)]
    links = {"/": [f"https://{HOST}{path}" for path in paths], **{path: list[str]() for path in paths}}
    web = World({HOST: Site(links=links, **fields)}, CrawlSettings(delay_seconds=1), seed=1, kill_probability=0)
    web.seed(f"https://{HOST}/")
    return web


async def test_a_blocked_host_is_asked_for_nothing_and_keeps_its_queue() -> None:
    web = world()
    await change_order(web.frontier_store, HOST, web.now, blocked=True, note="a test")
    await web.run(hours=2)
    assert not web.fetches[HOST]
    view = await view_host(web.frontier_store, HOST, web.now)
    assert view is not None
    assert (view.state, view.waiting, view.order.note) == ("blocked", 1, "a test")
    await change_order(web.frontier_store, HOST, web.now, blocked=False)
    await web.run(hours=1)
    assert len(web.pages()) == 6


@pytest.mark.parametrize("name", [HOST, ALL_HOSTS])
async def test_a_paused_crawl_is_resumed_where_it_was(name: str) -> None:
    web = world(pages=40)
    await web.run(hours=0.002)
    await change_order(web.frontier_store, name, web.now, paused=True)
    await web.run(hours=0.01)
    asked = len(web.fetches[HOST])
    assert 0 < asked < 30, "the order is seen within seconds"
    await web.run(hours=2)
    assert len(web.fetches[HOST]) == asked
    await change_order(web.frontier_store, name, web.now, paused=False)
    await web.run(hours=1)
    assert len(web.pages()) == 41


async def test_a_delay_holds_beside_the_one_of_robots() -> None:
    for robots, seconds in ((None, 60), ("User-agent: *\nCrawl-delay: 90\n", 90)):
        web = world(robots=robots)
        await change_order(web.frontier_store, HOST, web.now, delay_seconds=60)
        await web.run()
        times = [begin for begin, _, url in web.fetches[HOST] if not url.endswith("robots.txt")]
        assert min(later - before for before, later in itertools.pairwise(times)) >= seconds * SECOND


async def test_a_budget_bounds_each_crawl() -> None:
    web = world()
    await change_order(web.frontier_store, HOST, web.now, max_pages=3)
    await web.run()
    assert len(web.pages()) == 3


async def test_a_purged_queue_is_dropped_and_may_be_filled_again() -> None:
    web = world(pages=50)
    await web.run(hours=10 / 3_600)
    fetched = len(web.pages())
    await change_order(web.frontier_store, HOST, web.now, purged_at=web.now)
    await web.run(hours=1)
    assert len(web.pages()) <= fetched + 6
    web.seed(f"https://{HOST}/49")
    await web.run(hours=1)
    assert web.pages()[-1] == f"https://{HOST}/49"


async def test_a_cancelled_crawl_asks_for_nothing_more_and_another_crawl_does() -> None:
    web = world(pages=50)
    await web.run(hours=10 / 3_600)
    fetched = len(web.pages())
    assert fetched
    await cancel_crawl(web.notes, "c")
    await web.run(hours=1)
    assert len(web.pages()) <= fetched + 6, "requests under way end, and the workers follow within seconds"
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert progress.answered
    assert progress.refused > 30
    web.seed(f"https://{HOST}/49", crawl_id="two")
    await web.run(hours=1)
    assert web.pages()[-1] == f"https://{HOST}/49"


async def test_a_deferred_host_is_tried_at_once_when_a_person_asks() -> None:
    web = world(outages=[(START, START + HOUR // 6)])
    await web.run(hours=0.1)
    web.now = START + HOUR // 4  # the world goes on to the next visit at once
    view = await view_host(web.frontier_store, HOST, web.now)
    assert view is not None
    assert view.state == "deferred"
    assert view.next_at is not None
    assert view.next_at > web.now + 60 * SECOND
    asked = web.now
    web.seed_ahead(f"https://{HOST}/1")
    await web.run(hours=0.05)
    first = next(at for at, _, url in web.fetches[HOST] if at >= asked and url.endswith("/1"))
    assert first - asked < 30 * SECOND


async def test_the_hosts_that_wait_are_listed_by_time() -> None:
    web = world()
    await web.run(hours=3 / 3_600)
    assert [host for host, _ in await due_hosts(web.frontier_store)] == [HOST]


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


async def store(journey: WholeJourney, url: str, body: str, at: int) -> list[Event]:
    """A page is fetched and handled, and its answer stands in its record. Returns the events."""
    events = await journey.fetch(url, body, at)
    fetched = events[0]
    assert isinstance(fetched, PageFetched)
    await journey.stores.pages.put(page_id(url), Fetched.of_event(fetched), fetched.generation)
    return events


class Blocking:
    """An operator blocks and unblocks the host a.test while the stages work."""

    def __init__(self, journey: WholeJourney) -> None:
        self._journey = journey
        self._stores = journey.stores

    async def block(self, at: int) -> None:
        now = JOURNEY_START + at * SECOND
        order = await change_order(self._stores.frontier, "a.test", now, blocked=True, note="a test")
        await self.remove(at, order)

    async def remove(self, at: int, order: HostOrder) -> None:
        now = JOURNEY_START + at * SECOND
        await self._send_all(remove_pages(self._stores.pages, "a.test", now, order.block_reason, self._send(at)))

    async def unblock(self, at: int) -> list[str]:
        """Returns the pages that come back."""
        now = JOURNEY_START + at * SECOND
        await change_order(self._stores.frontier, "a.test", now, blocked=False)
        self.handled: list[Event] = []
        await self._send_all(restore_pages(self._stores.pages, "a.test", now, self._send(at)))
        return sorted(event.url for event in self.handled if isinstance(event, PageIndexed))

    def _send(self, at: int) -> Send:
        async def send(events: Sequence[Event]) -> None:
            for event in events:
                self.handled.extend(await self._journey.handle(event, at))

        self.handled = []
        return send

    async def _send_all(self, job: AsyncIterator[HostProgress]) -> None:
        _ = [one async for one in job]

    def fetched(self, url: str, body_ref: str, micros: int, source: str = "crawl") -> PageFetched:
        fields = {"url": url, "host": host_of(url), "outcome": "ok", "status": 200, "body_ref": body_ref}
        return PageFetched(page_id=page_id(url), generation=JOURNEY_START + micros, source=source, **fields)

    async def is_indexed(self, url: str) -> bool:
        record = await self._stores.pages.get(page_id(url))
        stored = self._stores.vectors
        found = [await stored.count(name, page_id(url)) for name in await stored.collections()]
        assert any(found) == (record.indexed.generation > record.removed.generation)
        return any(found)


ARRIVALS = (PageFetched, PageNormalized, PageDeduplicated, PageChunked, PageEmbedded)


@pytest.mark.parametrize("after", [-10 * SECOND, -1, 0, 1, SECOND // 5, HOUR], ids=lambda after: f"{after} us")
@pytest.mark.parametrize("stage", ARRIVALS, ids=lambda stage: stage.__name__)
async def test_a_page_on_its_way_while_its_host_is_blocked_does_not_get_in(
    pool: ParsePool, stage: type[Event], after: int
) -> None:
    """The host is blocked between two stages. The fetch is older or newer than the order, by the clocks."""
    journey = WholeJourney(pool)
    operator, url = Blocking(journey), "https://a.test/1"
    ref = await journey.stores.blobs.put(BODY.encode())
    event = operator.fetched(url, ref, 60 * SECOND + after)
    await journey.stores.pages.put(page_id(url), Fetched.of_event(event), event.generation)
    await journey.handle(event, 60, (stage, lambda: operator.block(60)))
    assert not await operator.is_indexed(url)
    await journey.handle(event, 70)  # a redelivery
    assert not await operator.is_indexed(url)
    assert await operator.unblock(7_200) == [url]
    assert await operator.is_indexed(url)


async def test_a_page_that_passes_before_a_worker_follows_the_block_leaves_the_index(pool: ParsePool) -> None:
    """A worker reads the orders every few seconds. Who blocks a host waits for that before it looks for pages."""
    journey = WholeJourney(pool)
    operator, url = Blocking(journey), "https://a.test/1"
    await store(journey, "https://b.test/", OTHER, 60)  # the worker reads the orders
    now = JOURNEY_START + 61 * SECOND
    order = await change_order(journey.stores.frontier, "a.test", now, blocked=True, note="a test")
    await store(journey, url, BODY, 60 + ORDERS_SECONDS - 1)
    assert await operator.is_indexed(url), "the worker follows the orders that it has read"
    await operator.remove(61 + SETTLING_SECONDS, order)
    assert not await operator.is_indexed(url)
    for at in (60 + ORDERS_SECONDS, 61 + SETTLING_SECONDS):
        await store(journey, url, BODY, at)
        assert not await operator.is_indexed(url)


@pytest.mark.parametrize("source", ["crawl", "warc", "html"])
async def test_a_page_that_comes_while_its_host_is_blocked_does_not_get_in(pool: ParsePool, source: str) -> None:
    journey = WholeJourney(pool)
    operator, known, url = Blocking(journey), "https://a.test/known", "https://a.test/1"
    await store(journey, known, OTHER, 0)
    await operator.block(60)
    ref = await journey.stores.blobs.put(BODY.encode())
    event = operator.fetched(url, ref, 90 * SECOND, source)
    if source == "crawl":
        await journey.stores.pages.put(page_id(url), Fetched.of_event(event), event.generation)
    for _ in range(2):
        removed = await journey.handle(event, 90)
        assert [one.detail for one in removed if isinstance(one, PageRemoved)] == ["the host is blocked: a test"]
        assert not await operator.is_indexed(url)
    assert await operator.unblock(120) == [url, known]
    await journey.handle(event, 150)
    assert await operator.is_indexed(url)
    assert await operator.is_indexed(known)


@pytest.mark.parametrize("refused_at", [30, 90])
async def test_a_page_that_robots_forbid_does_not_come_back_with_its_host(pool: ParsePool, refused_at: int) -> None:
    journey = WholeJourney(pool)
    allowed, forbidden = "https://a.test/1", "https://a.test/2"
    for url, body in ((allowed, BODY), (forbidden, OTHER)):
        await store(journey, url, body, 0)

    async def block(at: int) -> None:
        async def send(events: Sequence[Event]) -> None:
            for event in events:
                await journey.handle(event, at)

        now = JOURNEY_START + at * SECOND
        _ = [one async for one in remove_pages(journey.stores.pages, "a.test", now, "blocked", send)]

    async def unblock(at: int) -> list[str]:
        handled: list[Event] = []

        async def send(events: Sequence[Event]) -> None:
            for event in events:
                handled.extend(await journey.handle(event, at))

        _ = [one async for one in restore_pages(journey.stores.pages, "a.test", JOURNEY_START + at * SECOND, send)]
        return sorted(event.url for event in handled if isinstance(event, PageIndexed))

    for at, act in sorted([(refused_at, "refuse"), (60, "block")]):
        await (block(at) if act == "block" else journey.remove(forbidden, at, "refused"))
    assert await unblock(300) == [allowed]
    await store(journey, forbidden, OTHER, 600)  # robots.txt allows it again
    await block(660)
    assert await unblock(900) == [allowed, forbidden]


async def test_the_pages_of_a_blocked_host_leave_the_index_and_come_back_without_a_crawl(pool: ParsePool) -> None:
    journey = WholeJourney(pool)
    urls = ("https://a.test/1", "https://b.test/1")
    for url, body in zip(urls, (BODY, OTHER), strict=True):
        assert isinstance((await store(journey, url, body, 0))[-1], PageIndexed)
    handled: list[Event] = []

    async def send(events: Sequence[Event]) -> None:
        for event in events:
            handled.extend(await journey.handle(event, 60))

    now = JOURNEY_START + 60 * SECOND
    last = [one async for one in remove_pages(journey.stores.pages, "a.test", now, "blocked", send)][-1]
    assert (last.share, last.pages) == (1.0, 1)
    removed = [event for event in handled if isinstance(event, PageRemoved)]
    assert [(event.url, event.reason) for event in removed] == [(urls[0], "blocked")]
    handled.clear()
    last = [one async for one in restore_pages(journey.stores.pages, "a.test", now + HOUR, send)][-1]
    assert last.pages == 1
    indexed = [event for event in handled if isinstance(event, PageIndexed)]
    assert [host_of(event.url) for event in indexed] == ["a.test"]
