"""Sitemaps of hosts to which only links lead: asked for once, at a true depth, and within bounds."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from schemas import Event, PageDiscovered, PageFetched
from schemas.ids import page_id
from streams.crawl.frontier.hosts.host_state import CrawlShare, Host
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.frontier.scheduling.change_hints import MAX_SITEMAPS
from streams.pages.sandbox.pool import ParsePool
from streams.stores.opener import Stores
from streams.stores.rows import read_row, row_of
from tests.inline_sandbox import inline_parse_pool
from tests.stages.frontier_world import Site, delivery, discovered
from tests.stages.test_frontier_sitemaps import HOST, INDEX, WorldWithSitemaps

LINKER = "https://b.example"
NESTED = f"<sitemapindex><sitemap><loc>{HOST}/index.xml</loc></sitemap></sitemapindex>"


class LinkedWorld(WorldWithSitemaps):
    """A world in which a page of another site links to pages of the host with sitemaps."""

    def __init__(self, pool: ParsePool, *links: str, kill: float = 0.0, **settings: Any) -> None:
        super().__init__(pool, kill, **{"max_pages_per_host": 100, **settings})
        self.sites["b.example"] = Site(links={"/": [f"{HOST}{path}" for path in links or ("/",)]})
        self.asked: list[PageDiscovered] = []
        """The events that ask for sitemaps of robots.txt."""

    def _send(self, event: Event, id_: UUID) -> None:
        if isinstance(event, PageDiscovered) and (event.referrer or "").endswith("/robots.txt"):
            self.asked.append(event)
        super()._send(event, id_)

    def of_host(self) -> set[str]:
        """Return the paths that were requested of the host with sitemaps."""
        return {url.removeprefix(HOST) for url in self.pages() if url.startswith(HOST)}


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


ALL = {"/", "/a", "/b", "/index.xml", "/one.xml"}
DEPTHS = [
    (0, 1, {}, {"/"}, "a link is the last hop, so the sitemap's pages are one too far"),
    (0, 2, {}, ALL, "the pages of the sitemap count as links of the linked page"),
    (0, None, {}, ALL, "a crawl without a limit"),
    (3, 4, {}, {"/"}, "the seed's own depth counts"),
    (3, 5, {}, ALL, "the same with one hop more"),
    (0, None, {"max_depth": 1}, {"/"}, "the limit of the operator"),
    (0, 9, {"sitemaps": False}, {"/"}, "the operator wants no sitemaps"),
    (0, 9, {"sitemap_pages": 1}, ALL - {"/b"}, "a bound of new pages of sitemaps in a day"),
]


@pytest.mark.parametrize("kill", [0.0, 0.01], ids=["", "while the frontier is killed"])
@pytest.mark.parametrize(("depth", "max_depth", "settings", "requested", "why"), DEPTHS)
async def test_the_pages_of_a_linked_hosts_sitemaps_keep_the_depth_of_the_crawl(
    pool: ParsePool, kill: float, depth: int, max_depth: int | None, settings: Any, requested: set[str], why: str
) -> None:
    world = LinkedWorld(pool, kill=kill, **settings)
    world.seed(f"{LINKER}/", depth=depth, max_depth=max_depth)
    await world.run()
    assert world.of_host() == requested, why
    depths = {
        answer.url.removeprefix(HOST): answer.depth - depth for answer in world.answers if answer.purpose != "robots"
    }
    expected = {"/": 1, "/a": 2, "/b": 2, "/index.xml": 1, "/one.xml": 2, f"{LINKER}/": 0}
    assert depths == {path: expected[path] for path in (*requested, f"{LINKER}/")}, why
    assert (await crawl_progress(Stores(frontier=world.frontier_store), "c")).pending == 0


SITES = [
    ({}, 1, "three pages, and one asks"),
    ({"script": {"/": [{"outcome": "gone", "status": 404}]}}, 1, "the first page is gone, so the next one asks"),
    ({"redirects": {"/": f"{HOST}/a"}}, 1, "the target of a redirect asks"),
    ({"robots": None}, 0, "no robots.txt names a sitemap"),
    ({"robots": "User-agent: *\nAllow: /\n"}, 0, "a robots.txt without a sitemap"),
    ({"robots": f"User-agent: *\nDisallow: /\nSitemap: {HOST}/index.xml\n"}, 0, "no page of the host may be fetched"),
]


@pytest.mark.parametrize("recrawl", [False, True], ids=["", "with further visits"])
@pytest.mark.parametrize(("site", "times", "why"), SITES)
async def test_a_crawl_asks_for_the_sitemaps_of_a_host_once(
    pool: ParsePool, recrawl: bool, site: dict[str, Any], times: int, why: str
) -> None:
    world = LinkedWorld(pool, "/", "/a", "/b", recrawl=recrawl)
    for name, value in site.items():
        setattr(world.sites["a.example"], name, value)
    world.seed(f"{LINKER}/")
    await world.run(hours=72)
    assert [event.url for event in world.asked] == [f"{HOST}/index.xml"] * times, why
    requests = world.pages().count(f"{HOST}/index.xml")
    assert requests == times or (recrawl and 2 * times <= requests <= 4 * times), "a sitemap is visited each day"


async def test_another_crawl_asks_again_and_reads_each_sitemap_again(pool: ParsePool) -> None:
    world = LinkedWorld(pool, "/")
    for crawl_id in ("c", "d"):
        world.seed(f"{LINKER}/", crawl_id=crawl_id)
        world.sites["b.example"].links["/"].append(f"{HOST}/a")
        await world.run()
    assert [event.crawl_id for event in world.asked] == ["c"], "all pages of the host were known: none was fetched"
    world.sites["a.example"].links["/new"] = []
    world.send(discovered(f"{HOST}/new", crawl_id="d", referrer=f"{LINKER}/"))
    await world.run()
    assert [event.crawl_id for event in world.asked] == ["c", "d"]
    assert world.pages().count(f"{HOST}/index.xml") == 2


async def test_a_worker_that_starts_anew_asks_no_further_time_for_a_known_sitemap(pool: ParsePool) -> None:
    world = LinkedWorld(pool)
    world.sites["a.example"].links |= {"/a": [f"{HOST}/c"], "/c": [f"{HOST}/d"], "/d": []}
    world.seed(f"{LINKER}/")
    for _ in range(40):
        await world.run(hours=1 / 3_600)
        world.restart()
    await world.run()
    assert ALL | {"/c", "/d"} == world.of_host()
    assert world.pages().count(f"{HOST}/index.xml") == world.pages().count(f"{HOST}/one.xml") == 1


async def test_a_redelivery_asks_again_since_a_crash_may_have_lost_the_events(pool: ParsePool) -> None:
    world = LinkedWorld(pool)
    world.seed(f"{LINKER}/")
    await world.run()
    answer = next(one for one in world.answers if one.url == f"{HOST}/")
    for is_new_worker in (False, True):
        if is_new_worker:
            world.restart()
        again = await world.agent.handle(delivery(answer, UUID(int=1), world.now))
        assert [event.url for event in again if isinstance(event, PageDiscovered)] == [f"{HOST}/index.xml"]
        requests = len(world.pages())
        for event in again:
            world.send(event)
        await world.run()
        assert len(world.pages()) == requests, "the sitemap is known"


FILES = [
    (0, 1, "a seed's host: all sitemaps", MAX_SITEMAPS + 4),
    (1, 1, "links lead to the host: some of an index", MAX_SITEMAPS - 1),
    (1, 30, "links lead to the host: some of robots.txt", 0),
]


@pytest.mark.parametrize(("depth", "named", "why", "parts"), FILES)
async def test_links_lead_to_a_bounded_number_of_sitemaps(
    pool: ParsePool, depth: int, named: int, why: str, parts: int
) -> None:
    world, site = LinkedWorld(pool), "a.example"
    numbers = range(MAX_SITEMAPS + 4)
    locations = "".join(f"<sitemap><loc>{HOST}/part-{n}.xml</loc></sitemap>" for n in numbers)
    world.sites[site].robots = "User-agent: *\nAllow: /\n" + "".join(
        f"Sitemap: {HOST}/i-{n}.xml\n" for n in range(named)
    )
    for path in [f"/i-{n}.xml" for n in range(named)] + [f"/part-{n}.xml" for n in numbers]:
        world.sites[site].links[path] = []
        world.files[f"{HOST}{path}"] = f"<sitemapindex>{locations}</sitemapindex>" if "i-" in path else "<urlset/>"
    world.seed(f"{HOST}/" if depth == 0 else f"{LINKER}/")
    await world.run()
    found = world.of_host()
    assert sum("part" in path for path in found) == parts, why
    assert sum("i-" in path for path in found) == (min(named, MAX_SITEMAPS) if depth else named), why


NAMED_BY_OTHERS: dict[str, dict[str, Any]] = {
    "a stranger's robots.txt": {"referrer": "https://evil.example/robots.txt", "why": "sitemap", "depth": 0},
    "a sibling's robots.txt": {"referrer": "https://evil.a.example/robots.txt", "why": "sitemap", "depth": 0},
    "feeds of a sibling's page": {"referrer": "https://evil.a.example/", "why": "link", "depth": 1},
}


@pytest.mark.parametrize("fields", NAMED_BY_OTHERS.values(), ids=NAMED_BY_OTHERS)
async def test_sitemaps_that_another_host_names_use_up_none_of_the_hosts_own(
    pool: ParsePool, fields: dict[str, Any]
) -> None:
    world = LinkedWorld(pool)
    junk = [f"/junk-{n}.xml" for n in range(MAX_SITEMAPS + 4)]
    world.files |= {f"{HOST}{path}": "<urlset/>" for path in junk}
    world.sites["a.example"].links |= {path: [] for path in junk}
    for path in junk:
        world.send(discovered(f"{HOST}{path}", purpose="sitemap", crawl_id="c", **fields))
    await world.run()
    world.seed(f"{LINKER}/")
    await world.run()
    assert world.of_host() == ALL | set(junk[:MAX_SITEMAPS])


async def test_an_index_in_an_index_is_ignored_at_any_depth(pool: ParsePool) -> None:
    for depth in (0, 1, 5):
        world = LinkedWorld(pool)
        world.files |= {f"{HOST}/index.xml": NESTED.replace("index.xml", "one.xml"), f"{HOST}/one.xml": INDEX}
        world.files[f"{HOST}/one.xml"] = INDEX.replace("one.xml", "sitemap.xml")
        world.seed(f"{LINKER}/", depth=depth)
        await world.run()
        assert world.of_host() == {"/", "/index.xml", "/one.xml"}


@pytest.mark.parametrize(
    ("host", "same_host", "has_page"),
    [
        ("maps.a.example", True, False),
        ("maps.a.example", False, True),
        ("www.a.example", True, True),  # one site with the bare name
    ],
)
async def test_a_crawl_of_the_seeds_hosts_reads_a_sitemap_on_another_host_and_no_page_there(
    pool: ParsePool, host: str, same_host: bool, has_page: bool
) -> None:
    sitemap, page = f"https://{host}/s.xml", f"https://{host}/page"
    world = LinkedWorld(pool)
    world.sites[host] = Site(links={"/s.xml": [], "/page": []})
    world.files[sitemap] = f"<urlset><url><loc>{page}</loc></url></urlset>"
    world.sites["a.example"].robots = f"User-agent: *\nAllow: /\nSitemap: {sitemap}\n"
    world.seed(f"{HOST}/", same_host=same_host)
    await world.run()
    assert sitemap in world.pages(), "robots.txt may name a sitemap on any host"
    assert (page in world.pages()) is has_page


async def test_each_of_many_hosts_that_one_page_links_to_costs_one_request_for_a_sitemap(pool: ParsePool) -> None:
    world = LinkedWorld(pool)
    hosts = [f"h{n}.example" for n in range(40)]
    for host in hosts:
        url = f"https://{host}/s.xml"
        world.sites[host] = Site(
            f"User-agent: *\nAllow: /\nSitemap: {url}\n", links={path: [] for path in ("/", "/2", "/s.xml")}
        )
        world.files[url] = "<urlset/>"
    world.sites["b.example"].links["/"] = [f"https://{host}{path}" for host in hosts for path in ("/", "/2")]
    world.seed(f"{LINKER}/")
    await world.run()
    assert {host: len([one for one in world.fetches[host] if "s.xml" in one[2]]) for host in hosts} == dict.fromkeys(
        hosts, 1
    )
    assert len(world.asked) == len(hosts)


async def test_an_imported_page_asks_for_nothing(pool: ParsePool) -> None:
    world = LinkedWorld(pool, max_depth=0)
    world.seed(f"{HOST}/")
    await world.run()
    imported = PageFetched(
        page_id=page_id(f"{HOST}/a"),
        url=f"{HOST}/a",
        host="a.example",
        outcome="ok",
        generation=world.now,
        source="warc",
    )
    assert await world.agent.handle(delivery(imported, UUID(int=2), world.now)) == []


async def test_the_host_row_keeps_that_a_crawl_asked(pool: ParsePool) -> None:
    world = LinkedWorld(pool)
    world.seed(f"{LINKER}/")
    await world.run()
    row = await world.frontier_store.host("a.example")
    assert row is not None
    assert Host.from_row(row).crawls["c"].has_asked
    assert Host.from_row(row).hints.sitemaps == len(("index.xml", "one.xml"))


ROWS = [
    (CrawlShare(seeded=True, scheduled=5), {"seeded": True, "scheduled": 5}),
    (CrawlShare(scheduled=5, strangers=2), {"scheduled": 5, "strangers": 2}),
    (CrawlShare(scheduled=5, has_asked=True), {"scheduled": 5, "has_asked": True}),
]


@pytest.mark.parametrize(("share", "row"), ROWS)
def test_the_row_of_a_share(share: CrawlShare, row: dict[str, Any]) -> None:
    assert row_of(share) == row
    assert read_row(CrawlShare, row) == share
