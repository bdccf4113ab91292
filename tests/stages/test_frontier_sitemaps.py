"""Sitemaps on their way: from robots.txt to the pages that they name, through the frontier and the normalize stage."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest

from schemas import PageFetched, PageSettled
from schemas.ids import event_id, page_id
from streams.crawl.frontier.hosts.host_state import Host
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.scope import make_patterns
from streams.crawl.seeds import as_sitemap, seed
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.stores.opener import Stores
from tests.inline_sandbox import inline_parse_pool
from tests.stages.frontier_world import CrawlOptions, Site, World, delivery

HOST = "https://a.example"
INDEX = f"<sitemapindex><sitemap><loc>{HOST}/one.xml</loc></sitemap></sitemapindex>"
ONE = f"<urlset><url><loc>{HOST}/a</loc></url><url><loc>{HOST}/b</loc></url><url><loc>https://b.example/</loc></url></urlset>"
OTHER = "https://other.test"
FOREIGN = f"<urlset><url><loc>{HOST}/a</loc></url></urlset>"
"""A sitemap on another host than its pages (sitemaps.org, cross submits)."""


class WorldWithSitemaps(World):
    """A world in which the normalize stage reads sitemaps. `other`: robots.txt names one on another host, too."""

    def __init__(self, pool: ParsePool, kill: float = 0.0, *, other: bool = False, **settings: Any) -> None:
        robots = f"User-agent: *\nAllow: /\nSitemap: {HOST}/index.xml\nSitemap: www.a.example/one.xml\n"
        robots += f"Sitemap: {OTHER}/s.xml\n" if other else ""
        paths = ("/", "/a", "/b", "/index.xml", "/one.xml", "/sitemap.xml")
        sites = {"a.example": Site(robots=robots, links={path: [] for path in paths})}
        sites["other.test"] = Site(links={"/s.xml": []})
        settings = {"delay_seconds": 1, "max_pages_per_host": 3, **settings}
        super().__init__(sites, CrawlOptions(**settings), 1, kill)
        self.files = {f"{HOST}/index.xml": INDEX, f"{HOST}/one.xml": ONE, f"{OTHER}/s.xml": FOREIGN}
        self.normalize = NormalizeAgent(Stores(blobs=self.blobs), pool)
        self.is_read = True
        """The normalize stage reads sitemaps."""

    async def _arrive(self, fetched: PageFetched, id_: UUID) -> None:
        if fetched.purpose == "sitemap" and fetched.outcome == "ok":
            fetched = fetched.model_copy(update={"body_ref": await self.blobs.put(self.files[fetched.url].encode())})
        await super()._arrive(fetched, id_)
        if fetched.purpose == "sitemap" and self.is_read:
            for n, event in enumerate(await self.normalize.handle(delivery(fetched, id_, self.now))):
                self._send(event, event_id(event.event_type(), id_.hex, event.subject(), n))


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


async def test_the_pages_of_sitemaps_are_fetched_and_sitemaps_cost_no_budget(pool: ParsePool) -> None:
    for kill in (0.0, 0.01):
        world = WorldWithSitemaps(pool, kill, other=True)
        world.seed(f"{HOST}/")
        await world.run()
        expected = [f"{HOST}/{path}" for path in ("", "a", "b", "index.xml", "one.xml")]
        assert sorted(set(world.pages())) == [*expected, f"{OTHER}/s.xml"]
        progress = await crawl_progress(Stores(frontier=world.frontier_store), "c")
        assert (progress.pending, progress.failed, progress.refused) == (0, 0, 0)


async def test_a_crawl_of_a_sitemap_follows_no_links(pool: ParsePool) -> None:
    world = WorldWithSitemaps(pool, sitemaps=False)
    world.sites["a.example"].links["/a"] = [f"{HOST}/c"]
    world.sites["a.example"].links["/c"] = []
    world.send(as_sitemap(seed(f"{HOST}/index.xml", depth=2), 5).model_copy(update={"crawl_id": "c"}))
    await world.run()
    assert sorted(world.pages()) == [f"{HOST}/{path}" for path in ("a", "b", "index.xml", "one.xml")]


@pytest.mark.parametrize(("named", "sitemaps"), [(True, ["index.xml", "one.xml"]), (False, ["sitemap.xml"])])
async def test_a_host_names_its_sitemaps_in_robots_txt(pool: ParsePool, named: bool, sitemaps: list[str]) -> None:
    world = WorldWithSitemaps(pool, sitemaps=False)
    if not named:
        world.sites["a.example"].robots = "User-agent: *\nAllow: /\n"
    world.files[f"{HOST}/robots.txt"] = world.sites["a.example"].robots or ""
    world.files[f"{HOST}/sitemap.xml"] = ONE
    patterns = make_patterns(["/a"], [])  # they are for pages, not for sitemaps
    first = as_sitemap(seed(HOST, depth=2), 5).model_copy(update={"crawl_id": "c", "patterns": patterns})
    world.send(first)
    await world.run()
    assert sorted(world.pages()) == sorted(f"{HOST}/{path}" for path in ("a", *sitemaps))


NEW_PAGES = [
    ({}, 1, ["a", ""], "a page that only the sitemap names, in a day"),
    ({}, 0, [""], "no pages of sitemaps"),
    ({"max_pages": 3}, 1, ["a", "b", ""], "the crawl sets a number"),
    ({"max_pages": 2}, 9, ["a", ""], "which is the smaller one"),
]


@pytest.mark.parametrize(("crawl", "in_a_day", "fetched", "why"), NEW_PAGES)
async def test_a_number_of_new_pages_of_a_host_come_from_sitemaps_in_a_day(
    pool: ParsePool, crawl: dict[str, Any], in_a_day: int, fetched: list[str], why: str
) -> None:
    for kill in (0.0, 0.01):
        world = WorldWithSitemaps(pool, kill, sitemap_pages=in_a_day)
        world.seed(f"{HOST}/", **crawl)
        await world.run()
        assert {url for url in world.pages() if not url.endswith(".xml")} == {f"{HOST}/{path}" for path in fetched}, why


async def test_a_link_leads_to_a_page_that_is_one_too_many_of_a_sitemap(pool: ParsePool) -> None:
    world = WorldWithSitemaps(pool, sitemap_pages=1)
    world.sites["a.example"].links["/a"] = [f"{HOST}/b"]
    world.seed(f"{HOST}/")
    await world.run()
    assert {f"{HOST}/a", f"{HOST}/b"} <= set(world.pages())


async def test_the_next_day_brings_further_pages_of_a_sitemap(pool: ParsePool) -> None:
    world = WorldWithSitemaps(pool, sitemap_pages=1, recrawl=True)
    world.seed(f"{HOST}/")
    await world.run(hours=20)
    assert f"{HOST}/b" not in world.pages()
    await world.run(hours=10)
    assert f"{HOST}/b" in world.pages()


async def test_a_crawl_is_not_done_before_the_pages_of_its_sitemaps_are_known(pool: ParsePool) -> None:
    world = WorldWithSitemaps(pool)
    world.files[f"{HOST}/index.xml"] = "<urlset/>"
    stores, url = Stores(frontier=world.frontier_store), f"{HOST}/index.xml"
    world.seed(url, purpose="sitemap")
    world.is_read = False
    await world.run()
    assert not (await crawl_progress(stores, "c")).done, "the normalize stage has not read it yet"
    world.send(PageSettled(page_id=page_id(url), url=url, host="a.example", generation=world.answers[-1].generation,
        verdict="changed", purpose="sitemap"))  # fmt: skip
    await world.run()
    assert (await crawl_progress(stores, "c")).done
    row = await world.frontier_store.host("a.example")
    assert row is not None
    assert not Host.from_row(row).record.settled, "a sitemap is no page of the host"


async def test_sitemaps_are_not_read_where_the_operator_does_not_want_it(pool: ParsePool) -> None:
    world = WorldWithSitemaps(pool, sitemaps=False)
    world.seed(f"{HOST}/")
    await world.run()
    assert world.pages() == [f"{HOST}/"]


async def test_a_crawl_of_single_pages_reads_no_sitemap(pool: ParsePool) -> None:
    world = WorldWithSitemaps(pool)
    world.seed(f"{HOST}/", max_depth=0)
    await world.run()
    assert world.pages() == [f"{HOST}/"]
