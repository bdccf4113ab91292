"""Feeds on loopback: from the page that names one to the pages of its entries, and feeds that are hostile."""

import gzip
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from streams.pages.sandbox.pool import ParsePool
from tests.hostile.servers import Script, bad_server, response
from tests.hostile.traps import HOST, StagesCrawl, page
from tests.sizes import size

SITE = f"https://{HOST}"
FOREIGN = "https://other.example"
MAX_PAGES = 25
"""Budget of the host in each crawl."""
MAX_FACTOR = 2.5
"""The factor of a budget for a host with unique pages."""
MAX_NEW_URLS = 1_000
"""URLs that the sitemaps and feeds of a host may add in a day."""


def rss(*links: str, more: str = "") -> bytes:
    items = "".join(f"<item><link>{link}</link></item>" for link in links)
    return f'<?xml version="1.0"?>{more}<rss version="2.0"><channel><title>News</title>{items}</channel></rss>'.encode()


def atom(*links: str) -> bytes:
    entries = "".join(f'<entry><link rel="alternate" href="{link}"/></entry>' for link in links)
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()


def json_feed(*links: str) -> bytes:
    items = ", ".join(f'{{"id": "{link}", "url": "{link}"}}' for link in links)
    return f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{items}]}}'.encode()


RSS_TYPE, ATOM_TYPE, JSON_TYPE = "application/rss+xml", "application/atom+xml", "application/feed+json"


class Scripts(dict[str, Script]):
    """The answers of a site, which has no other pages."""

    def __missing__(self, path: str) -> Script:
        return response(status="404 Not Found")


@dataclass
class Found:
    """The requests of a crawl of a site with a feed, and the URLs that it kept."""

    paths: list[str]
    rows: int
    """Number of URLs that the frontier has."""
    hosts: set[str] = field(default_factory=set)

    @property
    def pages(self) -> list[str]:
        return sorted(path for path in self.paths if path not in ("/robots.txt", "/feed"))


async def crawl(pool: ParsePool, folder: Path, kind: str, feed: Script, *pages: str) -> Found:
    """Crawl a site whose first page names the feed; other pages exist as far as they are named."""
    named = page("/").replace(b"<main>", f'<link rel="alternate" type="{kind}" href="/feed"><main>'.encode())
    scripts = Scripts({"/": response(named), "/feed": feed, **{path: response(page(path)) for path in pages}})
    async with bad_server(folder, scripts) as server:
        settings = server.settings(delay_seconds=0, max_pages_per_host=MAX_PAGES, recrawl=False, rights_files=False)
        made = StagesCrawl(settings, pool)
        try:
            await made.seed("/")
            rows = await made.rows()
        finally:
            await made.fetcher.stop()
    return Found(made.found.paths, len(rows), {row.host for row in rows})


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


@pytest.mark.parametrize(
    ("kind", "feed"),
    [
        (RSS_TYPE, rss("/first", f"{SITE}/second")),
        (ATOM_TYPE, atom("/first", f"{SITE}/second")),
        (JSON_TYPE, json_feed("/first", f"{SITE}/second")),
    ],
    ids=["RSS", "Atom", "JSON Feed"],
)
async def test_the_pages_of_a_feed_are_queued_and_fetched(
    pool: ParsePool, tmp_path: Path, kind: str, feed: bytes
) -> None:
    found = await crawl(pool, tmp_path, kind, response(feed, content_type=kind), "/first", "/second")
    assert found.paths.count("/feed") == 1
    assert {"/", "/first", "/second"} <= set(found.pages)


LOLS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">' + "".join(
    f'<!ENTITY {chr(99 + n)} "{f"&{chr(98 + n)};" * 10}">' for n in range(12)
)
BOMB = gzip.compress(b"<rss><channel>" + b"<item>" + b" " * 60_000_000, 9)
HOSTILE: dict[str, tuple[str, Script]] = {
    "entities that grow": (RSS_TYPE, response(rss("/one", "/&n;", more=f"{LOLS}]>"), content_type=RSS_TYPE)),
    "an entity of a file": (
        RSS_TYPE,
        response(rss("/one", "/&x;", more='<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>')),
    ),
    "a bomb": (RSS_TYPE, response(BOMB, content_type=RSS_TYPE, content_encoding="gzip")),
    "a file that is a bomb": (RSS_TYPE, response(BOMB, content_type=RSS_TYPE)),
    "JSON that is nested": (JSON_TYPE, response(b'{"items": ' + b"[" * 900_000, content_type=JSON_TYPE)),
    "foreign hosts": (ATOM_TYPE, response(atom(*(f"{FOREIGN}/{n}" for n in range(500))), content_type=ATOM_TYPE)),
    "addresses that are no pages": (
        RSS_TYPE,
        response(rss("javascript:alert(1)", "file:///etc/passwd", "http://127.0.0.1/", "http://169.254.169.254/x")),
    ),
    "itself": (RSS_TYPE, response(rss("/feed", f"{SITE}/feed#a", "/feed?utm_source=rss"), content_type=RSS_TYPE)),
    "a redirect to itself": (RSS_TYPE, response(status="302 Found", location="/feed")),
    "an address without end": (RSS_TYPE, response(rss(f"/{'a' * 900_000}"), content_type=RSS_TYPE)),
    "a tag without end": (RSS_TYPE, response(b"<rss><item><link " + b"a=" * 450_000, content_type=RSS_TYPE)),
}


@pytest.mark.parametrize(("kind", "feed"), HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_feed_costs_the_site_nothing_but_its_request(
    pool: ParsePool, tmp_path: Path, kind: str, feed: Script
) -> None:
    found = await crawl(pool, tmp_path, kind, feed)
    assert found.pages[:1] == ["/"]
    assert len(found.paths) <= 10, found.paths
    assert found.hosts == {HOST}


async def test_a_feed_of_a_hundred_thousand_items_stays_within_bounds(pool: ParsePool, tmp_path: Path) -> None:
    links = [f"/item/{n}" for n in range(size(100_000))]
    feed = response(gzip.compress(rss(*links), 1), content_type=RSS_TYPE, content_encoding="gzip")
    found = await crawl(pool, tmp_path, RSS_TYPE, feed, *links[:MAX_NEW_URLS])
    assert "/item/0" in found.pages
    assert len(found.pages) <= MAX_PAGES * MAX_FACTOR
    assert found.rows <= MAX_NEW_URLS + 3
    assert found.hosts == {HOST}
