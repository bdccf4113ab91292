"""The frontier while fetchers or hosts are away: it never stops, and no URL is lost."""

from collections import Counter

import pytest

from streams.crawl.frontier.progress import crawl_progress
from streams.settings import CrawlSettings
from streams.stores.opener import Stores
from tests.stages.frontier_world import SECOND, START, Site, World

MINUTE = 60 * SECOND


def hosts(count: int, pages: int) -> dict[str, Site]:
    """Return hosts whose start page links to all their pages."""
    sites = {}
    for n in range(count):
        name = f"h{n}.example"
        links = {f"/{page}": list[str]() for page in range(1, pages)}
        sites[name] = Site(links={"/": [f"https://{name}{path}" for path in links], **links})
    return sites


def world(sites: dict[str, Site], **settings: int) -> World:
    """Return a world in which a crawl of all hosts begins."""
    web = World(sites, CrawlSettings(**{"delay_seconds": 1, **settings}), seed=1, kill_probability=0)  # type: ignore[arg-type]
    for name in sites:
        web.seed(f"https://{name}/")
    return web


@pytest.mark.parametrize("answered", [True, False], ids=["answered as expired", "dropped"])
async def test_r1_the_frontier_continues_after_all_its_leases_expired(answered: bool) -> None:
    """The fetchers are away for longer than a lease, while every slot holds a lease."""
    web = world(hosts(30, 10), in_flight=8, lease_seconds=120)
    web.expired_are_answered = answered
    web.fetchers_away = [(START + 5 * SECOND, START + 15 * MINUTE)]
    await web.run(hours=12)
    assert len(set(web.pages())) == 300
    assert max(Counter(web.pages()).values()) == 1
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert (progress.pending, progress.leased, progress.failed) == (0, 0, 0)


async def test_r1_a_lease_without_an_answer_costs_no_attempt() -> None:
    web = world(hosts(1, 1), lease_seconds=60, max_attempts=2)
    web.sites["h0.example"].script = {"/": [None] * 5}
    await web.run()
    assert web.pages() == ["https://h0.example/"] * 6
    assert (web.answers[-1].outcome, web.answers[-1].attempt) == ("ok", 1)


async def test_r1_expired_leases_are_counted() -> None:
    web = world(hosts(1, 1), lease_seconds=60)
    web.sites["h0.example"].script = {"/": [None] * 3}
    await web.run()
    measured = web.agent.measurements()
    assert (measured["frontier_leases_expired"], measured["frontier_leases"]) == (3, 0)


async def test_r1_no_page_is_fetched_for_an_expired_lease() -> None:
    """Its event was answered late, after the URL was scheduled again."""
    web = world(hosts(5, 4), lease_seconds=30)
    web.fetchers_away = [(START + SECOND, START + 10 * MINUTE)]
    await web.run(hours=12)
    assert Counter(web.pages()) == {f"https://h{n}.example/{page or ''}": 1 for n in range(5) for page in range(4)}
    assert sum(answer.lease_expired for answer in web.answers) > 5
