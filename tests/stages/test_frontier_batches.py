"""Events with several URLs of a host: each URL is decided on by itself, and all are written together."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import pytest

from schemas import Event, PageDiscovered
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.frontier.progress import CrawlProgress, crawl_progress
from streams.errors import PoisonError
from streams.stores.memory import MemoryBlobs, MemoryFingerprints, MemoryFrontier, MemoryHostLinks, MemoryNotes
from streams.stores.opener import Stores
from tests.frontier_rows import stored_url
from tests.stages.found_links import found
from tests.stages.frontier_world import (
    START,
    CrawlOptions,
    Killed,
    Process,
    Site,
    StoreOfProcess,
    World,
    delivery,
    discovered,
)

A = "https://a.example"
ROBOTS = "User-agent: *\nDisallow: /private/"
SETTINGS = CrawlOptions(delay_seconds=1, lease_seconds=60, max_attempts=3, max_depth=9)


def links(*paths: str, **fields: Any) -> PageDiscovered:
    first, *more = [f"{A}/{path}" for path in paths]
    return discovered(first, more_urls=tuple(more), **{"crawl_id": "c", "referrer": f"{A}/from", **fields})


async def seeded_world() -> World:
    """Return a world in which a.example was crawled from its first page, which has no links."""
    pages: dict[str, list[str]] = {"/": [], **{f"/{n}": [] for n in range(9)}}
    web = World({"a.example": Site(robots=ROBOTS, links=pages)}, SETTINGS, seed=1, kill_probability=0)
    web.seed(f"{A}/")
    await web.run()
    return web


async def test_each_url_of_an_event_is_decided_on_alone() -> None:
    web = await seeded_world()
    web.send(links("", "1", "private/x", "film.mp4", "2"))
    await web.run()
    assert web.pages() == [f"{A}/", f"{A}/1", f"{A}/2"], "in their order"
    assert not web.removed
    for left_out in ("private/x", "film.mp4"):
        assert await stored_url(web.frontier_store, f"{A}/{left_out}") is None
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert progress == CrawlProgress(discovered=4, digesting=3, disallowed=1)


async def test_refusals_cost_one_write_of_their_states_and_neither_rows_nor_places_nor_events() -> None:
    web = await seeded_world()
    store = Calls(web.frontier_store)
    web.agent = agent(store, at(web.now), web.blobs)
    await web.agent.assigned(frozenset({0}))
    event = delivery(links("private/1", "private/2", "private/3"), UUID(int=7), web.now)
    for _ in range(3):
        assert await web.agent.handle(event) == []
    assert [store.names.count(name) for name in ("put_states", "write")] == [1, 0]
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert progress.disallowed == 3, "each is counted once, however often the event comes"


async def test_the_urls_of_an_event_are_one_write_of_the_queue() -> None:
    store = Calls(MemoryFrontier())
    handler = agent(store)
    await handler.handle(delivery(links("1", "2", "3"), UUID(int=7), START))
    assert store.names.count("write") == 1
    assert len(await store.store.queued("a.example", None, 10)) == 3
    before = len(store.names)
    await handler.handle(delivery(links("3", "1", "2"), UUID(int=8), START))
    assert len(store.names) == before, "known links cost nothing"


@pytest.mark.parametrize("form", [found, lambda event: event], ids=["of a page", "of a sitemap"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_crash_at_any_call_of_the_store_loses_no_url_of_an_event(
    after: bool, form: Callable[[PageDiscovered], Event]
) -> None:
    """The process is killed before or after the n-th call, and the event is delivered again to the next one."""
    n = 0
    while True:
        web = await seeded_world()
        process = KilledAtCall(n, after=after)
        event = delivery(form(links("1", "private/x", "", "2", "3")), UUID(int=7), web.now)
        first = agent(StoreOfProcess(web.frontier_store, process), at(web.now), web.blobs)
        with suppress(Killed):
            await first.handle(event)
        web.restart()
        web.inputs.append((event.event, event.envelope.id))
        await web.run()
        assert sorted(web.pages()) == [f"{A}/", f"{A}/1", f"{A}/2", f"{A}/3"], f"killed at call {n}"
        progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
        assert progress == CrawlProgress(discovered=5, digesting=4, disallowed=1)
        if not process.dead:
            assert n > 5, "the process was never killed"
            return
        n += 1


async def test_edges_of_the_link_graph_and_lost_links_cost_nothing() -> None:
    store = Calls(MemoryFrontier())
    handler = agent(store)
    edges = found(links("1")).edges()
    assert edges
    for event in (edges, edges.model_copy(update={"lost": True})):
        assert await handler.handle(delivery(event, UUID(int=7), START)) == []
    assert store.names == []


@pytest.mark.parametrize(
    "url",
    ["https://a.example/%7e", "https://b.example/", "https://127.0.0.1/"],
    ids=["not canonical", "of another host", "an address"],
)
async def test_an_event_with_a_wrong_url_is_poison(url: str) -> None:
    store = MemoryFrontier()
    event = links("1", "2").model_copy(update={"more_urls": (url,)})
    with pytest.raises(PoisonError):
        await agent(store).handle(delivery(event, uuid4(), START))
    assert await stored_url(store, f"{A}/1") is None


class KilledAtCall(Process):
    """A process that is killed before or after its n-th call."""

    def __init__(self, number: int, *, after: bool) -> None:
        super().__init__(random.Random(), 0)
        self._left = 2 * number + 1 + after

    def _may_be_killed(self) -> None:
        self._left -= 1
        if self.dead or self._left == 0:
            self.dead = True
            raise Killed


class Calls:
    """A store that keeps the names of the calls it got."""

    def __init__(self, store: MemoryFrontier) -> None:
        self.store = store
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.names.append(name)
        return getattr(self.store, name)


def at(now: int) -> Callable[[], int]:
    """Return a clock that stands still."""
    return lambda: now


def agent(store: Any, now: Callable[[], int] | None = None, blobs: Any = None) -> FrontierAgent:
    stores = Stores(
        blobs=blobs or MemoryBlobs(),
        frontier=store,
        fingerprints=MemoryFingerprints(),
        host_links=MemoryHostLinks(),
        notes=MemoryNotes(),
    )
    made = FrontierAgent(SETTINGS, stores, now=now or at(START))
    made.dispatcher.assign(frozenset({0}))
    return made
