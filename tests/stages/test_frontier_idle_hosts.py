"""Hosts for which nothing waits stay in memory for a while: fewer reads, and never an outdated state."""

from uuid import UUID

from streams.crawl.frontier.hosts.live_hosts import MAX_IDLE_HOSTS
from streams.settings import CrawlSettings
from tests.stages.frontier_world import Site, World, delivery, discovered

SETTINGS = CrawlSettings(delay_seconds=1, lease_seconds=60)
A = "https://a.example"


def world(*hosts: str) -> World:
    sites = {f"{host}.example": Site(links={"/": [], "/1": [], "/2": []}) for host in hosts}
    return World(sites, SETTINGS, seed=1, kill_probability=0)


async def test_the_memory_of_idle_hosts_is_bounded() -> None:
    web = world(*(f"h{number}" for number in range(MAX_IDLE_HOSTS + 20)))
    for host in web.sites:
        web.seed(f"https://{host}/")
    await web.run()
    hosts = web.agent.state.hosts
    assert (len(hosts._live), len(hosts._idle)) == (0, MAX_IDLE_HOSTS)


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
    former = await web.frontier_store.host(*await place_of(web))
    await first.assigned(frozenset({0}))
    web.agent = first
    await first.dispatcher.visit_due()
    await first.handle(delivery(discovered(f"{A}/2", crawl_id="c"), UUID(int=5), web.now))
    await web.run()
    assert web.pages() == [f"{A}/", f"{A}/1", f"{A}/2"]
    later = await web.frontier_store.host(*await place_of(web))
    assert former is not None
    assert later is not None
    assert later.at > former.at
    assert later.state["crawls"] == [["c", True, 3]], "a seed, and three scheduled pages"


async def place_of(web: World) -> tuple[int, str]:
    [(bucket, name)] = web.frontier_store._hosts
    return bucket, name
