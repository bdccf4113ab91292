"""The three that ask the web, each as its process runs it: the crawl, a page that is fetched now, and the renderer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from schemas import Envelope, Event, PageDiscovered, PageFetched, PageScheduled
from schemas.ids import page_id
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.frontier.agent import FrontierAgent
from streams.crawl.polite.client import PoliteClient
from streams.crawl.urls import host_of
from streams.gateway.content.web_page import WebPages
from streams.gateway.context import GatewayContext
from streams.gateway.http.metrics import Metrics
from streams.gateway.http.problems import ProblemError
from streams.render.loading import ResourceLoader
from streams.runtime.agent import Delivery
from streams.seen.stores import SeenStores
from streams.settings import CrawlSettings, Settings
from streams.stores.opener import Stores

Ask = Callable[[CrawlSettings, Stores, Sequence[str]], Awaitable[dict[str, bool]]]
"""Asks for URLs of one site, one after the other. Returns which of them it got."""
QUIET_SECONDS = 0.8
"""Time without an event after which a crawl has nothing to do (seconds)."""


def delivery(event: Event) -> Delivery:
    envelope = Envelope(id=uuid4(), type=event.event_type(), source="/test", time=datetime.now(UTC))
    return Delivery(event, envelope, event.topic, 0, 0)


async def crawl(
    settings: CrawlSettings, stores: Stores, urls: Sequence[str], quiet_seconds: float = QUIET_SECONDS
) -> dict[str, bool]:
    """Ask as a crawl does: the frontier schedules, and the fetch stage asks."""
    frontier, fetch = FrontierAgent(settings, stores), FetchAgent(settings, stores)
    events: asyncio.Queue[Event] = asyncio.Queue()
    got = dict.fromkeys(urls, False)

    async def emit(event: Event, cause: str) -> None:
        events.put_nowait(event)

    await frontier.start(emit)
    await frontier.assigned(frozenset({0}))
    await fetch.start(emit)
    for url in urls:
        about = {"page_id": page_id(url), "url": url, "host": host_of(url)}
        events.put_nowait(PageDiscovered(**about, why="seed", depth=0, crawl_id="c", force=True))
    try:
        while not all(got.values()):
            event = await asyncio.wait_for(events.get(), quiet_seconds)
            if isinstance(event, PageFetched) and event.purpose == "page":
                got[event.url] = got.get(event.url, False) or event.outcome == "ok"
            agent = fetch if isinstance(event, PageScheduled) else frontier
            if isinstance(event, PageScheduled | PageFetched | PageDiscovered):
                for following in await agent.handle(delivery(event)):
                    events.put_nowait(following)
    except TimeoutError:
        pass
    finally:
        await frontier.stop()
        await fetch.stop()
    return got


async def fetch_now(settings: CrawlSettings, stores: Stores, urls: Sequence[str]) -> dict[str, bool]:
    """Ask as a gateway does for a program."""
    context = GatewayContext(Settings(crawl=settings), SeenStores(stores), Metrics(), lambda: datetime.now(UTC))
    web = WebPages(context, lambda: PoliteClient(settings, stores))
    got = dict.fromkeys(urls, False)
    try:
        for url in urls:
            with suppress(ProblemError):
                await web._follow(url, lambda _: True)
                got[url] = True
    finally:
        await web.close()
    return got


async def render(settings: CrawlSettings, stores: Stores, urls: Sequence[str]) -> dict[str, bool]:
    """Ask as the scripts of a page do."""
    loader = ResourceLoader(PoliteClient(settings, stores))
    load = loader.of_page(f"https://{host_of(urls[0])}/", b"")
    try:
        return {url: await load(url, "Fetch") is not None for url in urls}
    finally:
        await loader.close()


CALLERS: dict[str, Ask] = {"crawl": crawl, "fetch now": fetch_now, "renderer": render}
