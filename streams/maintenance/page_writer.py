"""The writer of a page to a model's collection, unless the collection already holds what the page's records describe.

A page is written from its statements in Cassandra, without a crawl. Vectors that the embed stage made with the same
model are taken from their blob.

A page is compared by the payloads of its points: texts, context, date and all other fields of the index stage. The
vectors follow from these and from the model, so they are not read.

The page may change meanwhile. As in the index stage, its points are written first and its records read again
afterwards, and points that a newer fetch or a removal has replaced are removed.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

import numpy as np

from streams.crawl.audiences import Audiences
from streams.errors import PoisonError
from streams.maintenance.recomputing import read_statements
from streams.models.protocols import Embedder, ModelInfo, Vectors
from streams.statements.statement import PageStatements
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.vectors.batching import TextBatcher
from streams.vectors.page_records import IndexedPage, PageFacts, indexed_page, superseded_below, with_audience
from streams.vectors.points import decode_vectors, payloads_of, points_of, texts_of

KNOWN_PAGES = 2_000_000
"""Maximum number of pages that are remembered as written: 76 bytes each, 150 MB together.

Further pages are compared in each pass. If such a page is lost after the last pass, the verification writes it again.
"""


class Target(NamedTuple):
    """The collection to fill, and its model."""

    collection: str
    model: ModelInfo


@dataclass(slots=True)
class Outcome:
    """The result of one pass over the pages."""

    pages: int = 0
    """Pages of the index that were visited."""
    statements: int = 0
    """Statements of the visited pages."""
    written: int = 0
    """Pages that the collection lacked, or held in another form than recorded."""
    written_statements: int = 0
    embedded: int = 0
    """Statements that passed through the model."""
    failed: list[str] = field(default_factory=list)
    """Pages whose statements are missing or damaged, with the reason."""


class Pace:
    """A limit of the statements per second. 0: no limit."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._per_second, self._clock, self._sleep = per_second, clock, sleep
        self._next = clock()

    async def wait(self, statements: int) -> None:
        """Return when this number of statements may be written."""
        if not self._per_second:
            return
        now = self._clock()
        start = max(self._next, now)
        self._next = start + statements / self._per_second
        if start > now:
            await self._sleep(start - now)


class PageWriter:
    """The writer of the pages of one run. It remembers which pages the collection holds."""

    def __init__(self, stores: Stores, embedder: Embedder, pace: Pace) -> None:
        self._stores, self._pace = stores, pace
        self._batcher = TextBatcher(embedder)
        self._audiences = Audiences(stores.api_keys, True, time.monotonic)
        self._known: set[int] = set()
        """Hashes of the pages, as recorded, that this run wrote or found in the collection."""
        self.outcome = Outcome()

    async def close(self) -> None:
        await self._batcher.close()

    async def read_recorded(self, page_id: UUID) -> IndexedPage | None:
        """Return the page as its records describe it now, or None if the page is in no index."""
        return indexed_page(page_id, await self._stores.pages.get(page_id))

    def knows(self, page: IndexedPage) -> bool:
        """Return True if this run wrote the page, or found it in the collection, with the same records."""
        return hash(page) in self._known

    async def write(self, page: IndexedPage, record: PageRecord, target: Target) -> None:
        """Write the page if the collection doesn't hold it as recorded. Raises PoisonError."""
        # A run passes over all pages at least twice. A whole comparison is made once, and costs little beside the
        # writing: with a real Qdrant 1.18, the payloads of 30 statements took 2.6 ms where their count took 1.9 ms, and
        # a page that has to be written needs the blob of its statements anyway. The pages of a run that was stopped are
        # compared again, once: they may have been chunked by another release since.
        if self.knows(page) and await self._count(page, target) == page.statements:
            return
        statements = await read_statements(self._stores, page)
        if not await self.holds(page, statements, target):
            await self._pace.wait(page.statements)
            await self.replace(page, statements, await self._vectors(page, statements, record, target.model), target)
        if len(self._known) < KNOWN_PAGES:
            self._known.add(hash(page))

    async def texts_to_embed(self, page: IndexedPage, record: PageRecord, target: Target) -> Sequence[str]:
        """Return the texts whose vectors `write` would ask of the model now. Raises PoisonError."""
        statements = await read_statements(self._stores, page)
        if (
            await self.holds(page, statements, target)
            or await self._kept_vectors(page, record, target.model) is not None
        ):
            return ()
        return texts_of(statements)

    async def holds(self, page: IndexedPage, statements: PageStatements, target: Target) -> bool:
        """Return True if the collection holds the page's points as they would be written now, and no older points."""
        payloads = payloads_of(statements, await self._facts_of(page))
        wanted = {one.id: payload for one, payload in zip(statements.statements, payloads, strict=True)}
        held = {
            hit.id: hit.payload
            for hit in await self._stores.vectors.scroll(target.collection, page.page_id)
            # A worker writes a newer page's points before its record.
            if hit.id in wanted or hit.payload.generation <= page.generation
        }
        return held == wanted

    async def _facts_of(self, page: IndexedPage) -> PageFacts:
        """Return the facts as recorded, with the audience that the page has by the sites as they are now."""
        return with_audience(page.facts, await self._audiences.of(page.url))

    async def _count(self, page: IndexedPage, target: Target) -> int:
        return await self._stores.vectors.count(target.collection, page.page_id, page.generation)

    async def replace(self, page: IndexedPage, statements: PageStatements, vectors: Vectors, target: Target) -> None:
        """Write the page's points in place of its points of this generation and of earlier ones."""
        points = await asyncio.to_thread(points_of, statements, vectors, await self._facts_of(page))
        await self._stores.vectors.upsert(target.collection, points)
        await self._stores.vectors.remove_page(
            target.collection,
            page.page_id,
            before_generation=page.generation + 1,
            keep=[point.id for point in points],
        )
        await self._remove_if_replaced(page, target)
        self.outcome.written += 1
        self.outcome.written_statements += page.statements

    async def _remove_if_replaced(self, page: IndexedPage, target: Target) -> None:
        """Remove points that a removal or a newer fetch has replaced since the records were read."""
        below = superseded_below(await self._stores.pages.get(page.page_id), page.generation)
        if below is not None:
            await self._stores.vectors.remove_page(target.collection, page.page_id, before_generation=below)

    async def _vectors(
        self, page: IndexedPage, statements: PageStatements, record: PageRecord, model: ModelInfo
    ) -> Vectors:
        kept = await self._kept_vectors(page, record, model)
        if kept is not None:
            return kept
        texts = texts_of(statements)
        self.outcome.embedded += len(texts)
        return await self._batcher.embed(texts) if texts else np.empty((0, model.dimensions), np.float32)

    async def _kept_vectors(self, page: IndexedPage, record: PageRecord, model: ModelInfo) -> Vectors | None:
        """Return the vectors that the embed stage made of the page with this model, if they are kept and whole."""
        indexed = record.indexed
        if indexed.embedded_by != model.model or indexed.statements_ref != page.statements_ref:
            return None
        try:
            return decode_vectors(await self._stores.blobs.get(indexed.vectors_ref), page.statements_ref)
        except PoisonError:
            return None  # the blob is damaged or gone: embed again
