"""Pages with a history: events through the real ledger stage, and the records and blobs that the stages write."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from schemas import (
    Envelope,
    Event,
    PageChunked,
    PageDeduplicated,
    PageDiscovered,
    PageEmbedded,
    PageFetched,
    PageIndexed,
    PageNormalized,
    PageRemoved,
    PageScheduled,
)
from schemas.envelope import micros_from_utc
from schemas.ids import event_id, page_id
from streams.crawl.frontier import decisions
from streams.crawl.urls import host_of
from streams.ledger.agent import LedgerAgent
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Document
from streams.runtime.agent import Delivery
from streams.stores.opener import Stores
from streams.stores.page_record import PART_TYPES
from streams.stores.protocols import FrontierUrl
from tests.frontier_rows import put_urls
from tests.stages.gateway_fakes import NOW

STARTED = NOW - timedelta(hours=3)
GENERATION = micros_from_utc(STARTED)


async def record(stores: Stores, *events: Event) -> None:
    """Hand the events to the ledger stage, a second apart."""
    agent = LedgerAgent(stores.ledger, max_gathering_seconds=0)
    for number, event in enumerate(events):
        envelope = Envelope(
            id=event_id(event.event_type(), str(number), event.key()),
            type=event.event_type(),
            source=f"/riffle/{event.topic.partition('.')[2]}",
            time=STARTED + timedelta(seconds=number),
        )
        await agent.handle(Delivery(event, envelope, event.topic, 0, number))
        if isinstance(event, PageDiscovered):
            await put_urls(stores.frontier, [queued(event, micros_from_utc(envelope.time))])


def queued(event: PageDiscovered, at: int) -> FrontierUrl:
    """The row that the frontier writes of a discovered URL."""
    return decisions.queue_url(event, None, "", at, at)


def fetched(url: str, **fields: Any) -> list[Event]:
    """The first three events of a page."""
    page, host = page_id(url), host_of(url)
    lease = UUID(int=7)
    discovered = PageDiscovered(
        page_id=page, url=url, host=host, why="link", depth=1, referrer="https://sqlite.org/docs.html"
    )
    scheduled = PageScheduled(
        page_id=page, url=url, host=host, lease_id=lease, lease_until=STARTED + timedelta(minutes=2), attempt=1
    )
    answer = {"outcome": "ok", "status": 200, "body_bytes": 41_230, "elapsed_ms": 84.0} | fields
    fetched = PageFetched(page_id=page, url=url, host=host, generation=GENERATION, lease_id=lease, **answer)
    return [discovered, scheduled, fetched]


def document(url: str, title: str, *texts: str) -> Document:
    return Document(url, title, language="en", blocks=(Block("h1", title), *(Block("p", text) for text in texts)))


async def indexed(
    stores: Stores, page_document: Document, html: str, *, statements: int, vectors: Mapping[str, Any] | None = None
) -> None:
    """Write all that the stages write of an indexed page, with this HTML and this document.

    `vectors` are the fields of the part `indexed` that name its statements and vectors (`gateway_statements.chunked`).
    """
    url, page = page_document.url, page_id(page_document.url)
    body_ref = await stores.blobs.put(html.encode())
    document_ref = await stores.blobs.put(encode_document(page_document))
    title, language = page_document.title, page_document.language
    shared: dict[str, Any] = {"page_id": page, "url": url, "generation": GENERATION}
    collection = (await stores.vectors.collections())[0]
    await record(
        stores,
        *fetched(url, body_ref=body_ref, headers={"content-type": "text/html; charset=utf-8"}),
        PageNormalized(
            **shared,
            document_ref=document_ref,
            content_hash=document_ref,
            title=title,
            language=language,
            text_chars=len(page_document.text),
            links=len(page_document.links),
        ),
        PageDeduplicated(
            **shared,
            host=host_of(url),
            document_ref=document_ref,
            verdict="unique",
            canonical_page_id=page,
            settles="changed",
        ),
        PageChunked(**shared, statements_ref="0" * 64, statements=statements, language=language),
        PageEmbedded(
            **shared,
            statements_ref="0" * 64,
            vectors_ref="1" * 64,
            statements=statements,
            model="all-minilm-l6-v2",
            model_version="1",
            dimensions=384,
        ),
        PageIndexed(
            **shared,
            title=title,
            language=language,
            statements=statements,
            model="all-minilm-l6-v2",
            model_version="1",
            collection=collection,
        ),
    )
    parts: dict[Any, dict[str, Any]] = {
        "fetched": {
            "url": url,
            "status": 200,
            "body_ref": body_ref,
            "headers": {"content-type": "text/html; charset=utf-8"},
        },
        "normalized": {
            "url": url,
            "title": title,
            "document_ref": document_ref,
            "directives": [],
            "language": language,
        },
        "indexed": {
            "collection": collection,
            "statements": statements,
            "model": "all-minilm-l6-v2",
            **(vectors or {}),
        },
    }
    for part, value in parts.items():
        await stores.pages.put(page, PART_TYPES[part].of_row(value), GENERATION)


async def refused(stores: Stores, url: str) -> None:
    """Write the history of a page that asks not to be indexed."""
    page = page_id(url)
    removal = PageRemoved(
        page_id=page, url=url, generation=GENERATION, reason="noindex", detail="the page asks not to be indexed"
    )
    await record(stores, *fetched(url), removal)
