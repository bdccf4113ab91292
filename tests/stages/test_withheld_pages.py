"""A page that a program removed stays away until a program writes it again, whatever a crawl does meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from schemas import Event, PageFetched, PageRemoved
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.fetch.agent import FetchAgent
from streams.errors import StoreUnavailable
from streams.maintenance.host_pages import remove_pages, restore_pages
from streams.pages.sandbox.pool import ParsePool
from streams.settings import CrawlSettings
from streams.stores.page_record import Withheld
from streams.stores.removals import was_removed_by_program
from streams.writing.pages import OwnPages
from streams.writing.rights import Writer
from tests.hostile.servers import BadServer, bad_server, response
from tests.inline_sandbox import inline_parse_pool
from tests.stages.test_fetch import delivery, scheduled
from tests.stages.test_gateway_crawls import Sent
from tests.stages.test_unchanged_and_removed_pages import BODY, OTHER, is_indexed
from tests.stages.whole_journey import SECOND, START, WholeJourney

URL = "https://bad.example/x"
PAGE = page_id(URL)
WRITER = Writer("k", "test", ("bad.example",))
CLOCKS_APART = 2 * round(CrawlSettings().clock_bound_seconds * SECOND)
"""By how much the frontier's clock may be ahead of the gateway's (microseconds)."""


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with inline_parse_pool() as started:
        yield started


@dataclass
class Site:
    """A page on a server, the stages, and a program that writes the page, too."""

    server: BadServer
    journey: WholeJourney
    fetch: FetchAgent
    may_answer: asyncio.Event
    sent: Sent = field(default_factory=Sent)

    @property
    def program(self) -> OwnPages:
        return OwnPages(self.journey.stores, self.sent, CrawlSettings(), now_micros)

    async def visit(self) -> PageFetched:
        """Ask for the page, as the frontier does whose clock is as far ahead as may be."""
        lease = scheduled(generation=now_micros() + CLOCKS_APART)
        (answer,) = await self.fetch.handle(delivery(lease))
        assert isinstance(answer, PageFetched)
        return answer

    async def handle(self, *events: Event) -> None:
        """All stages handle these events and what follows, now."""
        for event in events:
            await self.journey.handle(event, (now_micros() - START) // SECOND)

    async def requested(self, number: int) -> None:
        """Wait until the server has this number of requests."""
        while len(self.server.requests) < number:
            await asyncio.sleep(0.01)

    async def is_indexed(self) -> bool:
        return await is_indexed(self.journey, URL)

    async def held(self) -> bool:
        return was_removed_by_program(await self.journey.stores.pages.get(PAGE))


@asynccontextmanager
async def serving(pool: ParsePool, folder: Path) -> AsyncIterator[Site]:
    """A page that is indexed. Its server answers when it may."""
    may_answer = asyncio.Event()

    async def answer(writer: Any) -> None:
        await may_answer.wait()
        await response(OTHER.encode(), content_type="text/html")(writer)

    async with bad_server(folder, {"/x": answer}) as server:
        journey = WholeJourney(pool)
        await journey.fetch(URL, BODY, 0)
        fetch = FetchAgent(server.settings(timeout_seconds=20, delay_seconds=0), journey.stores)
        try:
            yield Site(server, journey, fetch, may_answer)
        finally:
            await fetch.stop()


@pytest.fixture
async def site(pool: ParsePool, tmp_path: Path) -> AsyncIterator[Site]:
    async with serving(pool, tmp_path) as made:
        yield made


@pytest.mark.parametrize("begins", ["before", "meanwhile"])
@pytest.mark.parametrize("handled", ["the removal first", "the answer first"])
async def test_a_fetch_under_way_does_not_bring_a_removed_page_back(site: Site, begins: str, handled: str) -> None:
    tasks = []

    async def begin() -> None:
        tasks.append(asyncio.create_task(site.visit()))
        await site.requested(1)

    class Begins(Sent):
        async def send_ahead(self, events: Iterable[Event], cause: str | None = None) -> None:
            await super().send_ahead(events, cause)
            if begins == "meanwhile":
                await begin()

    site.sent = Begins()
    if begins == "before":
        await begin()
    await site.program.remove(WRITER, URL)
    site.may_answer.set()
    answer = await tasks[0]
    assert (answer.outcome, len(site.server.requests)) == ("ok", 1)
    (removal,) = site.sent.events
    await site.handle(*((removal, answer) if handled == "the removal first" else (answer, removal)))
    assert not await site.is_indexed()
    again = await site.visit()
    assert (again.outcome, again.removed_on_request, len(site.server.requests)) == ("refused", True, 1)


async def test_a_removed_page_stays_away_after_another_removal_until_it_is_written_again(site: Site) -> None:
    """A refusal by robots.txt ends some day, and so does a block of the host: nothing of that brings the page back."""
    site.may_answer.set()
    await site.program.remove(WRITER, URL)
    await site.handle(*site.sent.events)
    later = now_micros() + 3_600 * SECOND
    pages = site.journey.stores.pages

    async def send(events: Sequence[Event]) -> None:
        await site.handle(*events)

    async for progress in remove_pages(pages, "bad.example", later, "spam", send):
        assert progress.pages == 0
    async for progress in restore_pages(pages, "bad.example", later, send):
        assert progress.pages == 0
    await site.handle(PageRemoved(page_id=PAGE, url=URL, generation=later, reason="refused"))
    assert await site.held()
    assert (await site.visit()).removed_on_request
    assert not await site.is_indexed()


@pytest.mark.parametrize("handled", [True, False], ids=["after the stages had the removal", "before"])
async def test_a_page_that_is_written_right_after_its_removal_is_there(site: Site, handled: bool) -> None:
    """The removal is ahead of the clock, and what is written next is later than it. Crawls visit the page again."""
    site.may_answer.set()
    for number in range(3):
        await site.program.remove(WRITER, URL)
        if handled:
            await site.handle(*site.sent.events)
            site.sent.events.clear()
        written = await site.program.put(URL, "text/html", BODY.replace("paragraph", f"paragraph {number}").encode())
        assert not written.refused
        await site.handle(*site.sent.events)
        site.sent.events.clear()
        assert await site.is_indexed()
        assert not await site.held()
    assert (await site.visit()).outcome == "ok"


async def test_a_removal_of_a_page_that_nobody_knows_holds_its_first_fetch(site: Site) -> None:
    await site.program.remove(WRITER, "https://bad.example/new")
    lease = scheduled(url="https://bad.example/new", page_id=page_id("https://bad.example/new"))
    (answer,) = await site.fetch.handle(delivery(lease))
    assert isinstance(answer, PageFetched)
    assert (answer.removed_on_request, site.server.requests) == (True, [])


async def test_a_removal_that_was_not_sent_is_not_recorded(site: Site) -> None:
    """Else the repeated request would take the page for one that is removed already."""
    site.sent.down = True
    with pytest.raises(StoreUnavailable, match="Kafka does not answer"):
        await site.program.remove(WRITER, URL)
    assert not (await site.journey.stores.pages.get(PAGE)).has(Withheld)
