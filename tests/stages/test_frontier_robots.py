"""The frontier keeps a host's robots.txt: times of day, and files that can't be read for a month."""

from typing import Any

from streams.settings import CrawlSettings
from tests.stages.frontier_world import SECOND, START, Site, World

DAY = 86_400 * SECOND
PAGE = "https://a.example/"
BROKEN: dict[str, Any] = {"outcome": "server_error", "status": 503, "retryable": True}


def world(site: Site) -> World:
    web = World({"a.example": site}, CrawlSettings(delay_seconds=1), seed=1, kill_probability=0)
    web.seed(PAGE)
    return web


async def test_a_host_is_asked_only_at_its_visit_times() -> None:
    opens = START // SECOND % 86_400 // 60 + 90
    begin, end = (f"{minute // 60 % 24:02}{minute % 60:02}" for minute in (opens, opens + 30))
    web = world(Site(robots=f"User-agent: *\nVisit-time: {begin}-{end}\n", links={"/": []}))
    await web.run()
    (requested,) = (at for at, _, url in web.fetches["a.example"] if url == PAGE)
    assert opens * 60 <= requested // SECOND % 86_400 < (opens + 30) * 60


async def test_robots_that_servers_cannot_deliver_forbid_everything_for_30_days_and_then_nothing() -> None:
    web = world(Site(links={"/": []}, script={"/robots.txt": [BROKEN] * 500}))
    await web.run(hours=24 * 29)
    assert web.pages() == []
    await web.run(hours=24 * 4)
    assert web.pages() == [PAGE]


async def test_a_long_crawl_delay_is_kept() -> None:
    web = world(Site(robots="User-agent: *\nCrawl-delay: 20000\n", links={"/": [f"{PAGE}b"], "/b": []}))
    await web.run()
    times = [at for at, _, url in web.fetches["a.example"] if not url.endswith("robots.txt")]
    assert times[1] - times[0] >= 20_000 * SECOND


async def test_the_signals_of_robots_go_with_each_page() -> None:
    web = world(Site(robots="User-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /", links={"/": []}))
    await web.run()
    assert {one.content_signal for one in web.scheduled if one.purpose == "page"} == {"ai-train=no, search=yes"}
