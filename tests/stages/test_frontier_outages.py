"""The frontier while fetchers or hosts are away: it never stops, and no URL is lost."""

import asyncio
import itertools
from collections import Counter
from typing import Any

import pytest

from schemas.ids import page_id
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.frontier.visits import dispatcher
from streams.stores.opener import Stores
from streams.stores.protocols import FrontierUrl
from tests.frontier_rows import put_urls, stored_url
from tests.stages.frontier_world import SECOND, START, CrawlOptions, Site, World

MINUTE = 60 * SECOND


def hosts(count: int, pages: int) -> dict[str, Site]:
    """Return hosts whose start page links to all their pages."""
    sites = {}
    for n in range(count):
        name = f"h{n}.example"
        links = {f"/{page}": list[str]() for page in range(1, pages)}
        sites[name] = Site(links={"/": [f"https://{name}{path}" for path in links], **links})
    return sites


def world(sites: dict[str, Site], **settings: Any) -> World:
    """Return a world in which a crawl of all hosts begins."""
    web = World(sites, CrawlOptions(**{"delay_seconds": 1, **settings}), seed=1, kill_probability=0)
    for name in sites:
        web.seed(f"https://{name}/")
    return web


@pytest.mark.parametrize("answered", [True, False], ids=["answered as expired", "dropped"])
async def test_the_frontier_continues_after_all_its_leases_expired(answered: bool) -> None:
    """The fetchers are away for longer than a lease, while every slot holds a lease."""
    web = world(hosts(30, 10), in_flight=8, lease_seconds=120)
    web.expired_are_answered = answered
    web.fetchers_away = [(START + 5 * SECOND, START + 15 * MINUTE)]
    await web.run(hours=12)
    assert len(set(web.pages())) == 300
    assert max(Counter(web.pages()).values()) == 1
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert (progress.pending, progress.failed) == (0, 0)


async def test_a_lease_without_an_answer_costs_no_attempt() -> None:
    web = world(hosts(1, 1), lease_seconds=60, max_attempts=2)
    web.sites["h0.example"].script = {"/": [None] * 5}
    await web.run()
    assert web.pages() == ["https://h0.example/"] * 6
    assert (web.answers[-1].outcome, web.answers[-1].attempt) == ("ok", 1)


async def test_expired_leases_cost_no_budget() -> None:
    web = World(hosts(1, 5), CrawlOptions(delay_seconds=1, lease_seconds=10), seed=1, kill_probability=0)
    web.seed("https://h0.example/", max_pages=5)
    web.fetchers_away = [(START, START + 10 * MINUTE)]
    await web.run()
    assert len(web.pages()) == 5


async def test_expired_leases_are_counted() -> None:
    web = world(hosts(1, 1), lease_seconds=60)
    web.sites["h0.example"].script = {"/": [None] * 3}
    await web.run()
    measured = web.agent.measurements()
    assert (measured["frontier_leases_expired"], measured["frontier_leases"]) == (3, 0)


async def test_no_page_is_fetched_for_an_expired_lease() -> None:
    """Its event was answered late, after the URL was scheduled again."""
    web = world(hosts(5, 4), lease_seconds=30)
    web.fetchers_away = [(START + SECOND, START + 10 * MINUTE)]
    await web.run(hours=12)
    assert Counter(web.pages()) == {f"https://h{n}.example/{page or ''}": 1 for n in range(5) for page in range(4)}
    assert sum(answer.lease_expired for answer in web.answers) > 5


def fetched_once(web: World) -> int:
    """Return how many pages were fetched, each with one successful answer."""
    ok = Counter(answer.url for answer in web.answers if answer.purpose == "page" and answer.outcome == "ok")
    assert max(ok.values(), default=1) == 1
    return len(ok)


async def test_a_host_that_is_down_in_its_first_minute_is_crawled_whole() -> None:
    web = world(hosts(1, 200))
    web.sites["h0.example"].outages = [(START, START + MINUTE)]
    await web.run()
    assert fetched_once(web) == 200


