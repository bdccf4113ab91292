"""The render stage: a page whose text is made by scripts goes through a browser.

It reads the documents of the normalize stage. A page with hardly any text, but with scripts, goes through Chromium, and
comes back as PageFetched with the HTML after its scripts ran, marked `rendered`, one microsecond later than the fetch.
All later stages handle it as any other page. A page that reaches a limit, or whose scripts remove its document, keeps
its static document, and its record says why (`NotRendered`).

A redelivery finds the rendered document, and does nothing. After a crash before the event was sent, the page is
rendered again. The stage is off by default, and then skips all events.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from schemas import Event, PageFetched, PageNormalized
from streams.crawl.polite.client import PoliteClient
from streams.errors import PageErased, PoisonError, Refused, TransientError
from streams.render.chromium import ProcessLimits, find_chromium
from streams.render.loading import ResourceLoader
from streams.render.needs import MAX_STATIC_CHARS, needs_rendering
from streams.render.page import CPU_SECONDS, Rendered, RenderLimits, render
from streams.render.protocol import RendererEnded
from streams.runtime.agent import Agent, Delivery, Emit
from streams.settings import RenderSettings, Settings
from streams.stores.opener import Stores
from streams.stores.page_record import NotRendered
from streams.stores.removals import blob_of_page

log = structlog.get_logger(__name__)

Browse = Callable[[str, bytes, str], Awaitable[Rendered]]
"""Renders a page: its URL, its body and its content type. Raises Refused and RendererEnded."""


Close = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    """Close nothing."""


class RenderAgent(Agent):
    """Stores the rendered HTML (blob), and emits PageFetched."""

    def __init__(self, stores: Stores, browse: Browse | None, close: Close = _nothing) -> None:
        """`browse` is None if the stage is off."""
        self._stores = stores
        self._browse = browse
        self._close = close
        self._rendered = self._refused = 0
        self._cpu_seconds = 0.0

    async def start(self, emit: Emit) -> None:
        """Nothing to start: each page starts a browser."""

    async def stop(self) -> None:
        await self._close()

    def measurements(self) -> Mapping[str, float]:
        return {
            "render_pages": self._rendered,
            "render_pages_refused": self._refused,
            "render_cpu_seconds": self._cpu_seconds,
        }

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Return the rendered page, or nothing. Raises PoisonError for another event, and TransientError."""
        event = delivery.event
        if not isinstance(event, PageNormalized):
            raise PoisonError(f"{type(event).__name__} has no document")
        if self._browse is None or event.text_chars > MAX_STATIC_CHARS:
            return []
        record = await self._stores.pages.get(event.page_id)
        fetched = record.fetched
        if fetched.generation != event.generation or not fetched.body_ref:
            return []  # a rendered page, an imported page, or a newer fetch
        if record.normalized.generation > event.generation:
            return []  # it was rendered already
        try:
            body = await blob_of_page(self._stores.blobs, self._stores.pages, event, fetched.body_ref)
        except PageErased:
            return []
        kind = fetched.headers.get("content-type", "")
        if not needs_rendering(event.text_chars, body, kind):
            return []
        try:
            return [await self._render(self._browse, fetched.event(), body, kind)]
        except Refused as refusal:
            self._refused += 1
            log.info("a page was not rendered", url=event.url, reason=str(refusal))
            why = NotRendered.of_row({"url": event.url, "generation": event.generation, "reason": refusal.detail})
            await self._stores.pages.put(event.page_id, why, delivery.at)
            return []

    async def _render(self, browse: Browse, fetched: PageFetched, body: bytes, kind: str) -> PageFetched:
        try:
            found = await browse(fetched.url, body, kind)
        except RendererEnded as error:
            raise TransientError(f"{fetched.url}: {error}") from error
        self._rendered += 1
        self._cpu_seconds += found.cpu_seconds
        html = found.html.encode("utf-8", "replace")
        return fetched.model_copy(
            update={
                "generation": fetched.generation + 1,
                "lease_id": None,
                "body_ref": await self._stores.blobs.put(html),
                "body_bytes": len(html),
                "exchange_ref": None,
                "headers": {**fetched.headers, "content-type": "text/html; charset=utf-8"},
                "elapsed_ms": round(1_000 * found.seconds, 3),
                "rendered": True,
            }
        )


def limits_of(settings: RenderSettings) -> RenderLimits:
    return RenderLimits(process=ProcessLimits(CPU_SECONDS, settings.memory_mb << 20))


async def build(settings: Settings, stores: Stores) -> Agent:
    """Make the stage's agent. Raises UsageError if pages are to be rendered and there is no Chromium."""
    if not settings.render.enabled:
        return RenderAgent(stores, None)
    program, limits = find_chromium(settings.render.chromium), limits_of(settings.render)
    loader = ResourceLoader(PoliteClient(settings.crawl, stores))

    async def browse(url: str, body: bytes, kind: str) -> Rendered:
        await loader.wait_for_host(url)
        return await render(program, url, body, kind or "text/html", loader.of_page(url, body), limits)

    return RenderAgent(stores, browse, loader.close)
