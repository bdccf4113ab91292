"""Documents to points, by the functions of the stages: drafting, chains, statements, embedding texts, points.

A variant of the ablation differs in one step: what a statement is, or which context it has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemas.ids import page_id
from streams.models.protocols import ChainModel, Embedder
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Document
from streams.pages.quality import NO_COUNTS, assess
from streams.statements.chaining import chain_input, make_statements
from streams.statements.sandbox_tasks import decode_drafts, draft
from streams.statements.statement import PageStatements, Statement
from streams.stores.memory import MemoryIndex
from streams.stores.protocols import EVERYTHING, Candidates, Filters, SparseVector, Visible
from streams.stores.vector_collection import ANY
from streams.vectors.page_records import PageFacts
from streams.vectors.points import decode_vectors, encode_vectors, points_of, texts_of

GENERATION = 1
_REFERENCE = "0" * 64
"""The reference of statements that are in no store."""

Progress = Callable[[int, int], None]


async def pages_of(
    documents: Sequence[Document], chains: ChainModel, progress: Progress | None = None
) -> list[PageStatements]:
    """Return the statements of each document, as the statements stage makes them."""
    pages: list[PageStatements] = []
    for document in documents:
        pages.append(await _page(document, chains))
        if progress:
            progress(len(pages), len(documents))
    return pages


async def _page(document: Document, chains: ChainModel) -> PageStatements:
    identity = page_id(document.url)
    found = decode_drafts(draft(encode_document(document)))
    sentences, owners = chain_input(found.drafts)
    links = await chains.links(sentences)
    made = make_statements(identity, found.drafts, owners, links)
    return PageStatements(identity, document.url, found.title, found.language, made)


def change_statements(page: PageStatements, change: Callable[[Statement], Statement]) -> PageStatements:
    """Return the page with each statement changed."""
    return replace(page, statements=tuple(change(statement) for statement in page.statements))


def qualities_of(documents: Iterable[Document]) -> dict[str, float]:
    """Return the quality of each document by its URL: by its text only, since a collection has no more of a page."""
    return {document.url: assess(document, NO_COUNTS).score for document in documents}


async def index_of(
    pages: Sequence[PageStatements], embedder: Embedder, qualities: Mapping[str, float] | None = None
) -> MemoryIndex:
    """Return an index with the points of these pages, as the embed and the index stage make them.

    `qualities` has the quality of pages by URL; others have quality 1.
    """
    texts = [text for page in pages for text in texts_of(page)]
    vectors = await embedder.embed(texts, "passage")
    # The vectors pass through Cassandra on their way, in half precision.
    vectors = decode_vectors(encode_vectors(_REFERENCE, vectors), _REFERENCE)
    index = MemoryIndex()
    collection = await index.ensure(await embedder.info())
    points, start = [], 0
    for page in pages:
        end = start + len(page.statements)
        quality = (qualities or {}).get(page.url, 1.0)
        points += points_of(page, vectors[start:end], PageFacts(GENERATION, quality=quality))
        start = end
    await index.upsert(collection, points)
    return index


class RememberedLists:
    """An index whose lists are read once for each query, depth and condition. All else is the index's own.

    The same queries are asked again and again, with other options of the ranking.
    """

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._lists: dict[tuple[Any, ...], Candidates] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def candidates(
        self,
        *,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        visible: Visible = EVERYTHING,
        filters: Filters = ANY,
        limit: int = 100,
        collection: str | None = None,
    ) -> Candidates:
        key = (None if dense is None else tuple(dense), sparse, visible, filters, limit, collection)
        if key not in self._lists:
            self._lists[key] = await self._index.candidates(
                dense=dense, sparse=sparse, visible=visible, filters=filters, limit=limit, collection=collection
            )
        return self._lists[key]
