"""Statements for the contract of vector indexes, and a search in them as the gateway combines it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID, uuid5

import numpy as np

from streams.models.protocols import ModelInfo
from streams.search.ranking.fusion import merge_lists
from streams.stores.memory.vectors import MemoryIndex
from streams.stores.protocols import EVERYTHING, Filters, PageHits, Point, SparseVector, Visible
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload
from streams.stores.vector_collection import ANY

Index = MemoryIndex | QdrantIndex


Make = Callable[[], Index]


MODEL = ModelInfo("mini", "1", 8)


NAMES = UUID("3f0c8f0e-5a0b-4c7e-9b55-0f6d7f3a1c11")


def page(name: str) -> UUID:
    return uuid5(NAMES, name)


def point(
    name: str,
    of: str = "a",
    dense: Sequence[float] | None = None,
    terms: dict[int, float] | None = None,
    host: str = "a.example",
    language: str = "en",
    generation: int = 1,
    ordinal: int = 0,
    text: str = "",
    **facts: int | str,
) -> Point:
    """A statement of page `of`. Without other arguments it matches no query of these tests."""
    row = {
        "page_id": str(page(of)),
        "url": f"https://{host}/{of}",
        "host": host,
        "sites": [host, "above.example"] if host == "c.example" else [host],
        "title": of,
        "text": text or f"Statement {name}.",
        "context": text,
        "ordinal": ordinal,
        "language": language,
        "generation": generation,
        **facts,
    }
    vector = list(dense) if dense is not None else axis(7)
    sparse = SparseVector(tuple(terms or {}), tuple((terms or {}).values()))
    return Point(uuid5(NAMES, name), vector, sparse, StatementPayload.of_row(row))


def axis(number: int, tilt: float = 0.0) -> list[float]:
    """A unit vector along one axis, tilted a little towards the last."""
    vector = np.zeros(8)
    vector[number] += 1
    vector[7] += tilt
    return [float(x) for x in vector / np.linalg.norm(vector)]


def terms(**weights: float) -> SparseVector:
    return SparseVector(tuple(int(name[1:]) for name in weights), tuple(weights.values()))


def shape(found: Sequence[PageHits]) -> list[tuple[UUID, list[UUID]]]:
    return [(one.page_id, [hit.id for hit in one.hits]) for one in found]


async def search(
    index: Index,
    *,
    dense: Sequence[float] | None,
    sparse: SparseVector | None,
    visible: Visible = EVERYTHING,
    filters: Filters = ANY,
    pages: int = 10,
    per_page: int = 3,
    candidates: int = 100,
) -> list[PageHits]:
    """The first pages of the two lists, as the gateway combines them."""
    found = await index.candidates(dense=dense, sparse=sparse, visible=visible, filters=filters, limit=candidates)
    return [replace(page, hits=page.hits[:per_page]) for page in merge_lists(found)[:pages]]


async def filled(index: Index, *points: Point) -> str:
    collection = await index.ensure(MODEL)
    await index.upsert(collection, points)
    return collection
