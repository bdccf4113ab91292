"""A seed that a person gave is fetched before all links that wait, of its own host and of others."""

from itertools import pairwise

import pytest

from streams.settings import CrawlSettings
from streams.stores.protocols import FrontierUrl
from tests.frontier_rows import stored_url
from tests.sizes import FULL
from tests.stages.frontier_world import SECOND, Site, World, discovered_together

DELAY_SECONDS = 1.0
SETTINGS = CrawlSettings(delay_seconds=DELAY_SECONDS, lease_seconds=60, in_flight=4, max_depth=100)
OTHERS, PAGES, BEFORE_SECONDS = (100, 120, 60) if FULL else (40, 120, 20)
"""Number of hosts with waiting links, the links of each, and how long they are fetched before a seed comes."""
SOON_SECONDS = 10.0
"""robots.txt, the delay, and a page that the host is asked for already."""


def web(hosts: int, pages: int) -> dict[str, Site]:
    names = [f"h{number}.example" for number in range(hosts)]
    return {name: Site(links={f"/{number}": [] for number in range(pages)}) for name in (*names, "person.example")}


async def waiting(world: World, hosts: int, pages: int) -> None:
    """Queue links of many hosts, and let some of them be fetched."""
    for host in range(hosts):
        for event in discovered_together([f"https://h{host}.example/{number}" for number in range(pages)]):
            world.send(event)
    await world.run(hours=BEFORE_SECONDS / 3_600)


def seconds_until(world: World, url: str, since: int) -> float:
    """Return the time from a moment to the request for a URL."""
    host = url.removeprefix("https://").partition("/")[0]
    begun = [begin for begin, _, fetched in world.fetches[host] if fetched == url and begin >= since]
    assert begun, f"{url} was not fetched"
    return (begun[0] - since) / SECOND


async def test_seeds_are_fetched_within_seconds_though_thousands_of_links_wait() -> None:
    """One seed is of a new host, and one of a host with links that wait."""
    seeds = "https://person.example/1", "https://h7.example/110"
    world = World(web(OTHERS, PAGES), SETTINGS, 1, 0.0)
    await waiting(world, OTHERS, PAGES)
    assert len(world.pages()) < OTHERS * PAGES / 4, "most links wait"
    since = world.now
    for url in seeds:
        world.seed_ahead(url)
    await world.run(hours=2 * SOON_SECONDS / 3_600)
    assert [url for url in seeds if seconds_until(world, url, since) >= SOON_SECONDS] == []


async def test_a_seed_that_is_not_urgent_waits_behind_the_links_of_its_host() -> None:
    world = World(web(1, 100), SETTINGS, 1, 0.0)
    await waiting(world, 1, 100)
    since = world.now
    world.seed("https://h0.example/99")
    await world.run(hours=2 * SOON_SECONDS / 3_600)
    with pytest.raises(AssertionError, match="was not fetched"):
        seconds_until(world, "https://h0.example/99", since)


@pytest.mark.parametrize(
    ("seed", "kills", "flaky"), [(1, 0.004, 0.0), (2, 0.0, 0.01), (3, 0.004, 0.01), (4, 0.008, 0.0)]
)
async def test_urgent_seeds_are_neither_lost_nor_doubled_by_crashes(seed: int, kills: float, flaky: float) -> None:
    hosts, pages = 4, 12
    world = World(web(hosts, pages), SETTINGS, seed, kills, flaky)
    for host in range(hosts):
        for event in discovered_together([f"https://h{host}.example/{number}" for number in range(pages)]):
            world.send(event)
        for number in range(pages - 3, pages):
            world.seed_ahead(f"https://h{host}.example/{number}")
    await world.run()
    wanted = {f"https://h{host}.example/{number}" for host in range(hosts) for number in range(pages)}
    assert set(world.pages()) == wanted
    rows = [await stored_url(world.frontier_store, url) for url in sorted(wanted)]
    assert all(isinstance(row, FrontierUrl) and row.state == "done" for row in rows)
    for requests in world.fetches.values():
        begins = sorted(begin for begin, _, _ in requests)
        assert all(later - one >= DELAY_SECONDS * SECOND for one, later in pairwise(begins))
