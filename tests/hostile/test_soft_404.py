"""Hosts that send a page for every name: the crawler learns it by a name that can't exist, and keeps no copy."""

import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from schemas import Envelope, Event, PageFetched, PageNormalized, PageRemoved, PageSettled
from schemas.crawl import Purpose
from schemas.ids import page_id
from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session
from streams.crawl.fetch.outcomes import Verdict
from streams.crawl.frontier.hosts.host_state import missing_path
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Delivery
from streams.stores.memory import MemoryBlobs, MemoryFrontier, MemoryPages
from streams.stores.opener import Stores
from tests.hostile.servers import Script, bad_server, response

HOST = "bad.example"
ARTICLE = "<p>Lighthouses of the northern coast were built of granite, and their keepers wrote a diary.</p>"
OTHER = "<p>A sourdough needs flour, water, salt and two days; most of the work is done by nobody at all.</p>"
SORRY = "<p>We are sorry. The page that you asked for is not here any more, or it never was. Try the search box.</p>"
GONE, THERE = "/about/our-former-prices.html", ("/", "/oven", "/thin")
PATHS: list[tuple[str, Purpose]] = [(missing_path(HOST), "robots"), *((path, "page") for path in (GONE, *THERE))]
NUMBERS = itertools.count(1)


def page(main: str, title: str = "A site") -> bytes:
    menu = "<nav><a href=/>Home</a> <a href=/news>News</a> <a href=/about>About us</a></nav>"
    return f"<html lang=en><title>{title}</title>{menu}<main>{main}</main><footer>Our terms</footer>".encode()


@dataclass(frozen=True)
class Kind:
    """A kind of host. `missing` makes its answer for a name that it doesn't have."""

    name: str
    missing: Callable[[str], Script]
    soft: bool
    """True if the page for a name that the host had once is found to be a soft 404."""


KINDS = (
    Kind("the same words for all names", lambda _: response(page(SORRY)), soft=True),
    Kind("the name is repeated", lambda path: response(page(f"<h1>No {path}</h1>{SORRY}<p>{path}</p>")), soft=True),
    Kind("a number of the request", lambda _: response(page(f"{SORRY}<p>Request {next(NUMBERS)}</p>")), soft=True),
    Kind("the first page for all names", lambda _: response(page(ARTICLE * 2)), soft=True),
    Kind("a wall of consent", lambda _: response(page("<p>Before you go on, choose which cookies we set.")),
         soft=True),
    Kind("the status says it", lambda _: response(page(SORRY), "404 Not Found"), soft=False),
    Kind("a redirect to the first page", lambda _: response(b"", "302 Found", location="/"), soft=False),
    Kind("a shell without words", lambda _: response(b"<title>App</title><div id=root></div>"), soft=False),
    Kind("words of chance", lambda path: response(page(f"<p>{' '.join(path[n:n + 4] for n in range(1, 20))}</p>")),
         soft=False),
    Kind("a picture", lambda _: response(b"GIF89a;", content_type="image/gif"), soft=False),
)  # fmt: skip


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


class Crawler:
    """The fetcher and the normalize stage, over stores in memory."""

    def __init__(self, pool: ParsePool) -> None:
        self.stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs), frontier=MemoryFrontier())
        self.pool = pool
        self.agent = NormalizeAgent(self.stores, pool)

    async def handle(
        self, path: str, answer: Answer, missing: Answer, *, is_lost: bool = False, generation: int = 7
    ) -> list[Event]:
        """Return the events for a page, after the host's answer to a name that can't exist. That may be lost."""
        assert answer.body is not None
        known = missing.verdict.outcome == "ok" and missing.body is not None
        ref = await self.stores.blobs.put(missing.body) if known and missing.body is not None else None
        if ref and is_lost:
            self.stores.blobs = MemoryBlobs()
            self.agent = NormalizeAgent(self.stores, self.pool)
        url = f"https://{HOST}{path}"
        event = PageFetched(
            page_id=page_id(url), url=url, host=HOST, outcome="ok", generation=generation, headers=answer.headers,
            body_ref=await self.stores.blobs.put(answer.body), not_found_ref=ref,
        )  # fmt: skip
        at = datetime(2026, 1, 1, tzinfo=UTC)
        envelope = Envelope(id=UUID(int=1), type=event.event_type(), source="/test", time=at)
        return list(await self.agent.handle(Delivery(event, envelope, event.topic, 0, 0)))


async def ask(folder: Path, kind: Kind, *asked: tuple[str, Purpose]) -> list[Answer]:
    there = {"/": page(ARTICLE * 2), "/oven": page(OTHER, "Bread"), "/thin": page("<p>Bread.")}
    gone = {path: kind.missing(path) for path in (missing_path(HOST), GONE)}
    async with bad_server(folder, gone | {path: response(body) for path, body in there.items()}) as server:
        settings = server.settings()
        session, limits = open_session(settings), limits_of(settings)
        try:
            return [
                await get(session, f"https://{HOST}{path}", purpose=purpose, limits=limits, monotonic=time.monotonic)
                for path, purpose in asked
            ]
        finally:
            await close_session(session)


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
async def test_a_page_like_the_page_for_no_page_counts_as_gone(kind: Kind, pool: ParsePool, tmp_path: Path) -> None:
    paths = ("/about/our-former-prices.html", "/", "/oven", "/thin")
    missing, gone, *there = await ask(
        tmp_path, kind, (missing_path(HOST), "robots"), *((path, "page") for path in paths)
    )
    crawler = Crawler(pool)
    if gone.verdict.outcome == "ok":
        events = await crawler.handle(GONE, gone, missing)
        kinds = {PageRemoved, PageSettled} if kind.soft else {PageNormalized}
        assert kinds <= {type(event) for event in events}
        assert [event.verdict for event in events if isinstance(event, PageSettled)] == ["soft_404"] * kind.soft
        assert [event.reason for event in events if isinstance(event, PageRemoved)] == ["gone"] * kind.soft
        assert len(events) == 2 or not kind.soft, "no link of such a page is followed"
    for path, answer in zip(THERE, there, strict=True):
        assert any(isinstance(event, PageNormalized) for event in await crawler.handle(path, answer, missing)), path


async def test_a_page_that_was_indexed_before_its_host_was_asked_leaves_at_a_304(
    pool: ParsePool, tmp_path: Path
) -> None:
    missing, gone, *_ = await ask(tmp_path, KINDS[0], *PATHS)
    crawler = Crawler(pool)
    unknown = Answer(Verdict("gone"), 404)
    assert any(isinstance(event, PageNormalized) for event in await crawler.handle(GONE, gone, unknown))
    # The fetcher gives a 304 the stored body, and the page that its host sends for no page since then.
    events = await crawler.handle(GONE, gone, missing, generation=8)
    assert [event.reason for event in events if isinstance(event, PageRemoved)] == ["gone"]
    assert [event.verdict for event in events if isinstance(event, PageSettled)] == ["soft_404"]
    again = await crawler.handle(GONE, gone, unknown, generation=9)
    assert any(isinstance(event, PageNormalized) for event in again), "the host has no such page any more"


async def test_a_page_for_no_page_that_is_lost_judges_nothing(pool: ParsePool, tmp_path: Path) -> None:
    missing, gone, *_ = await ask(tmp_path, KINDS[2], *PATHS)
    events = await Crawler(pool).handle(GONE, gone, missing, is_lost=True)
    assert any(isinstance(event, PageNormalized) for event in events)
