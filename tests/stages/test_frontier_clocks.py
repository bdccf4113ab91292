"""The frontier and the fetchers on machines whose clocks differ."""

import itertools
from typing import Any

import pytest

from streams.crawl.frontier.progress import crawl_progress
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from tests.frontier_rows import stored_url
from tests.stages.frontier_world import SECOND, World
from tests.stages.test_frontier_outages import MINUTE, hosts

HOUR = 60 * MINUTE


def world(count: int = 3, pages: int = 8, seed: int = 1, kill: float = 0, **settings: Any) -> World:
    web = World(hosts(count, pages), CrawlSettings(delay_seconds=1, **settings), seed, kill)
    for name in web.sites:
        web.seed(f"https://{name}/")
    return web


@pytest.mark.parametrize(("ahead", "bound"), [(4, 5), (121, 150), (-4, 5), (-3_600, 5)], ids=str)
async def test_a_fetcher_within_the_clock_bound_drops_no_lease(ahead: int, bound: int) -> None:
    """A clock that is behind harms nothing, however far."""
    web = world(lease_seconds=120 if ahead > 100 else 2, clock_bound_seconds=bound)
    web.fetch_clock_ahead = ahead * SECOND
    await web.run(hours=24)
    assert len(web.pages()) == len(set(web.pages())) == 24
    assert not any(answer.lease_expired for answer in web.answers)


async def test_a_fetcher_beyond_the_clock_bound_ends_no_url() -> None:
    web = world(lease_seconds=20)
    web.fetch_clock_ahead = HOUR
    await web.run(hours=0.1)
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert (progress.failed, progress.refused) == (0, 0)
    assert len(web.answers) < 3 * 20, "each host waits for as long as a lease"
    assert web.agent.measurements()["frontier_leases_expired"] > 0
    web.fetch_clock_ahead = 0
    await web.run(hours=12)
    assert len(set(web.pages())) == 24


@pytest.mark.parametrize("by_clock", [True, False], ids=["generations by the fetchers' clock", "by the lease"])
async def test_an_answer_to_a_held_lease_ends_the_url_whatever_the_clocks_are(by_clock: bool) -> None:
    """The page was fetched by a fetcher an hour ahead. Ten minutes later another one fetches it again."""
    web = world(1, 1, clock_bound_seconds=7_200)
    web.generations_by_clock = by_clock
    web.fetch_clock_ahead = HOUR if by_clock else 0
    await web.run()
    web.fetch_clock_ahead = 0
    web.now += 10 * MINUTE
    web.seed("https://h0.example/", crawl_id="d")
    await web.run()
    url = await stored_url(web.frontier_store, "https://h0.example/")
    assert url
    assert (url.state, url.outcome, url.crawl_id) == ("done", "ok", "d")
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "d")
    assert progress.pending == 0


@pytest.mark.parametrize("seed", range(4))
async def test_generations_grow_though_the_frontiers_clock_is_set_back(seed: int) -> None:
    web = world(2, 10, seed, 0.002, lease_seconds=20, clock_bound_seconds=60)
    for ahead in (0, -40, 35, -10):
        web.frontier_clock_ahead = ahead * SECOND
        web.fetch_clock_ahead = -web.frontier_clock_ahead // 10
        web.restart()
        for name in web.sites:
            web.seed(f"https://{name}/", crawl_id=f"c{ahead}")
        await web.run(hours=2)
    generations: dict[str, list[int]] = {}
    for answer in web.answers:
        if answer.purpose == "page" and answer.outcome == "ok":
            generations.setdefault(answer.url, []).append(answer.generation)
    assert len(generations) == 20
    assert max(map(len, generations.values())) >= 4
    for found in generations.values():
        distinct = list(dict.fromkeys(found))
        assert all(one < later for one, later in itertools.pairwise(distinct)), distinct
