"""Pages in memory stores for `riffle reindex`: indexed, lost, changed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4, uuid5

from schemas import Envelope, Event, PageChunked, PageEmbedded
from schemas.ids import page_id
from streams.errors import MissingBlob
from streams.maintenance.reindexing import Reindexer
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import TextRole, Vectors
from streams.runtime.agent import Delivery
from streams.search.ranking.fusion import merge_lists
from streams.statements.statement import PageStatements, Statement, encode_statements
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import EVERYTHING
from streams.stores.statement_payload import StatementPayload
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.index_agent import IndexAgent

PAGES = 40
AT = 1_700_000_000_000_000


class Counting(MemoryEmbedder):
    """An embedder that counts its texts, and may be killed."""

    texts = 0
    dies_after: int | None = None

    async def embed(self, texts: Sequence[str], role: TextRole, *, deadline_seconds: float | None = None) -> Vectors:
        self.texts += len(texts)
        if self.dies_after is not None and self.texts > self.dies_after:
            raise Killed
        return await super().embed(texts, role)


class Killed(Exception):
    """The process ends."""


def delivery(event: Event) -> Delivery:
    envelope = Envelope(id=uuid4(), type=event.event_type(), source="t", time=datetime.now(UTC), subject="")
    return Delivery(event, envelope, event.topic, 0, 0)


def url(number: int) -> str:
    return f"https://{'even' if number % 2 == 0 else 'odd'}.example/{number}"


async def index_page(
    stores: Stores, number: int, generation: int = 1, words: str = "first", heading: str = "Title"
) -> None:
    """Take a page through the embed and the index stage."""
    page = page_id(url(number))
    texts = [f"{words} statement {n} of page {number}" for n in range(3)]
    statements = tuple(Statement(uuid5(page, text), ordinal, text, (heading,)) for ordinal, text in enumerate(texts))
    content = encode_statements(PageStatements(page, url(number), "Title", "en", statements))
    event = PageChunked(
        page_id=page,
        url=url(number),
        generation=generation,
        crawl_id="c",
        statements_ref=await stores.blobs.put(content),
        statements=len(statements),
        language="en",
    )
    (embedded,) = await EmbedAgent(stores).handle(delivery(event))
    assert isinstance(embedded, PageEmbedded)
    await IndexAgent(stores).handle(delivery(embedded))


async def filled_stores() -> Stores:
    """Memory stores with PAGES pages in the index."""
    made = memory_stores()
    for number in range(PAGES):
        await index_page(made, number)
    return made


async def fill(stores: Stores, embedder: Any, host: str = "") -> Reindexer:
    reindexer = Reindexer(stores, embedder, host=host)
    async for _ in reindexer.run():
        pass
    return reindexer


async def lose_statements(stores: Stores, number: int) -> None:
    """Delete the blob with the statements of a page."""
    reference = (await stores.pages.get(page_id(url(number)))).rows["indexed"]["statements_ref"]
    get = stores.blobs.get

    async def without(ref: str) -> bytes:
        if ref == reference:
            raise MissingBlob(f"no blob {ref}")
        return await get(ref)

    stores.blobs.get = without  # type: ignore[method-assign]  # of this object only


async def payloads(stores: Stores, collection: str, number: int) -> list[StatementPayload]:
    return [hit.payload for hit in await stores.vectors.scroll(collection, page_id(url(number)))]


def alter(stores: Stores, collection: str, number: int, **changes: object) -> None:
    """Change the payloads of a page in the index. None removes a field."""
    points = stores.vectors._of(collection).points  # type: ignore[attr-defined] # the fake's
    for id, point in points.items():
        if point.payload.page_id == page_id(url(number)):
            row = {key: value for key, value in {**point.payload.row(), **changes}.items() if value is not None}
            points[id] = replace(point, payload=StatementPayload.of_row(row))


async def found(stores: Stores, text: str, embedder: Any) -> list[UUID]:
    (vector,) = await embedder.embed([text], "query")
    return [
        page.page_id
        for page in merge_lists(await stores.vectors.candidates(dense=vector.tolist(), sparse=None, visible=EVERYTHING))
    ][:10]
