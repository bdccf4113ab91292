"""The shares of many crawls in one host: no crawl loses its seed or its budget, however many follow it."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.frontier.hosts.host_state import MAX_SHARES_IN_ROW, CrawlShare, Host
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.frontier.scheduling.ordering import strangers_budget
from streams.stores.opener import Stores
from streams.stores.protocols import HostShare
from tests.stages.frontier_world import CrawlOptions, Site, World, discovered

HOST = "many.example"
CHAIN = 15
OTHERS = MAX_SHARES_IN_ROW + 6
SETTINGS = CrawlOptions(delay_seconds=1.0, lease_seconds=60, in_flight=12, max_attempts=4, max_depth=100)


def a_world(kill_probability: float = 0.0, flaky: float = 0.0) -> World:
    """Return a host with a chain of pages, and beside it pages without links."""
    site = Site()
    for n in range(CHAIN):
        site.links[f"/chain/{n}"] = [f"https://{HOST}/chain/{n + 1}"] if n + 1 < CHAIN else []
    for n in range(OTHERS):
        site.links[f"/one/{n}"] = []
    return World({HOST: site}, SETTINGS, 1, kill_probability, flaky)


def seed_others(world: World) -> None:
    for n in range(OTHERS):
        world.seed(f"https://{HOST}/one/{n}", crawl_id=f"one-{n}", max_pages=1, same_host=True)


@pytest.mark.parametrize(
    ("kill_probability", "flaky"),
    [(0.005, 0.0), *(pytest.param(0.0, flaky, marks=pytest.mark.night) for flaky in (0.0, 0.01))],
)
async def test_a_crawl_follows_its_links_however_many_crawls_of_the_host_begin_meanwhile(
    kill_probability: float, flaky: float
) -> None:
    world = a_world(kill_probability, flaky)
    world.seed(f"https://{HOST}/chain/0", crawl_id="a chain", same_host=True)
    seed_others(world)
    await world.run()
    assert {url for url in world.pages() if "/chain/" in url} == {f"https://{HOST}/chain/{n}" for n in range(CHAIN)}
    progress = await crawl_progress(Stores(frontier=world.frontier_store), "a chain")
    assert (progress.discovered, progress.digesting) == (CHAIN, CHAIN)


async def test_a_crawl_keeps_its_budget_when_its_share_left_the_host_row() -> None:
    world = a_world()
    world.seed(f"https://{HOST}/chain/0", crawl_id="a chain", same_host=True, max_pages=5)
    await world.run()
    seed_others(world)
    await world.run()
    world.restart()
    row = await world.frontier_store.host(HOST)
    assert row
    assert len(row.state["crawls"]) == MAX_SHARES_IN_ROW
    assert await world.frontier_store.share(HOST, "a chain") == HostShare(seeded=True, scheduled=5)

    world.seed(f"https://{HOST}/one/0", crawl_id="a chain", same_host=True, max_pages=5)
    await world.run()
    assert world.pages().count(f"https://{HOST}/one/0") == 1, "the budget of 5 pages was spent"


async def test_a_crawl_keeps_its_strangers_budget_when_its_share_left_the_host_row() -> None:
    """Otherwise strangers get their part of the budget again each time that other crawls push the share out."""
    world = a_world()
    scope = {"crawl_id": "a chain", "max_pages": 10, "referrer": "https://stranger.example/"}
    world.seed(f"https://{HOST}/chain/0", crawl_id="a chain", max_depth=0, max_pages=10)
    world.sites[HOST].links.update({f"/invented/{n}": [] for n in range(20)})
    for n in range(10):
        world.send(discovered(f"https://{HOST}/invented/{n}", **scope))
    await world.run()
    invented = [url for url in world.pages() if "/invented/" in url]
    assert len(invented) == strangers_budget(10)
    seed_others(world)
    await world.run()
    world.restart()
    moved = HostShare(seeded=True, scheduled=len(invented) + 1, strangers=len(invented))
    assert await world.frontier_store.share(HOST, "a chain") == moved

    for n in range(10, 20):
        world.send(discovered(f"https://{HOST}/invented/{n}", **scope))
    await world.run()
    assert [url for url in world.pages() if "/invented/" in url] == invented


@given(share=st.builds(CrawlShare, st.booleans(), st.integers(0, 99), st.integers(0, 99)))
def test_a_share_stays_whole_in_the_host_row_and_in_a_row_of_its_own(share: CrawlShare) -> None:
    host = Host(0, HOST, crawls={"c": replace(share)})
    assert Host.from_row(host.to_row(None, 1)).crawls == {"c": share}
    assert CrawlShare(*share.own_row()) == share


async def test_shares_move_one_at_a_time_and_the_last_used_stay() -> None:
    world = a_world()
    world.seed(f"https://{HOST}/chain/0", crawl_id="a chain", same_host=True)
    seed_others(world)
    await asyncio.wait_for(world.run(), 60)
    row = await world.frontier_store.host(HOST)
    assert row
    kept = [crawl for crawl, *_ in row.state["crawls"]]
    moved = [n for n in range(OTHERS) if await world.frontier_store.share(HOST, f"one-{n}")]
    assert len(kept) == MAX_SHARES_IN_ROW
    assert {f"one-{n}" for n in range(OTHERS)} <= {*kept, *(f"one-{n}" for n in moved)}
