"""Hosts for which nothing waits stay in memory for a while: fewer reads, and never an outdated state."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from schemas import PageSettled
from streams.crawl.frontier.hosts.host_memory import IdleHosts
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.hosts.live_host import MAX_AHEAD, MAX_URLS, LiveHost
from streams.crawl.frontier.visits.dispatcher import VISITS_AT_ONCE
from streams.settings import CrawlSettings
from streams.stores.protocols import FrontierUrl
from tests.stages.frontier_world import SECOND, Site, World, delivery, discovered

SETTINGS = CrawlSettings(delay_seconds=1, lease_seconds=60)
A = "https://a.example"


def row(number: int, state: Literal["queued", "done"], **fields: Any) -> FrontierUrl:
    return FrontierUrl(UUID(int=number), f"{A}/{number}", "a.example", state, at=number, **fields)


def world(*hosts: str) -> World:
    sites = {f"{host}.example": Site(links={"/": [], "/1": [], "/2": []}) for host in hosts}
    return World(sites, SETTINGS, seed=1, kill_probability=0)


async def test_the_memory_of_idle_hosts_is_bounded() -> None:
    web = world(*(f"h{number}" for number in range(30)))
    hosts = web.agent.state.hosts
    hosts._idle = IdleHosts(max_hosts=10)
    for host in web.sites:
        web.seed(f"https://{host}/")
    await web.run()
    assert (len(hosts._live), len(hosts._idle)) == (0, 10)


async def test_the_memory_of_hosts_that_wait_for_their_turn_is_bounded() -> None:
    """A broad crawl has more hosts that are due than may be asked at once, each with many URLs."""
    pages = [f"/{number}" for number in range(20)]
    sites = {f"h{number}.example": Site(links={page: [] for page in pages}) for number in range(40)}
    web = World(sites, SETTINGS.model_copy(update={"in_flight": 2}), seed=1, kill_probability=0)
    hosts = web.agent.state.hosts
    hosts._idle = IdleHosts(max_hosts=10, max_size=100)
    for host in sites:
        first, *more = (f"https://{host}{page}" for page in pages)
        web.seed(first, more_urls=tuple(more))
    await web.run(hours=5 / 3_600)
    assert len(hosts.due) > 30
    assert len(hosts._live) <= VISITS_AT_ONCE, "only hosts with leases"
    assert sum(live.size for live in hosts._idle.hosts()) <= 100
    await web.run()
    assert sorted(web.pages()) == sorted(f"https://{host}{page}" for host in sites for page in pages)


async def test_counts_of_a_host_outlive_its_memory() -> None:
    """The last pages of a host are settled when nothing of it waits any more."""
    web = world(*(f"h{number}" for number in range(30)))
    web.agent.state.hosts._idle = IdleHosts(max_hosts=10)
    for host in web.sites:
        web.seed(f"https://{host}/")
    await web.run()
    for fetched in [one for one in web.answers if one.purpose == "page"]:
        fields = {name: getattr(fetched, name) for name in ("page_id", "url", "host", "generation", "crawl_id")}
        web.send(PageSettled(**fields, verdict="changed"))
    await web.run()
    rows = [await web.frontier_store.host(name) for name in web.frontier_store._hosts]
    unsaved = [row.host for row in rows if row and not row.state["record"]["settled"]]
    assert all(web.in_memory(host) for host in unsaved)
    assert len(rows) == 30


async def test_urls_of_a_long_queue_are_read_together() -> None:
    """A host of more URLs than memory keeps reads those that are next together, and no answered one again."""
    urls = [f"{A}/{number}" for number in range(3 * MAX_URLS)]
    site = Site(links={"/0": urls, **{f"/{number}": [] for number in range(1, len(urls))}})
    web = World({"a.example": site}, SETTINGS, seed=1, kill_probability=0)
    await web._act()
    web.now += 3 * SECOND  # no former owner writes any more
    reads: list[int] = []
    read = web.frontier_store.urls

    async def count(host: str, page_ids: Sequence[UUID], **fields: Any) -> dict[UUID, FrontierUrl]:
        reads.append(len(page_ids))
        return await read(host, page_ids, **fields)

    web.frontier_store.urls = count  # type: ignore[method-assign]  # of this object only
    web.seed(urls[0])
    await web.run()
    assert sorted(web.pages()) == sorted(urls)
    assert reads[0] == 1, "a host that is read for one visit needs no more"
    assert len(reads) <= len(urls) / MAX_AHEAD
    assert sum(reads) <= len(urls)


def test_answered_urls_stay_in_memory_until_they_are_settled() -> None:
    live = LiveHost("a.example", 0)
    live.state = Host(0, "a.example")
    answered = [row(number, "done", outcome="ok", generation=1) for number in range(20)]
    settled = [row(number, "done", outcome="ok", generation=1, settled_generation=1) for number in range(20, 40)]
    queued = [row(number, "queued") for number in range(40, 40 + 2 * MAX_URLS)]
    for url in (*answered, *settled, *queued):
        live.remember(url)
    assert {url.page_id for url in answered} <= live.urls.keys()
    assert not {url.page_id for url in settled} & live.urls.keys()
    assert live.urls.keys() & {url.page_id for url in queued}, "the last ones"
    assert len(live.urls) <= MAX_URLS


def test_hosts_with_changes_wait_until_they_are_written() -> None:
    idle = IdleHosts(max_hosts=2)
    first, second, third, fourth = (LiveHost(name, 0) for name in "abcd")
    first.is_stored = first.is_changed = True
    for live in (first, second, third, fourth):
        idle.put(live)
    assert idle.hosts() == [first, second, third, fourth], "the first one is to be written"
    assert idle.surplus(1) == [first]
    first.is_changed = False
    idle.put(idle.take("d") or LiveHost("d", 0))
    assert idle.hosts() == [third, fourth]


async def test_an_event_of_an_idle_host_reads_nothing_again() -> None:
    web = world("a")
    web.seed(f"{A}/")
    await web.run()
    reads: list[str] = []
    host, queued = web.frontier_store.host, web.frontier_store.queued

    async def count_host(*place: object) -> object:
        reads.append("host")
        return await host(*place)  # type: ignore[arg-type]  # the arguments of the store's own

    async def count_queued(*place: object) -> object:
        reads.append("queue")
        return await queued(*place)  # type: ignore[arg-type]  # the arguments of the store's own

    web.frontier_store.host, web.frontier_store.queued = count_host, count_queued  # type: ignore[method-assign, assignment]  # of this object only
    web.send(discovered(f"{A}/1", crawl_id="c"))
    await web.run()
    assert web.pages() == [f"{A}/", f"{A}/1"]
    assert reads == []


async def test_an_idle_host_is_read_again_after_another_worker_owned_it() -> None:
    web = world("a")
    web.seed(f"{A}/")
    await web.run()
    first = web.agent
    await first.assigned(frozenset())
    web.restart()
    web.send(discovered(f"{A}/1", crawl_id="c"))
    await web.run()
    former = await web.frontier_store.host("a.example")
    await first.assigned(frozenset({0}))
    web.agent = first
    await first.dispatcher.visit_due()
    await first.handle(delivery(discovered(f"{A}/2", crawl_id="c"), UUID(int=5), web.now))
    await web.run()
    assert web.pages() == [f"{A}/", f"{A}/1", f"{A}/2"]
    later = await web.frontier_store.host("a.example")
    assert former is not None
    assert later is not None
    assert later.at > former.at
    assert later.state["crawls"] == [["c", {"seeded": True, "scheduled": 3}]], "a seed, and three scheduled pages"
