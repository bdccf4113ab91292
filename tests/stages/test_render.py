"""The render stage: which pages are rendered, the same event twice, and a browser that ends."""

import dataclasses
from datetime import UTC, datetime
from uuid import UUID

import pytest

from schemas import Envelope, PageFetched, PageNormalized
from schemas.ids import page_id
from streams.errors import PoisonError, Refused, StoreUnavailable, TransientError
from streams.render.agent import RenderAgent, build
from streams.render.needs import needs_rendering
from streams.render.page import Rendered
from streams.render.protocol import RendererEnded
from streams.runtime.agent import Delivery
from streams.settings import Settings
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, Normalized

URL = "https://app.example/"
PAGE = page_id(URL)
STATIC = b"<div id=app></div><script src=/app.js></script>"
HTML = "<div id=app><p>The tide comes twice a day.</p></div>"


class Browser:
    """Renders each page as HTML, or fails."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.asked: list[str] = []

    async def __call__(self, url: str, body: bytes, kind: str) -> Rendered:
        self.asked.append(url)
        if self.failure:
            raise self.failure
        return Rendered(HTML, 1.5, 1.0, 1, 2, 0, 3)


async def world(body: bytes = STATIC) -> Stores:
    stores = memory_stores()
    fetched = PageFetched(
        page_id=PAGE,
        url=URL,
        host="app.example",
        outcome="ok",
        generation=7,
        lease_id=UUID(int=3),
        depth=2,
        crawl_id="c",
        headers={"content-type": "text/html; charset=latin-1"},
        body_ref=await stores.blobs.put(body),
    )
    await stores.pages.put(PAGE, Fetched.of_event(fetched), 1)
    return stores


def delivery(text_chars: int = 0, generation: int = 7) -> Delivery:
    event = PageNormalized(
        page_id=PAGE, url=URL, generation=generation, document_ref="d", content_hash="c", text_chars=text_chars
    )
    envelope = Envelope(id=UUID(int=1), type="x", source="/test", time=datetime(2026, 1, 1, tzinfo=UTC))
    return Delivery(event, envelope, event.topic, 0, 0)


async def test_a_page_without_text_comes_back_as_its_scripts_made_it() -> None:
    stores, browser = await world(), Browser()
    (event,) = await RenderAgent(stores, browser).handle(delivery())
    assert isinstance(event, PageFetched)
    assert event.body_ref
    assert await stores.blobs.get(event.body_ref) == HTML.encode()
    assert (event.rendered, event.generation, event.lease_id) == (True, 8, None)
    assert (event.depth, event.crawl_id, event.headers["content-type"]) == (2, "c", "text/html; charset=utf-8")


async def test_the_same_event_twice_renders_once() -> None:
    stores, browser = await world(), Browser()
    agent = RenderAgent(stores, browser)
    first = await agent.handle(delivery())
    assert await agent.handle(delivery()) == first, "as after a crash before the acknowledgement"
    await stores.pages.put(PAGE, Normalized.of_row({"url": URL, "generation": 8}), 2)
    assert await agent.handle(delivery()) == [], "the normalize stage has the rendered page"
    assert len(browser.asked) == 2


SKIPPED = [
    # body, characters of text, generation
    (STATIC, 5_000, 7),
    (b"<p>Short.</p>", 6, 7),  # no scripts
    (STATIC, 0, 8),  # the rendered page itself
    (STATIC, 0, 6),  # a fetch before the last one
]


@pytest.mark.parametrize(("body", "text_chars", "generation"), SKIPPED)
async def test_pages_that_are_not_rendered(body: bytes, text_chars: int, generation: int) -> None:
    browser = Browser()
    assert await RenderAgent(await world(body), browser).handle(delivery(text_chars, generation)) == []
    assert browser.asked == []


async def test_a_page_that_reaches_a_limit_keeps_its_static_document() -> None:
    stores = await world()
    agent = RenderAgent(stores, Browser(Refused("render", "it never ends")))
    assert await agent.handle(delivery()) == []
    assert agent.measurements()["render_pages_refused"] == 1
    record = await stores.pages.get(PAGE)
    assert record.why_not_rendered() == "it never ends"
    assert record.fetched.generation == 7, "the static answer stays"
    later = dataclasses.replace(record.fetched, generation=9)
    await stores.pages.put(PAGE, later, 2)
    assert (await stores.pages.get(PAGE)).why_not_rendered() == "", "another answer has not been tried"


async def test_a_browser_that_ends_is_tried_again() -> None:
    with pytest.raises(TransientError, match="the pipe"):
        await RenderAgent(await world(), Browser(RendererEnded("the pipe"))).handle(delivery())


async def test_nothing_is_sent_before_the_body_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*arguments: object) -> str:
        raise StoreUnavailable("the store is down")

    stores = await world()
    agent = RenderAgent(stores, Browser())
    with monkeypatch.context() as patched:
        patched.setattr(stores.blobs, "put", fail)
        with pytest.raises(StoreUnavailable):
            await agent.handle(delivery())
    assert len(await agent.handle(delivery())) == 1


async def test_the_stage_is_off_by_default() -> None:
    stores = await world()
    agent = await build(Settings(), stores)
    assert await agent.handle(delivery()) == []
    await agent.stop()


async def test_another_event_is_poison() -> None:
    fetched = PageFetched(page_id=PAGE, url=URL, host="app.example", outcome="ok", generation=1)
    other = Delivery(fetched, delivery().envelope, fetched.topic, 0, 0)
    with pytest.raises(PoisonError, match="has no document"):
        await RenderAgent(memory_stores(), Browser()).handle(other)


NEEDS = [
    (0, STATIC, "text/html", True),
    (0, STATIC, "", True),
    (0, STATIC, "application/pdf", False),
    (0, b"<p>no script", "text/html", False),
    (10_000, STATIC, "text/html", False),
    (0, b"<SCRIPT>x</SCRIPT>", "application/xhtml+xml; charset=utf-8", True),
]


@pytest.mark.parametrize(("chars", "body", "kind", "expected"), NEEDS)
def test_which_pages_need_rendering(chars: int, body: bytes, kind: str, expected: bool) -> None:
    assert needs_rendering(chars, body, kind) is expected
