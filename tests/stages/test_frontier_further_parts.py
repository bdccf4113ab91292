"""A host with so many URLs that they are in several parts of the store: its rows are several writes."""

from uuid import UUID

import pytest

from schemas.ids import page_id
from streams.crawl.frontier.hosts import live_host, live_hosts
from streams.settings import CrawlSettings
from streams.stores.protocols import FrontierHost, FrontierUrl, HostRows, QueueEntry, further_part_of
from tests.frontier_rows import stored_url
from tests.stages import frontier_world
from tests.stages.frontier_world import Site, StoreOfProcess, World, discovered
from tests.stages.test_frontier_gathering import GatheringWorld
from tests.stages.test_frontier_simulation import SETTINGS, assert_complete, web

A = "https://a.example"
FIRST = 5
PAGES = 20


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first part of a host has FIRST URLs."""
    for module in (live_host, live_hosts):
        monkeypatch.setattr(module, "FIRST_URLS", FIRST)


class TornStore(StoreOfProcess):
    """A store behind a process that may be killed between two of the writes that rows of a host are."""

    async def write(self, rows: HostRows) -> None:
        for step in rows.steps():
            for part in step:
                await self._write(part)

    async def _write(self, rows: HostRows) -> None:
        await self._process.call(lambda: self._store.write(rows))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("kind", "seed", "flaky"), [pytest.param(World, 3, 0.01, marks=pytest.mark.night), (GatheringWorld, 2, 0.0)]
)
async def test_a_crawl_of_hosts_with_many_parts_is_complete_though_its_worker_is_killed(
    monkeypatch: pytest.MonkeyPatch, kind: type[World], seed: int, flaky: float
) -> None:
    monkeypatch.setattr(frontier_world, "StoreOfProcess", TornStore)
    world = kind(web(), SETTINGS, seed, 0.002, flaky)
    world.seed("https://h0.example/0")
    await world.run()
    assert world.kills
    await assert_complete(world)
    parts = {part for _, _, part in world.frontier_store._urls.values()}
    assert len(parts) > 3, "the first part was full"


@pytest.mark.usefixtures("small_parts")
async def test_a_new_url_goes_to_a_further_part_when_the_first_one_is_full_and_stays_there() -> None:
    site = Site(links={f"/{n}": [f"{A}/{m}" for m in range(PAGES)] for n in range(PAGES)})
    world = World({"a.example": site}, CrawlSettings(delay_seconds=1), seed=1, kill_probability=0)
    world.seed(f"{A}/0")
    await world.run()
    assert sorted(world.pages()) == sorted(f"{A}/{n}" for n in range(PAGES))
    rows = [await stored_url(world.frontier_store, f"{A}/{n}") for n in range(PAGES)]
    parts = {url.page_id: url.part for url in rows if url}
    first = [page for page, part in parts.items() if part == 0]
    assert len(first) == FIRST
    assert all(parts[page] == further_part_of(page) for page in parts.keys() - set(first))
    host = await world.frontier_store.host("a.example")
    assert host is not None
    assert host.state["urls"] == FIRST, "the next owner reads both parts"
    world.restart()
    world.send(discovered(f"{A}/{PAGES - 1}", crawl_id="d"))
    await world.run()
    assert len(world.pages()) == PAGES, "known"


@pytest.mark.usefixtures("small_parts")
async def test_the_row_of_a_host_says_that_its_first_part_is_full_before_a_url_is_elsewhere() -> None:
    site = Site(links={"/": [f"{A}/{m}" for m in range(PAGES)], **{f"/{m}": [] for m in range(PAGES)}})
    world = World({"a.example": site}, CrawlSettings(delay_seconds=1), seed=1, kill_probability=0)
    written: list[HostRows] = []
    write = world.frontier_store.write

    async def keep(rows: HostRows) -> None:
        written.append(rows)
        await write(rows)

    world.frontier_store.write = keep  # type: ignore[method-assign]  # of this object only
    world.seed(f"{A}/")
    await world.run()
    full = next(n for n, rows in enumerate(written) if rows.state and rows.state.state.get("urls") == FIRST)
    elsewhere = next(n for n, rows in enumerate(written) if any(url.part for url in rows.urls))
    assert full < elsewhere


def test_rows_of_several_parts_are_written_in_an_order_that_loses_nothing() -> None:
    pages = [page_id(f"{A}/{n}") for n in range(3)]
    parts = [0, 7, 9]
    urls = [
        FrontierUrl(page, f"{A}/{n}", "a.example", "queued", at=1, part=part)
        for n, (page, part) in enumerate(zip(pages, parts, strict=True))
    ]
    state, entries = FrontierHost(1, "a.example", 5, {}, 3), [QueueEntry(1, pages[2])]
    rows = HostRows("a.example", state, urls, entries, at=4)
    assert rows.steps() == [
        [HostRows("a.example", None, [urls[0]], entries, 4)],
        [HostRows("a.example", None, [urls[1]], (), 4), HostRows("a.example", None, [urls[2]], (), 4)],
        [HostRows("a.example", state, at=4)],
    ], "the place in the queue, the URL that it leads to, and the host with its lease"
    one_part = HostRows("a.example", state, urls[:1], entries, at=4)
    assert one_part.steps() == [[one_part]], "one write, all or nothing"
    assert HostRows("a.example", None, urls[1:2]).steps() == [[HostRows("a.example", None, urls[1:2], (), 0)]]


def test_the_part_of_a_url_follows_from_its_id_alone() -> None:
    assert [further_part_of(UUID(int=n)) for n in (0, 1, 1_023, 1_024)] == [1, 2, 1_024, 1]
