"""Orders of operators: a blocked, slowed or bounded host, a dropped queue, and a host that is tried at once."""

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from schemas import Event, PageFetched, PageIndexed, PageRemoved
from schemas.ids import page_id
from streams.crawl.urls import host_of
from streams.maintenance.frontier_hosts import change_order, due_hosts, view_host
from streams.maintenance.host_pages import remove_pages, restore_pages
from streams.pages.sandbox.pool import ParsePool
from streams.settings import CrawlSettings
from streams.stores.page_record import Fetched
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
    async with ParsePool(1) as started:
        yield started


async def store(journey: WholeJourney, url: str, body: str, at: int) -> list[Event]:
    """A page is fetched and handled, and its answer stands in its record. Returns the events."""
    events = await journey.fetch(url, body, at)
    fetched = events[0]
    assert isinstance(fetched, PageFetched)
    await journey.stores.pages.put(page_id(url), Fetched.of_event(fetched), fetched.generation)
    return events


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
