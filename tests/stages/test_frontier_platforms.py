"""Who leads to a URL: surely its owner, or somebody else, as another blog of a platform is."""

from typing import Any

import pytest

from schemas import PageDiscovered
from schemas.ids import page_id
from streams.allowed_origins import AllowedOrigins
from streams.crawl.domains import surely_independent, surely_one_owner
from streams.crawl.frontier.scheduling.change_hints import MAX_SITEMAPS
from streams.crawl.frontier.scheduling.ordering import as_of_finder, finder_of, speaker_of
from streams.crawl.urls import host_of
from tests.stages.frontier_world import CrawlOptions, Site, World, discovered

VICTIM = "https://victim.example"
MAPS = "https://maps.test/victim/"
SITEMAPS = (
    f"{MAPS}s.xml",
    "https://service.example/sitemap.xml?site=victim",
    "https://service.example/maps/s.xml?site=/victim/",
    "https://top.example/victim.xml",
    "https://home.example/",
)
"""The sitemaps that the robots.txt of the host names."""
OPENED = AllowedOrigins(frozenset({"http://*.corp.example"}))

# The URL's host, who led to it and how -> the stranger, or "".
FINDERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a page of another domain": (VICTIM, {"referrer": "https://other.example/"}, "other.example"),
    "its own page": (VICTIM, {"referrer": f"{VICTIM}/b"}, ""),
    "the same name with www": (VICTIM, {"referrer": "https://www.victim.example/"}, ""),
    "without it": ("https://www.victim.example", {"referrer": f"{VICTIM}/"}, ""),
    "another name below its domain": (VICTIM, {"referrer": "https://shop.victim.example/"}, "shop.victim.example"),
    "the domain of a subdomain": ("https://shop.victim.example", {"referrer": f"{VICTIM}/"}, "victim.example"),
    "two blogs of a platform that no list names": (
        "https://victim.substack.com",
        {"referrer": "https://evil.substack.com/"},
        "evil.substack.com",
    ),
    "a blog that is called www": ("https://www.pages.dev", {"referrer": "https://pages.dev/"}, "pages.dev"),
    "a name in another script": (
        "https://victim.xn--p1ai",
        {"referrer": "https://evil.xn--p1ai/"},
        "evil.xn--p1ai",
    ),
    "a redirect": (VICTIM, {"referrer": "https://other.example/", "why": "redirect"}, "other.example"),
    "a canonical link": (VICTIM, {"referrer": "https://other.example/", "why": "canonical"}, "other.example"),
    "somebody's sitemap": (VICTIM, {"referrer": "https://other.example/", "why": "sitemap"}, "other.example"),
    "somebody's robots.txt": (
        VICTIM,
        {"referrer": "https://other.example/robots.txt", "why": "sitemap", "purpose": "sitemap", "depth": 0},
        "other.example",
    ),
    "its own sitemap": (VICTIM, {"referrer": f"{VICTIM}/sitemap.xml", "why": "sitemap"}, ""),
    "a sitemap that its robots.txt names": (VICTIM, {"referrer": f"{MAPS}s.xml", "why": "sitemap"}, ""),
    "a part of it": (VICTIM, {"referrer": f"{MAPS}parts/1.xml", "why": "sitemap"}, ""),
    "a sitemap with a query": (VICTIM, {"referrer": SITEMAPS[1], "why": "sitemap"}, ""),
    "another query of that service": (
        VICTIM,
        {"referrer": "https://service.example/sitemap.xml?site=evil", "why": "sitemap"},
        "service.example",
    ),
    "a longer query": (VICTIM, {"referrer": f"{SITEMAPS[1]}2", "why": "sitemap"}, "service.example"),
    "a query that ends like a folder": (VICTIM, {"referrer": f"{SITEMAPS[2]}2", "why": "sitemap"}, "service.example"),
    "another file beside it": (VICTIM, {"referrer": "https://service.example/maps/evil.xml"}, "service.example"),
    "a sitemap at the top of a server": (VICTIM, {"referrer": SITEMAPS[3], "why": "sitemap"}, ""),
    "another one there": (VICTIM, {"referrer": "https://top.example/evil.xml", "why": "sitemap"}, "top.example"),
    "a server's first page as the sitemap": (VICTIM, {"referrer": SITEMAPS[4], "why": "sitemap"}, ""),
    "a page of that server": (VICTIM, {"referrer": "https://home.example/evil"}, "home.example"),
    "another folder of that server": (
        VICTIM,
        {"referrer": "https://maps.test/evil/s.xml", "why": "sitemap"},
        "maps.test",
    ),
    "a folder with a longer name": (VICTIM, {"referrer": "https://maps.test/victim2/s.xml"}, "maps.test"),
    "a seed that redirects": (VICTIM, {"referrer": "https://other.example/", "why": "redirect", "depth": 0}, ""),
    "a seed": (VICTIM, {"why": "seed", "depth": 0}, ""),
    "nobody says who": (VICTIM, {}, ""),
    "hosts of the operator's network": ("http://a.corp.example", {"referrer": "http://wiki.corp.example/"}, ""),
    "another port of the host": ("https://a.corp.example:8443", {"referrer": "https://a.corp.example/"}, ""),
    "addresses": ("https://10.0.0.1", {"referrer": "https://10.1.0.1/"}, "10.1.0.1"),
}


