"""Rows of a busy host wait for those of later events, and are one write. An event ends when its rows are written."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Event, PageFetched, PageSettled
from schemas.ids import event_id, page_id
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.frontier.hosts.gathering import MAX_WAITING, Gathering
from streams.crawl.frontier.hosts.unwritten import NotWritten, UnwrittenRows
from streams.crawl.frontier.progress import crawl_progress
from streams.errors import PoisonError
from streams.runtime.agent import Delivery
from streams.runtime.records import Incoming, encode, order_key
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryFrontier, MemoryHostLinks, MemoryNotes
from streams.stores.opener import Stores
from streams.stores.protocols import HostRows
from streams.topology import stage
from tests.frontier_rows import stored_url
from tests.stages.frontier_world import START, CrawlOptions, Killed, Site, World, delivery, discovered
from tests.stages.gateway_life import fetched
from tests.stages.test_frontier_simulation import SETTINGS, assert_complete, web

HOST = "a.example"
PAGES = 12


class GatheringWorld(World):
    """A world whose events stay open while their rows wait. They end by chance, and when nothing else happens."""

    max_gathering_seconds = 3_600.0
    end_probability = 0.1

    def __init__(self, *args: Any, **fields: Any) -> None:
        self._open: dict[asyncio.Task[None], tuple[Event, UUID]] = {}
        super().__init__(*args, **fields)

    def _new_agent(self) -> FrontierAgent:
        for task, event in self._open.items():  # nobody has acknowledged them
            task.cancel()
            self.inputs.append(event)
        self._open.clear()
        return super()._new_agent()

    def _end_waiting(self) -> bool:
        self.end_waiting()
        return bool(self._open)

    def end_waiting(self) -> None:
        for is_on in (True, False):
            self.agent.hurry(is_on=is_on)

    async def _consume(self, batch: list[tuple[Event, UUID]]) -> None:
        if self.rng.random() < self.end_probability:
            self.end_waiting()
        for event in batch:
            self._open[asyncio.create_task(self._consume_key([event]))] = event
        gathering = self.agent.state.hosts.gathering
        while len([task for task in self._open if not task.done()]) > gathering._waiting:
            await asyncio.sleep(0)
        ended = [task for task in self._open if task.done()]
        for task in ended:
            del self._open[task]
        if any(isinstance(task.exception(), Killed) for task in ended) or self._process.dead:
            raise Killed


@pytest.mark.parametrize(
    ("seed", "kill_probability", "flaky"),
    [
        pytest.param(1, 0.0, 0.0, marks=pytest.mark.night),
        pytest.param(2, 0.002, 0.0, marks=pytest.mark.night),
        (3, 0.002, 0.01),  # all at once
    ],
    ids=lambda value: f"{value}",
)
async def test_a_crawl_whose_rows_wait_is_complete_though_its_worker_is_killed(
    seed: int, kill_probability: float, flaky: float
) -> None:
    world = GatheringWorld(web(), SETTINGS, seed, kill_probability, flaky)
    world.seed("https://h0.example/0")
    await world.run()
    assert bool(world.kills) == bool(kill_probability)
    await assert_complete(world)


class SettlingWorld(GatheringWorld):
    """A world whose pages are settled with their links. Rows wait as long as possible."""

    end_probability = 0.0

    async def _arrive(self, fetched: PageFetched, id_: UUID) -> None:
        await super()._arrive(fetched, id_)
        if fetched.purpose == "page" and fetched.outcome == "ok":
            settled = PageSettled.following(fetched, verdict="changed")
            self._send(settled, event_id(settled.event_type(), id_.hex, settled.key()))


class AtOnceWorld(SettlingWorld):
    """The same, and no row waits."""

    max_gathering_seconds = 0.0


async def writes_of_a_crawl(kind: type[World]) -> Counter[str]:
    """Crawl a host, each of whose pages links to the next two. Return the number of writes by table."""
    links = {f"/{n}": [f"https://{HOST}/{m}" for m in range(n + 1, min(n + 3, PAGES))] for n in range(PAGES)}
    world, writes = kind({HOST: Site(links=links)}, CrawlOptions(delay_seconds=1), 1, 0.0), Counter[str]()
    store: Any = world.frontier_store

    def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*arguments: Any) -> Any:
            writes[name] += 1
            return await method(*arguments)

        return call

    for name in ("write", "put_due", "put_states"):
        setattr(store, name, counted(name, getattr(store, name)))
    world.seed(f"https://{HOST}/0")
    await world.run()
    progress = await crawl_progress(Stores(frontier=world.frontier_store), "c")
    assert (progress.fetched, progress.done) == (PAGES, True)
    return writes


async def test_the_answer_the_end_and_the_links_of_pages_are_written_together() -> None:
    at_once, together = await writes_of_a_crawl(AtOnceWorld), await writes_of_a_crawl(SettlingWorld)
    assert at_once == {"write": 4 * PAGES + 1, "put_states": 3 * PAGES - 1, "put_due": 4}
    assert together["write"] <= PAGES + 8, "a lease is written with all that came since the last one"
    assert together["put_states"] <= PAGES
    assert together["put_due"] <= at_once["put_due"]


class RefusingFrontier(MemoryFrontier):
    """A store that refuses the row of one URL."""

    async def write(self, rows: HostRows) -> None:
        if any(url.url.endswith("/refused") for url in rows.urls):
            raise PoisonError("too large")
        await super().write(rows)


def links(name: str, **fields: Any) -> Delivery:
    return delivery(discovered(f"https://{HOST}/{name}", **fields), uuid4(), START)


def busy_agent(store: MemoryFrontier, seconds: float) -> FrontierAgent:
    stores = Stores(
        blobs=MemoryBlobs(),
        frontier=store,
        fingerprints=MemoryFingerprints(),
        host_links=MemoryHostLinks(),
        notes=MemoryNotes(),
    )
    agent = FrontierAgent(SETTINGS, stores, now=lambda: START, max_gathering_seconds=seconds)
    agent.dispatcher.assign(frozenset({0}))
    return agent


async def test_a_row_that_the_store_refuses_fails_its_own_event_alone() -> None:
    store = RefusingFrontier()
    agent = busy_agent(store, 0.05)
    await agent.handle(links("first"))  # the row of a new host is written at once
    deliveries = [links("refused"), links("other")]
    failures = await asyncio.gather(*map(agent.handle, deliveries), return_exceptions=True)
    assert [type(failure) for failure in failures] == [NotWritten, NotWritten], "nobody knows whose row it is"
    failures = await asyncio.gather(*map(agent.handle, deliveries), return_exceptions=True)
    assert [type(failure) for failure in failures] == [PoisonError, list]
    assert await stored_url(store, f"https://{HOST}/other")


@pytest.mark.parametrize("end", ["time", "hurry"])
async def test_an_event_of_a_busy_host_ends_when_its_rows_are_written(end: str) -> None:
    store = MemoryFrontier()
    agent = busy_agent(store, 0.05 if end == "time" else 3_600)
    await agent.handle(links("first"))
    event = asyncio.create_task(agent.handle(links("next")))
    await asyncio.sleep(0.01)
    assert not event.done()
    assert not await stored_url(store, f"https://{HOST}/next")
    if end == "hurry":
        agent.hurry(is_on=True)
        await agent.handle(links("last"))  # waits for nobody
    await event
    assert await stored_url(store, f"https://{HOST}/next")


async def test_rows_that_begin_to_wait_in_a_hurry_are_written_at_once() -> None:
    """An event that changed both kinds of rows waits for one after the other, and a worker that ends for all of it."""
    gathering, written = Gathering(3_600), list[UnwrittenRows]()
    both = [UnwrittenRows(), UnwrittenRows()]

    async def write(rows: UnwrittenRows) -> None:
        written.append(rows)
        rows.end()

    async def event() -> None:
        for rows in both:
            await gathering.wait(rows, partial(write, rows))

    waiting = asyncio.create_task(event())
    await asyncio.sleep(0)
    assert not written
    gathering.hurry(is_on=True)
    async with asyncio.timeout(5):
        await waiting
    assert written == both


async def test_a_lease_takes_the_urls_that_wait_and_leaves_their_states() -> None:
    store = MemoryFrontier()
    agent = busy_agent(store, 3_600)
    await agent.handle(links("first", crawl_id="c"))
    event = asyncio.create_task(agent.handle(links("next", crawl_id="c")))
    await asyncio.sleep(0.01)
    async with agent.state.hosts.lock(HOST, 0) as live:
        await agent.state.hosts.persist(live)
    assert await stored_url(store, f"https://{HOST}/next")
    await asyncio.sleep(0.01)
    assert not event.done(), "its states are not written"
    agent.hurry(is_on=True)
    await event


async def test_a_lease_takes_the_states_too_if_a_url_leaves_a_crawl() -> None:
    """A redelivery would not know the crawl any more that the URL has left, and that crawl would never end."""
    store = MemoryFrontier()
    agent = busy_agent(store, 3_600)
    await agent.handle(links("first", crawl_id="c"))
    of_other = links("first", crawl_id="d", why="seed", depth=0, force=True)
    event = asyncio.create_task(agent.handle(of_other))
    await asyncio.sleep(0.01)
    assert await store.crawl_counts("c") == {"queued": 1}
    async with agent.state.hosts.lock(HOST, 0) as live:
        await agent.state.hosts.persist(live)
    assert await store.crawl_counts("c") == {"seen": 1}
    assert await store.crawl_counts("d") == {"queued": 1}
    await event


def test_the_end_of_a_page_is_not_kept_behind_its_answer() -> None:
    """The answer to the last page of a host waits for the page's end, which would come too late behind it."""
    url, at = f"https://{HOST}/", datetime(2026, 1, 1, tzinfo=UTC)
    *_, answer = fetched(url)
    end = PageSettled(page_id=page_id(url), url=url, host=HOST, generation=1, verdict="changed")
    records = [encode(event, cause="test", source="test", time=at) for event in (answer, end)]
    incoming = [Incoming(each.topic, 0, 0, each.key, each.value, each.headers, 0.0) for each in records]
    assert len({order_key(stage("frontier"), each) for each in incoming}) == 2


