"""An owner with any number of hosts, by wildcard DNS, begins few of them; a person may give all of them."""

from streams.crawl.frontier.hosts.new_hosts import MAX_AT_ONCE, PART
from streams.settings import CrawlSettings
from streams.stores.host_buckets import BUCKETS
from tests.stages.frontier_world import Site, World


class Wildcard(dict[str, Site]):
    """Each name below spam.example is a host, and its page links to ten others and to a page of its own."""

    def __missing__(self, host: str) -> Site:
        name = host.partition(".")[0]
        others = [f"https://{name}{digit}.spam.example/" for digit in "0123456789"]
        self[host] = Site(links={"/": [*others, f"https://{host}/own"], "/own": []})
        return self[host]


async def hosts_of(world: World) -> set[str]:
    """Return the hosts of the owner that have a row."""
    rows = await world.frontier_store.active_hosts(range(BUCKETS))
    return {name for name, _ in rows if name.endswith(".spam.example")} | {
        name for name in world.fetches if name.endswith(".spam.example")
    }


async def test_wildcard_dns_brings_few_new_hosts() -> None:
    world = World(Wildcard(), CrawlSettings(delay_seconds=1, max_pages_per_host=5), 1, 0.0)
    world.seed("https://x.spam.example/")
    await world.run(hours=0.01)
    assert MAX_AT_ONCE / 2 < len(await hosts_of(world)) <= MAX_AT_ONCE + 1
    own = [url for url in world.pages() if url.endswith(".spam.example/own")]
    assert own, "known hosts are crawled on"


async def test_hosts_that_a_person_gives_are_not_counted() -> None:
    world = World(Wildcard(), CrawlSettings(delay_seconds=1), 1, 0.0)
    for number in range(2 * MAX_AT_ONCE):
        world.seed(f"https://x{number}.spam.example/", same_host=True)
    await world.run(hours=0.01)
    assert len({url.split("/")[2] for url in world.pages()}) == 2 * MAX_AT_ONCE


async def test_links_of_a_stranger_leave_room_for_the_hosts_that_others_lead_to() -> None:
    junk = [f"https://nx{number}.spam.example/" for number in range(2 * MAX_AT_ONCE)]
    sites = {f"nx{number}.spam.example": Site(links={"/": []}) for number in range(2 * MAX_AT_ONCE)} | {
        "evil.example": Site(links={"/": junk}),
        "good.example": Site(links={"/": ["https://real.spam.example/"]}),
        "www.spam.example": Site(links={"/": ["https://own.spam.example/"]}),
        "real.spam.example": Site(links={"/": []}),
        "own.spam.example": Site(links={"/": []}),
    }
    world = World(sites, CrawlSettings(delay_seconds=1), 1, 0.0)
    world.seed("https://evil.example/")
    await world.run(hours=0.01)
    assert len(await hosts_of(world)) == MAX_AT_ONCE // PART
    world.seed("https://good.example/")
    world.seed("https://www.spam.example/")
    await world.run(hours=0.01)
    assert {"https://real.spam.example/", "https://own.spam.example/"} <= set(world.pages())
