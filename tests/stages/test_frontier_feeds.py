"""Feeds that pages name, on their way: from a page to the entries, through the frontier and the normalize stage."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from uuid import UUID

import pytest

from schemas import PageDiscovered, PageFetched, PageSettled
from schemas.ids import event_id, page_id
from streams.crawl.fetch.outcomes import classify_response
from streams.crawl.frontier.progress import crawl_progress
from streams.crawl.frontier.scheduling.change_hints import MAX_FEEDS
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.settings import CrawlSettings
from streams.stores.opener import Stores, memory_stores
from tests.frontier_rows import stored_url
from tests.inline_sandbox import inline_parse_pool
from tests.stages.frontier_world import SECOND, START, Site, World, delivery

HOST = "https://a.example"
HOUR = 3_600
TEXT = "<p>A page whose text is long enough to be a page of its own, with a sentence or two about nothing.</p>"


def named(*feeds: str) -> str:
    """Return a page that names feeds."""
    return "".join(f'<link rel="alternate" type="application/rss+xml" href="{feed}">' for feed in feeds) + TEXT


def rss(entries: dict[str, int]) -> str:
    """Return a feed with entries by path, each with the time of its publication (seconds since the start)."""
    items = "".join(
        f"<item><link>{HOST}{path}</link><pubDate>{format_datetime(moment(at))}</pubDate></item>"
        for path, at in entries.items()
    )
    return f"<rss><channel><lastBuildDate>{{now}}</lastBuildDate>{items}</channel></rss>"


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(START // SECOND + seconds, UTC)


class WorldWithFeeds(World):
    """A world in which the normalize stage reads the pages and the feeds of one host."""

    def __init__(self, pool: ParsePool, files: dict[str, str], kill: float = 0.0, **settings: Any) -> None:
        sites = {"a.example": Site(links={path: [] for path in files})}
        super().__init__(sites, CrawlSettings(**{"delay_seconds": 1, "soft_404_probes": False, **settings}), 1, kill)
        self.files = files
        self.normalize = NormalizeAgent(replace(memory_stores(), blobs=self.blobs), pool)

    def publish(self, feed: str, entries: dict[str, int]) -> None:
        self.files |= {feed: rss(entries), **dict.fromkeys(entries, TEXT)}
        self.sites["a.example"].links |= {path: [] for path in self.files}

    async def _arrive(self, fetched: PageFetched, id_: UUID) -> None:
        path = fetched.url.removeprefix(HOST)
        if fetched.purpose != "robots" and fetched.outcome == "ok":
            body = self.files[path].replace("{now}", str(self.now)).encode()
            fetched = fetched.model_copy(
                update={"body_ref": await self.blobs.put(body), "headers": {"content-type": "text/html"}}
            )
        await super()._arrive(fetched, id_)
        outputs = await self.normalize.handle(delivery(fetched, id_, self.now))
        if fetched.purpose == "page" and fetched.outcome == "ok":
            outputs = [*outputs, PageSettled.following(fetched, verdict="unchanged")]
        for n, event in enumerate(outputs):
            self._send(event, event_id(event.event_type(), id_.hex, event.subject(), n))

    def visits(self, path: str) -> list[int]:
        """Return when a file was requested (seconds since the start)."""
        return [(begin - START) // SECOND for begin, _, url in self.fetches["a.example"] if url == f"{HOST}{path}"]


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


ATOM = f'<feed><entry><link href="{HOST}/new"/><updated>2026-01-01T00:00:00Z</updated></entry></feed>'
JSON = f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{{"url": "{HOST}/new"}}]}}'


@pytest.mark.parametrize("feed", [rss({"/new": 0}), ATOM, JSON], ids=["RSS", "Atom", "JSON Feed"])
@pytest.mark.parametrize("kill", [0.0, 0.02], ids=["", "while the frontier is killed"])
async def test_the_entries_of_a_feed_are_fetched(pool: ParsePool, feed: str, kill: float) -> None:
    world = WorldWithFeeds(pool, {"/": named("/feed", "https://b.example/feed", "mailto:x"), "/new": TEXT}, kill)
    world.files["/feed"] = feed
    world.sites["a.example"].links["/feed"] = []
    world.seed(f"{HOST}/")
    await world.run()
    assert sorted(set(world.pages())) == [f"{HOST}/{path}" for path in ("", "feed", "new")]
    progress = await crawl_progress(Stores(frontier=world.frontier_store), "c")
    assert progress.done


@pytest.mark.parametrize(
    ("crawl", "settings"),
    [({"max_depth": 0}, {}), ({"depth": 2, "max_depth": 2}, {}), ({}, {"sitemaps": False})],
    ids=["single pages", "the last pages of a crawl", "by setting"],
)
async def test_some_crawls_read_no_feeds(pool: ParsePool, crawl: dict[str, Any], settings: dict[str, Any]) -> None:
    world = WorldWithFeeds(pool, {"/": named("/feed"), "/feed": ATOM, "/new": TEXT}, **settings)
    world.seed(f"{HOST}/", **crawl)
    await world.run()
    assert world.pages() == [f"{HOST}/"]


async def test_a_host_has_a_bounded_number_of_feeds(pool: ParsePool) -> None:
    comments = {f"/{n}": named(f"/{n}/comments", "/feed") for n in range(30)}
    files = {"/": TEXT + "".join(f"<a href='{path}'>a link</a>" for path in comments), **comments}
    world = WorldWithFeeds(pool, {**files, "/feed": ATOM, "/new": TEXT, **{f"/{n}/comments": ATOM for n in range(30)}})
    world.seed(f"{HOST}/")
    await world.run()
    read = {url for url in world.pages() if url.endswith(("feed", "comments"))}
    assert len(read) == MAX_FEEDS
    assert f"{HOST}/feed" in read


async def test_the_feed_of_a_stranger_is_not_read(pool: ParsePool) -> None:
    world = WorldWithFeeds(pool, {"/": TEXT, "/feed": ATOM, "/new": TEXT})
    world.seed(f"{HOST}/")
    url = f"{HOST}/feed"
    strange = {"why": "link", "purpose": "sitemap", "depth": 1, "crawl_id": "c", "referrer": "https://b.example/"}
    world.send(PageDiscovered(page_id=page_id(url), url=url, host="a.example", **strange))
    await world.run()
    assert world.pages() == [f"{HOST}/"]


async def test_a_feed_that_was_fetched_as_a_page_is_read_when_a_page_names_it(pool: ParsePool) -> None:
    files = {"/": TEXT + "<a href=/feed>our feed</a><a href=/about>about</a>", "/about": named("/feed"), "/new": TEXT}
    world = WorldWithFeeds(pool, {**files, "/feed": ATOM})
    world.sites["a.example"].script["/feed"] = [{"outcome": "unsupported_type", "status": 200}]
    world.seed(f"{HOST}/")
    await world.run()
    assert f"{HOST}/new" in world.pages()


async def test_a_feed_is_read_as_often_as_it_changes(pool: ParsePool) -> None:
    world = WorldWithFeeds(pool, {"/": named("/busy", "/still"), "/still": ATOM, "/new": TEXT}, recrawl=True)
    entries: dict[str, int] = {}
    world.publish("/busy", entries)
    world.seed(f"{HOST}/")
    for number in range(48):
        await world.run(hours=2)
        entries = {**entries, f"/{number}": (world.now - START) // SECOND}
        world.publish("/busy", entries)
    await world.run(hours=24)
    published = [entries[f"/{number}"] for number in range(20, 48)]
    waits = [world.visits(f"/{number}")[0] - at for number, at in enumerate(published, 20)]
    assert max(waits) < 4 * HOUR, "the page is found by its feed"
    busy, still = ([at for at in world.visits(path) if at > 48 * HOUR] for path in ("/busy", "/still"))
    assert 20 <= len(busy) <= 5 * 24 * 4
    assert 2 <= len(still) <= 5, "once a day"


async def test_the_date_of_an_entry_is_a_hint(pool: ParsePool) -> None:
    world = WorldWithFeeds(pool, {"/": named("/feed")}, recrawl=True)
    world.publish("/feed", {"/old": 0})
    world.seed(f"{HOST}/")
    await world.run(hours=24 * 9)
    is_hint = False
    for _ in range(12):
        now = (world.now - START) // SECOND
        world.publish("/feed", {"/old": now})
        await world.run(hours=26)
        assert [at for at in world.visits("/old") if now <= at <= now + 25 * HOUR]
        url = await stored_url(world.frontier_store, f"{HOST}/old")
        if is_hint := url is not None and url.hinted_at == START // SECOND + now:
            break
    assert is_hint, "unless a visit of its own came before the feed was read"


@pytest.mark.parametrize(
    "kind", ["application/rss+xml; charset=utf-8", "application/atom+xml", "application/feed+json"]
)
def test_the_usual_types_of_feeds_are_read(kind: str) -> None:
    for purpose, outcome in (("sitemap", "ok"), ("page", "unsupported_type")):
        headers = {"content-type": [kind]}
        assert classify_response(f"{HOST}/feed", 200, headers, purpose, conditional=False).outcome == outcome  # type: ignore[arg-type] # a purpose
