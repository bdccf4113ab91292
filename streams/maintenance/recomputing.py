"""Comparison of what is stored of pages with what the models answer now: links, vectors in blobs, vectors in the index.

A server that gives the answer of one request to another leaves values that look right: their number and their form are.
Only the same question shows them. Nothing is written here; `mending` writes.

Links are made again from the document. Where another release drafted the page, or the document is gone, the links can't
be compared, which is no fault. The vectors are compared with the stored statements as they are.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import numpy as np

from streams.errors import MissingBlob, PoisonError, Refused, RiffleError
from streams.maintenance.comparison import find_foreign_links, find_foreign_vectors
from streams.models.protocols import ModelInfo, Vectors
from streams.sandbox.pool import Sandbox
from streams.statements.chaining import chain_drafts
from streams.statements.sandbox_tasks import DRAFT, decode_drafts
from streams.statements.statement import PageStatements, decode_statements
from streams.stores.opener import Stores
from streams.stores.page_record import PageRecord
from streams.vectors.batching import TextBatcher
from streams.vectors.page_records import IndexedPage, indexed_page
from streams.vectors.points import decode_vectors, texts_of

AT_ONCE = 8
"""Maximum pages that are compared at the same time."""
READ_VECTORS = 256
"""Maximum vectors of one request to the index."""

LinksState = Literal["compared", "no-document", "other-release"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between a page's stored values and the models' answers of now, as numbers of statements."""

    page: IndexedPage
    stored: PageStatements
    made: PageStatements
    """The statements with the links of now. They are the stored statements if the links were not compared."""
    state: LinksState
    links: int
    """Statements with links that the chain model doesn't find."""
    blob_vectors: int
    """Statements with a foreign vector in a blob."""
    index_vectors: int
    """Statements with a foreign vector in the index, or with none."""

    @property
    def is_right(self) -> bool:
        return not (self.links or self.blob_vectors or self.index_vectors)


class Recomputer:
    """The comparison of pages with the models' answers. The sandbox must have been started."""

    def __init__(self, stores: Stores, sandbox: Sandbox) -> None:
        """`stores` are opened with records, vectors and models."""
        self._stores, self._sandbox = stores, sandbox
        self._batcher = TextBatcher(stores.embedder)

    async def close(self) -> None:
        await self._batcher.close()

    async def embed(self, statements: PageStatements) -> Vectors:
        """Return the vectors of the statements, in the precision of stored vectors."""
        return await self._batcher.embed(texts_of(statements))

    async def compare(
        self, page: IndexedPage, record: PageRecord, collection: str, model: ModelInfo
    ) -> Comparison | None:
        """Compare one page. None for a page that was indexed with another model than the collection's.

        Raises PoisonError if the page's statements are missing or damaged.
        """
        if record.indexed.embedded_by != model.model:
            return None
        stored = await read_statements(self._stores, page)
        state, made = await self._make_statements(page, stored, record)
        vectors = await self.embed(stored)
        return Comparison(
            page,
            stored,
            made,
            state,
            len(find_foreign_links(stored.statements, made.statements)),
            await self._count_in_blobs(page, record, vectors),
            await self._count_in_index(page, stored, collection, vectors),
        )

    async def _make_statements(
        self, page: IndexedPage, stored: PageStatements, record: PageRecord
    ) -> tuple[LinksState, PageStatements]:
        """Draft the page's document again, and ask the chain model again."""
        document_ref = find_document(record)
        if not document_ref:
            return "no-document", stored
        try:
            drafted = decode_drafts(await self._sandbox.run(DRAFT, await self._stores.blobs.get(document_ref)))
        except (MissingBlob, Refused):
            return "no-document", stored
        if [draft.text for draft in drafted.drafts] != [statement.text for statement in stored.statements]:
            return "other-release", stored
        return "compared", await chain_drafts(self._stores.chains, page.page_id, stored.url, drafted)

    async def _count_in_blobs(self, page: IndexedPage, record: PageRecord, vectors: Vectors) -> int:
        """Return the statements with a foreign vector in the blob that the record names."""
        if not record.indexed.vectors_ref:
            return 0
        try:
            kept = decode_vectors(await self._stores.blobs.get(record.indexed.vectors_ref), page.statements_ref)
        except PoisonError:  # missing, damaged, or of other statements
            return max(len(vectors), 1)
        return len(set(find_foreign_vectors(kept, vectors)))

    async def _count_in_index(
        self, page: IndexedPage, stored: PageStatements, collection: str, vectors: Vectors
    ) -> int:
        """Return the statements with a foreign vector in the index, or with none."""
        held = {hit.id for hit in await self._stores.vectors.scroll(collection, page.page_id)}
        rows = [row for row, statement in enumerate(stored.statements) if statement.id in held]
        found: list[Sequence[float]] = []
        for start in range(0, len(rows), READ_VECTORS):
            ids = [stored.statements[row].id for row in rows[start : start + READ_VECTORS]]
            found += await self._stores.vectors.dense_vectors(ids, collection)
        missing = len(stored.statements) - len(rows)
        if not rows:
            return missing
        return missing + len(find_foreign_vectors(np.array(found, np.float32), vectors[rows]))


async def read_statements(stores: Stores, page: IndexedPage) -> PageStatements:
    """Return the page's statements. Raises PoisonError if they are missing or damaged."""
    if not page.statements_ref:
        raise PoisonError("its record has no reference to its statements: replay it from an earlier stage")
    return decode_statements(await stores.blobs.get(page.statements_ref))


def find_document(record: PageRecord) -> str:
    """Return the reference of the document that the indexed statements were made from; empty if it was replaced.

    A page that was fetched again without a change keeps its statements, so the first fetch with its document counts.
    """
    decided = record.deduplicated
    first = decided.generation if decided.document_generation is None else decided.document_generation
    return (decided.document_ref or "") if first <= record.indexed.generation else ""


async def compare_pages(
    recomputer: Recomputer,
    stores: Stores,
    page_ids: Sequence[UUID],
    collection: str,
    note: Callable[[IndexedPage, Comparison | PoisonError | None], None],
) -> None:
    """Compare pages, several at a time, and note each result. Pages that change meanwhile are left out.

    Raises the first error of a server.
    """
    model, slots = await stores.embedder.info(), asyncio.Semaphore(AT_ONCE)

    async def compare_one(page_id: UUID) -> None:
        async with slots:
            record = await stores.pages.get(page_id)
            page = indexed_page(page_id, record)
            if page is None:
                return
            found: Comparison | PoisonError | None
            try:
                found = await recomputer.compare(page, record, collection, model)
            except PoisonError as error:
                found = error
            if indexed_page(page_id, await stores.pages.get(page_id)) == page:
                note(page, found)

    try:
        async with asyncio.TaskGroup() as group:
            for page_id in page_ids:
                group.create_task(compare_one(page_id))
    except* RiffleError as failures:
        raise failures.exceptions[0] from None