@pytest.mark.parametrize(("site", "fields", "finder"), FINDERS.values(), ids=FINDERS)
def test_who_is_a_stranger(site: str, fields: dict[str, Any], finder: str) -> None:
    found = PageDiscovered(
        page_id=page_id(f"{site}/a"), url=f"{site}/a", host=host_of(site), **{"why": "link", "depth": 1, **fields}
    )
    assert finder_of(found, map(speaker_of, SITEMAPS), OPENED) == finder


def test_a_page_in_somebody_elses_sitemap_is_a_link() -> None:
    own = discovered(f"{VICTIM}/a", why="sitemap", modified=(1,), priorities=(90,), change_seconds=(60,))
    assert as_of_finder(own, "") == own
    assert as_of_finder(own, "evil.example") == discovered(f"{VICTIM}/a")


PLATFORMS = (
    "blogspot.com", "github.io", "gitlab.io", "netlify.app", "pages.dev", "vercel.app", "workers.dev",
    "herokuapp.com", "web.app", "fly.dev", "substack.com", "tumblr.com", "medium.com", "wordpress.com",
    "livejournal.com", "bandcamp.com", "weebly.com", "fandom.com", "neocities.org", "free.fr", "wixsite.com",
    "squarespace.com", "ghost.io", "hatenablog.com", "over-blog.com", "typepad.com", "webnode.com", "jimdofree.com",
    "carrd.co", "bearblog.dev", "write.as", "micro.blog", "dreamwidth.org", "hashnode.dev", "mystrikingly.com",
    "uk.com", "blogs.co.uk", "sites.com.br", "xn--80ak6aa92e.com", "blog.gov.pl",
)  # fmt: skip
"""Platforms that give names below their own. The public suffix list names some of them."""


@pytest.mark.parametrize("platform", PLATFORMS)
def test_two_names_of_a_platform_are_not_surely_one_owners_and_one_witness(platform: str) -> None:
    victim, evil = f"victim.{platform}", f"evil.{platform}"
    assert not surely_one_owner(victim, evil)
    assert not surely_independent(victim, evil)
    assert not surely_one_owner(victim, platform), "nor is the platform itself"


WAYS_OF_JUNK: dict[str, dict[str, Any]] = {
    "links": {},
    "redirects": {"why": "redirect"},
    "canonical links": {"why": "canonical"},
    "a sitemap": {"why": "sitemap"},
    "a robots.txt that names sitemaps": {"why": "sitemap", "purpose": "sitemap", "depth": 0},
    "feeds of pages": {"purpose": "sitemap"},
}


STRANGER_FIRST, SITE_FIRST = 1, -1
ORDERS = [
    # platform, which blog is seen first
    ("substack.com", STRANGER_FIRST),
    ("github.io", SITE_FIRST),
    pytest.param("substack.com", SITE_FIRST, marks=pytest.mark.night),
    pytest.param("github.io", STRANGER_FIRST, marks=pytest.mark.night),
    pytest.param("blogs.co.uk", STRANGER_FIRST, marks=pytest.mark.night),
    pytest.param("blogs.co.uk", SITE_FIRST, marks=pytest.mark.night),
]


@pytest.mark.parametrize("way", WAYS_OF_JUNK)
@pytest.mark.parametrize(("platform", "order"), ORDERS)
async def test_a_blog_displaces_no_page_of_another_blog_of_its_platform(platform: str, order: int, way: str) -> None:
    victim, evil = f"https://victim.{platform}", f"https://evil.{platform}"
    own, junk = [f"{victim}/page{n}" for n in range(20)], [f"{victim}/?junk={n}" for n in range(200)]
    paths = {url.removeprefix(victim): list[str]() for url in (*own, *junk)}
    world = World(
        {f"victim.{platform}": Site(links={"/": own, **paths}), f"evil.{platform}": Site(links={"/": []})},
        CrawlOptions(delay_seconds=1, max_pages_per_host=30),
        1,
        0,
        0,
    )
    fields = {"referrer": f"{evil}/s", "crawl_id": "c", **WAYS_OF_JUNK[way]}
    if order == SITE_FIRST:
        world.seed(f"{victim}/")
    for url in junk:
        world.send(discovered(url, **fields))
    world.now += 1
    if order == STRANGER_FIRST:
        world.seed(f"{victim}/")
    await world.run()
    fetched = [url for _, _, url in world.fetches[f"victim.{platform}"]]
    assert set(own) <= set(fetched)
    most = MAX_SITEMAPS if "purpose" in fields else 6  # sitemaps and feeds cost no budget of pages
    assert len([url for url in fetched if "junk" in url]) <= most


@pytest.mark.parametrize("is_named", [True, False], ids=["named by robots.txt", "named by nobody"])
async def test_a_sitemap_on_another_host_speaks_for_the_hosts_whose_robots_txt_names_it(is_named: bool) -> None:
    robots = "User-agent: *\nAllow: /\n" + "Sitemap: https://maps.test/victim/s.xml\n" * is_named
    paths = {"/": list[str](), "/a": list[str]()}
    sites = {"victim.example": Site(robots=robots, links=paths), "maps.test": Site(links={"/victim/s.xml": []})}
    world = World(sites, CrawlOptions(delay_seconds=1), 1, 0, 0)
    world.seed(f"{VICTIM}/", max_depth=0)
    await world.run()
    for part in ("victim/part.xml", "evil/s.xml"):
        world.send(discovered(f"{VICTIM}/a", why="sitemap", referrer=f"https://maps.test/{part}", crawl_id=part))
        await world.run()
        row = await world.frontier_store.url("victim.example", page_id(f"{VICTIM}/a"))
        assert row
        assert row.stranger == ("" if is_named else "maps.test")
        world.now += 1
    assert f"{VICTIM}/a" in world.pages()