@pytest.mark.parametrize("outstanding", [False, True])
async def test_the_end_of_a_page_waits_only_for_the_ends_of_other_pages(outstanding: bool) -> None:
    """A host of which nothing waits: the last end is written at once, with all that waited."""
    world = SettlingWorld({HOST: Site(links={"/": []})}, CrawlOptions(delay_seconds=1), 1, 0.0)
    hosts = world.agent.state.hosts
    world.seed(f"https://{HOST}/")
    await world.run()
    live = world.in_memory(HOST)
    assert live
    live.answers.urls = {UUID(int=1): live.urls[page_id(f"https://{HOST}/")]} if outstanding else {}
    assert not live.is_busy(world.now)
    assert hosts.gathering.may_wait(live, world.now) == outstanding
    live.host.failures = 1
    assert not hosts.gathering.may_wait(live, world.now), "what is known of a host in trouble is written at once"


async def test_all_rows_are_written_when_too_many_events_wait() -> None:
    gathering, written = Gathering(3_600), list[int]()

    async def wait(number: int) -> None:
        rows = UnwrittenRows()

        async def write() -> None:
            written.append(number)
            rows.end()

        await gathering.wait(rows, write)

    early = [asyncio.create_task(wait(number)) for number in range(MAX_WAITING - 1)]
    await asyncio.sleep(0.01)
    assert not written
    await asyncio.gather(wait(MAX_WAITING - 1), *early)
    assert sorted(written) == list(range(MAX_WAITING))