async def test_a_host_that_is_down_when_its_robots_is_due_loses_no_page() -> None:
    web = world(hosts(1, 300), robots_ttl_seconds=100)
    web.sites["h0.example"].outages = [(START + 100 * SECOND, START + 150 * SECOND)]
    await web.run()
    assert fetched_once(web) == 300


async def test_a_short_outage_ends_no_page_of_a_short_queue() -> None:
    """A last page without an answer is no verdict while no page of its host is answered."""
    web = world(hosts(1, 2))
    web.sites["h0.example"].outages = [(START + 2 * SECOND, START + 2 * MINUTE)]
    await web.run()
    assert fetched_once(web) == 2


async def test_a_page_that_never_answers_ends_if_its_host_does() -> None:
    web = world(hosts(1, 2), max_attempts=3)
    web.sites["h0.example"].script = {"/1": [{"outcome": "timeout", "retryable": True}] * 99}
    await web.run()
    assert Counter(web.pages())["https://h0.example/1"] <= 6
    url = await stored_url(web.frontier_store, "https://h0.example/1")
    assert url
    assert (url.state, url.outcome) == ("done", "timeout")


async def test_a_long_outage_is_asked_about_less_and_less_often_and_at_least_daily() -> None:
    web = world(hosts(1, 3))
    back = START + 10 * 24 * 60 * MINUTE
    web.sites["h0.example"].outages = [(START, back)]
    await web.run(hours=24 * 9)
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert (progress.deferred, progress.failed, progress.done) == (1, 0, True)
    assert web.origins[-1].robots == "unreachable"
    begins = [begin for begin, _, _ in web.fetches["h0.example"]][4:]
    waits = [(later - begin) / MINUTE for begin, later in itertools.pairwise(begins)]
    assert 30 <= waits[0] <= 40
    assert 24 * 60 <= max(waits) <= 24 * 60 * 1.2 + 1
    await web.run(hours=72)
    assert fetched_once(web) == 3


@pytest.mark.parametrize("outcome", ["unreachable", "timeout"])
async def test_a_url_that_ended_without_an_answer_returns_when_it_is_discovered_again(outcome: str) -> None:
    web = world(hosts(1, 2))
    url = "https://h0.example/1"
    await put_urls(
        web.frontier_store,
        [FrontierUrl(page_id(url), url, "h0.example", "done", at=START - 60 * MINUTE, crawl_id="c", outcome=outcome)],
    )
    await web.run()
    assert fetched_once(web) == 2


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.night) for seed in (0, 2))])
async def test_outages_of_hosts_and_fetchers_lose_no_page_though_the_frontier_is_killed(seed: int) -> None:
    sites = hosts(6, 40)
    for n, site in enumerate(sites.values()):
        site.outages = [(START + n * 10 * SECOND, START + n * 30 * SECOND)]
    settings = CrawlOptions(delay_seconds=1, lease_seconds=30, in_flight=4, robots_ttl_seconds=40)
    web = World(sites, settings, seed, kill_probability=0.005, flaky=0.005)
    web.expired_are_answered = bool(seed % 2)
    web.fetchers_away = [(START + 20 * SECOND, START + 3 * MINUTE)]
    for name in sites:
        web.seed(f"https://{name}/")
    await web.run()
    assert web.kills
    fetched = {answer.url for answer in web.answers if answer.purpose == "page" and answer.outcome == "ok"}
    assert len(fetched) == 240
    progress = await crawl_progress(Stores(frontier=web.frontier_store), "c")
    assert (progress.pending, progress.deferred, progress.failed) == (0, 0, 0)


async def test_the_frontier_goes_on_after_what_it_waited_for_was_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a client that closes its connection. Nobody else would notice that the dispatcher has ended."""
    web, rounds = world(hosts(1, 1)), 0

    async def visit_due() -> int | None:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            raise asyncio.CancelledError
        await asyncio.sleep(60)
        return None

    monkeypatch.setattr(web.agent.dispatcher, "visit_due", visit_due)
    monkeypatch.setattr(dispatcher, "RETRY_MICROS", 0)
    running = asyncio.create_task(web.agent.dispatcher.run())
    while rounds < 2:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
