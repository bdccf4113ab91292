"""Crawling from several regions: each host is asked by the fetchers of one region, in order and with its pace."""

from collections import defaultdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from schemas import Event, PageFetched, PageScheduled
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.frontier.policy import Regions
from streams.settings import CrawlSettings
from streams.stores.memory import MemoryBlobs, MemoryPages
from streams.stores.opener import Stores
from tests.hostile.servers import bad_server, response
from tests.stages.frontier_world import CrawlOptions, Site, World
from tests.stages.test_fetch import delivery, scheduled
from tests.stages.test_frontier import gaps

REGIONS: dict[str, tuple[str, ...]] = {"eu": ("de", "a.example"), "us": ("com",)}
HOSTS = ("a.example", "www.example.com", "b.de", "c.org", "d.org", "e.net")


class RegionalWorld(World):
    """A world with fetchers that only answer the events of their region."""

    def __init__(self, regions: dict[str, tuple[str, ...]], away: str = "") -> None:
        links = {"/": ["/1", "/2"], "/1": [], "/2": []}
        sites = {
            host: Site(
                links={path: [f"https://{host}{target}" for target in targets] for path, targets in links.items()}
            )
            for host in HOSTS
        }
        settings = CrawlOptions(delay_seconds=1, lease_seconds=60, max_attempts=3, regions=regions)
        super().__init__(sites, settings, seed=1, kill_probability=0)
        self.away = away
        """A region without fetchers."""
        self.regions_of: defaultdict[str, set[str]] = defaultdict(set)
        """The regions of the events of each host."""

    def _fetch(self, scheduled: PageScheduled) -> None:
        self.regions_of[scheduled.host].add(scheduled.region)
        if not self.away or scheduled.region != self.away:
            super()._fetch(scheduled)

    async def crawl(self, hours: float = 48) -> None:
        for host in HOSTS:
            self.seed(f"https://{host}/")
        await self.run(hours)


async def test_every_event_of_a_host_names_one_region_robots_included() -> None:
    world = RegionalWorld(REGIONS)
    await world.crawl()
    assert world.regions_of == {host: {Regions(REGIONS).of(host)} for host in HOSTS}
    assert {region for regions in world.regions_of.values() for region in regions} == set(REGIONS)
    for host in HOSTS:
        assert len(world.fetches[host]) == 4, "robots.txt and three pages"
        assert min(gaps(world, host)) >= 1


async def test_without_regions_no_event_names_one() -> None:
    world = RegionalWorld({})
    await world.crawl()
    assert world.regions_of == {host: {""} for host in HOSTS}


async def test_a_region_without_fetchers_delays_its_own_hosts_alone_and_its_pages_are_kept() -> None:
    world = RegionalWorld(REGIONS, away="eu")
    await world.crawl(hours=1)
    others = [host for host in HOSTS if Regions(REGIONS).of(host) != "eu"]
    assert {host for host in HOSTS if world.fetches[host]} == set(others)
    world.away = ""
    await world.run()
    assert all(len({url for *_, url in world.fetches[host]}) == 4 for host in HOSTS)
    assert {world.regions_of[host].pop() for host in HOSTS if host not in others} == {"eu"}


def in_region(settings: CrawlSettings, stores: Stores, region: str) -> FetchAgent:
    return FetchAgent(settings.model_copy(update={"region": region, "regions": REGIONS, "delay_seconds": 0.0}), stores)


async def test_fetchers_leave_the_events_of_other_regions(tmp_path: Path) -> None:
    """Every region's group reads all events: one of them makes the request, also when an event comes twice."""
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs))
    events = [scheduled(region=region, lease_id=uuid4()) for region in ("eu", "us", "eu")]
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        agents = {region: in_region(server.settings(), stores, region) for region in REGIONS}
        answers: dict[str, list[Any]] = {region: [] for region in REGIONS}
        for event in (event for event in events for _ in range(2)):
            for region, agent in agents.items():
                answers[region].append(await agent.handle(delivery(event)))
        for agent in agents.values():
            await agent.stop()
        requests = len(server.requests)
    assert requests == 3, "one for each lease"
    assert [bool(outputs) for outputs in answers["eu"]] == [True, True, False, False, True, True]
    assert [bool(outputs) for outputs in answers["us"]] == [False, False, True, True, False, False]
    answered: list[Event] = [event for outputs in (*answers["eu"], *answers["us"]) for event in outputs]
    assert all(isinstance(event, PageFetched) for event in answered)
    assert {event.lease_id for event in answered if isinstance(event, PageFetched)} == {e.lease_id for e in events}


async def test_a_fetcher_without_a_region_leaves_events_of_regions(tmp_path: Path) -> None:
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs))
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi")}) as server:
        agent = FetchAgent(server.settings(delay_seconds=0), stores)
        assert await agent.handle(delivery(scheduled(region="eu"))) == []
        assert len(await agent.handle(delivery(scheduled()))) == 1
        await agent.stop()
