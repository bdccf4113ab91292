"""The normalize stage: makes a document of a fetched page, announces its links, and removes pages with noindex."""

from collections.abc import Iterator, Sequence

from schemas import Event, LinkFound, PageDiscovered, PageFetched, PageNormalized, PageRemoved, PageSettled
from schemas.ids import page_id
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import crawlable, host_of
from streams.errors import Refused
from streams.pages.parse.content_type import as_html
from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import PageOutcome
from streams.runtime.agent import Agent, Delivery, Emit
from streams.settings import Settings
from streams.stores.opener import Stores


class NormalizeAgent(Agent):
    """The agent of the stage. It writes the document, then the record (`normalized`), and returns the events."""

    def __init__(self, stores: Stores, pool: ParsePool) -> None:
        self._stores = stores
        self._pool = pool

    async def start(self, emit: Emit) -> None:
        self._pool.start()

    async def stop(self) -> None:
        await self._pool.close()

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, PageFetched)
        if event.purpose != "page" or event.outcome != "ok" or event.body_ref is None:
            return []
        body = await self._stores.blobs.get(event.body_ref)
        try:
            outcome = await self._pool.parse(as_html(body, event.headers), url=event.url, headers=event.headers)
        except Refused as refusal:
            return await self._refused(event, refusal, delivery.at)
        return await self._accepted(event, outcome, delivery.at)

    async def _accepted(self, event: PageFetched, outcome: PageOutcome, at: int) -> Sequence[Event]:
        reference = await self._stores.blobs.put(outcome.document)
        noindex = "noindex" in outcome.directives
        record = {
            "url": event.url,
            "generation": event.generation,
            "document_ref": reference,
            "content_hash": outcome.content_hash,
            "title": outcome.title,
            "description": outcome.description,
            "language": outcome.language,
            "language_confidence": outcome.language_confidence,
            "canonical": outcome.canonical_url,
            "directives": list(outcome.directives),
            "text_chars": outcome.text_chars,
            "blocks": outcome.blocks,
            "links": len(outcome.links),
            **{name: outcome.facts[name] for name in _RECORDED_FACTS if name in outcome.facts},
        }
        await self._stores.pages.put(event.page_id, "normalized", record, at)
        first = (
            _removed(event, "noindex", "the page asks not to be indexed")
            if noindex
            else _normalized(event, outcome, reference)
        )
        # A page with noindex ends here, so this stage settles its fetch. Dedup settles all others.
        rest = [_settled(event)] if noindex else _links(event, outcome)
        return [first, *_discovered(event, outcome), *rest]

    async def _refused(self, event: PageFetched, refusal: Refused, at: int) -> Sequence[Event]:
        record = {"url": event.url, "generation": event.generation, "refused": str(refusal)}
        await self._stores.pages.put(event.page_id, "normalized", record, at)
        return [_removed(event, "unsupported", str(refusal)), _settled(event)]


def _settled(event: PageFetched) -> PageSettled:
    """Return the event that settles a fetch without a searchable page."""
    return PageSettled(
        page_id=event.page_id,
        url=event.url,
        host=event.host,
        generation=event.generation,
        verdict="refused",
        crawl_id=event.crawl_id,
    )


_RECORDED_FACTS = ("author", "published", "modified", "site_name", "image", "licence", "type")


def _normalized(event: PageFetched, outcome: PageOutcome, reference: str) -> PageNormalized:
    return PageNormalized(
        page_id=event.page_id,
        url=event.url,
        generation=event.generation,
        crawl_id=event.crawl_id,
        document_ref=reference,
        content_hash=outcome.content_hash,
        title=outcome.title,
        description=outcome.description,
        language=outcome.language,
        language_confidence=outcome.language_confidence,
        canonical_url=outcome.canonical_url,
        directives=outcome.directives,
        text_chars=outcome.text_chars,
        links=len(outcome.links),
    )


def _removed(event: PageFetched, reason: str, detail: str) -> PageRemoved:
    return PageRemoved.model_validate(
        {
            "page_id": event.page_id,
            "url": event.url,
            "generation": event.generation,
            "crawl_id": event.crawl_id,
            "reason": reason,
            "detail": detail[:500],
        }
    )


def _discovered(event: PageFetched, outcome: PageOutcome) -> Iterator[PageDiscovered]:
    """Announce the canonical page, if it is another one, and each link that may be followed."""
    canonical = outcome.canonical_url
    if canonical and canonical != event.url and crawlable(canonical) is None:
        yield _discovery(event, canonical, "canonical", event.depth)
    if "nofollow" in outcome.directives or (event.max_depth is not None and event.depth >= event.max_depth):
        return
    for link in outcome.links:
        if not link.nofollow and link.url != canonical and crawlable(link.url) is None:
            yield _discovery(event, link.url, "link", event.depth + 1)


def _discovery(event: PageFetched, url: str, why: str, depth: int) -> PageDiscovered:
    return PageDiscovered.model_validate(
        {
            "page_id": page_id(url),
            "url": url,
            "host": host_of(url),
            "why": why,
            "referrer": event.url,
            **CrawlScope.of(event).at_depth(depth).fields(),
        }
    )


def _links(event: PageFetched, outcome: PageOutcome) -> Iterator[LinkFound]:
    """Return the edges of the link graph: only links of the main content, since boilerplate repeats on each page."""
    nofollow = "nofollow" in outcome.directives
    for link in outcome.links:
        if link.in_content:
            yield LinkFound(
                target_page_id=page_id(link.url),
                target_url=link.url,
                source_page_id=event.page_id,
                source_url=event.url,
                generation=event.generation,
                anchor=link.text,
                nofollow=link.nofollow or nofollow,
            )


async def build(settings: Settings, stores: Stores) -> NormalizeAgent:
    """Make the stage's agent. Its parsing processes start and end with it."""
    return NormalizeAgent(stores, ParsePool())
