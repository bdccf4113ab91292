"""The vector index in memory: exact scores of all points, in the same order as in Qdrant."""

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from streams.errors import PoisonError
from streams.models.protocols import ModelInfo
from streams.stores.protocols import EVERYTHING, Candidates, Filters, Hit, Point, SparseVector, Visible
from streams.stores.statement_payload import MADE, StatementPayload
from streams.stores.vector_collection import (
    ALIAS,
    ANY,
    MissingCollection,
    by_ordinal,
    check_dimensions,
    collection_name,
    has_words,
    no_collection,
    sort_hits,
    still_active,
    words_of_audience,
)

_TIE = 1e-4
"""Minimum difference of scores that surely differ after rounding. Hits are sorted by rounded scores."""


class MemoryIndex:
    """See `VectorIndex`. Exact, and gone with the process."""

    def __init__(self, alias: str = ALIAS) -> None:
        self._alias = alias
        self._collections: dict[str, _Collection] = {}
        self._active: str | None = None

    async def ensure(self, model: ModelInfo) -> str:
        name = collection_name(self._alias, model)
        collection = self._collections.setdefault(name, _Collection(model))
        check_dimensions(name, collection.model.dimensions, model)
        self._active = self._active or name
        return name

    async def active(self) -> str | None:
        return self._active

    async def activate(self, collection: str) -> None:
        if collection not in self._collections:
            raise no_collection(collection, sorted(self._collections))
        self._active = collection

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        self._of(collection).put(points)

    async def remove_page(
        self, collection: str, page_id: UUID, *, before_generation: int | None = None, keep: Sequence[UUID] = ()
    ) -> None:
        limit, kept = math.inf if before_generation is None else before_generation, set(keep)
        self._of(collection).remove(
            lambda id, payload: payload.page_id == page_id and payload.generation < limit and id not in kept
        )

    async def candidates(
        self,
        *,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters = ANY,
        limit: int = 100,
        collection: str | None = None,
    ) -> Candidates:
        await asyncio.sleep(0)  # as with a server, others run meanwhile
        if self._active is None:
            return Candidates(limit=limit)
        read = self._collections.get(collection or "") or self._collections[self._active]
        by_meaning = [] if dense is None else read.by_meaning(dense, visible, filters, limit)
        has_words = sparse is not None and sparse.indices
        by_words = read.by_words(sparse, visible, filters, limit) if sparse is not None and has_words else []
        return Candidates(tuple(by_meaning), tuple(by_words), limit)

    async def search_pages(
        self,
        pages: Sequence[UUID],
        *,
        dense: Sequence[Sequence[float]],
        sparse: SparseVector | None,
        visible: Visible,
        filters: Filters = ANY,
        limit: int = 10,
        collection: str | None = None,
    ) -> list[tuple[Hit, ...]]:
        asked = [(vector, None) for vector in dense] + ([(None, sparse)] if sparse is not None else [])
        lists = []
        for page in pages:
            of_page = replace(filters, page_id=page)
            for vector, words in asked:
                found = await self.candidates(
                    dense=vector, sparse=words, visible=visible, filters=of_page, limit=limit, collection=collection
                )
                lists.append((*found.dense, *found.sparse))
        return lists

    async def pages_with_words(
        self,
        words: Sequence[SparseVector],
        *,
        visible: Visible,
        filters: Filters = ANY,
        limit: int = 100,
        collection: str | None = None,
    ) -> list[list[UUID]]:
        found = [
            await self.candidates(
                dense=None, sparse=one, visible=visible, filters=filters, limit=limit, collection=collection
            )
            for one in words
        ]
        return [[hit.payload.page_id for hit in each.sparse] for each in found]

    async def set_audience(self, collection: str, host: str, audience: str) -> None:
        self._of(collection).set_audience(host, audience)

    async def dense_vectors(self, ids: Sequence[UUID], collection: str | None = None) -> list[Sequence[float]]:
        name = collection or self._active
        points = self._collections[name].points if name in self._collections else {}
        return [points[id].dense for id in ids if id in points]

    async def text_and_vector(self, collection: str, id: UUID) -> tuple[str, Sequence[float]] | None:
        points = self._collections[collection].points if collection in self._collections else {}
        return (points[id].payload.text, points[id].dense) if id in points else None

    async def nearest(self, collection: str, dense: Sequence[float], limit: int, *, exact: bool = False) -> list[Hit]:
        return self._of(collection).by_meaning(dense, EVERYTHING, ANY, limit)

    async def scroll(self, collection: str, page_id: UUID) -> list[Hit]:
        points = self._of(collection).points
        hits = [Hit(id, 0.0, point.payload) for id, point in points.items() if point.payload.page_id == page_id]
        return sorted(hits, key=by_ordinal)

    async def pages_with(
        self, collection: str, fact: str, *, below: int | None = None, limit: int = 0
    ) -> tuple[int, list[Hit]]:
        values = ((point, point.payload.row().get(fact)) for point in self._of(collection).points.values())
        least, most = (1, math.inf) if below is None else (0, below - 1)
        found = [point for point, value in values if value is not None and least <= value <= most]
        return len(found), [Hit(point.id, 0.0, point.payload) for point in found[:limit]]

    async def first_statements(self, page_ids: Sequence[UUID], count: int) -> list[Hit]:
        points = self._collections[self._active].points if self._active is not None else {}
        asked = set(page_ids)
        payloads = ((id, point.payload) for id, point in points.items() if point.payload.ordinal < count)
        hits = (Hit(id, 0.0, payload) for id, payload in payloads if payload.page_id in asked)
        return sorted(hits, key=by_ordinal)[: len(asked) * count]

    async def count(self, collection: str, page_id: UUID | None = None, generation: int | None = None) -> int:
        payloads = (point.payload for point in self._of(collection).points.values())
        return sum(
            (page_id is None or payload.page_id == page_id) and (generation is None or payload.generation == generation)
            for payload in payloads
        )

    async def collections(self) -> list[str]:
        return sorted(self._collections)

    async def drop(self, collection: str) -> None:
        if collection == self._active:
            raise still_active(collection)
        self._collections.pop(collection, None)

    async def close(self) -> None: ...

    def _of(self, collection: str) -> "_Collection":
        if collection not in self._collections:
            raise MissingCollection(f"Collection {collection} doesn't exist")
        return self._collections[collection]


_Postings = dict[tuple[str, int], tuple[NDArray[np.int64], NDArray[np.float64]]]
_OUTDATED = {f"{MADE}normalize": 0}


@dataclass
class _Collection:
    model: ModelInfo
    points: dict[UUID, Point] = field(default_factory=dict)
    audiences: dict[UUID, str] = field(default_factory=dict)
    """The audience for which the terms of a point were written; empty: everybody."""

    def put(self, points: Sequence[Point]) -> None:
        for point in points:
            if len(point.dense) != self.model.dimensions:
                raise PoisonError(f"expected dim: {self.model.dimensions}, got {len(point.dense)}")
        for point in points:
            audience = point.payload.audience
            words = words_of_audience(point.sparse, audience)
            self.points[point.id] = Point(point.id, list(point.dense), words, point.payload)
            self.audiences[point.id] = audience
        self._forget()

    def remove(self, doomed: Callable[[UUID, StatementPayload], bool]) -> None:
        self.points = {id: point for id, point in self.points.items() if not doomed(id, point.payload)}
        self.audiences = {id: self.audiences[id] for id in self.points}
        self._forget()

    def set_audience(self, host: str, audience: str) -> None:
        """Change the payloads. The terms stay those under which the points were written."""
        for id, point in self.points.items():
            if _is_of(point.payload, [host]) and point.payload.audience != audience:
                row = point.payload.row() | {"audience": audience} | ({} if point.payload.ordinal else _OUTDATED)
                self.points[id] = Point(id, point.dense, point.sparse, StatementPayload.of_row(row))
        self._forget()

    def by_meaning(self, query: Sequence[float], visible: Visible, filters: Filters, limit: int) -> list[Hit]:
        if len(query) != self.model.dimensions:
            raise PoisonError(f"expected dim: {self.model.dimensions}, got {len(query)}")
        if not self.points:
            return []
        rows = np.arange(len(self.points)) if filters.page_id is None else self._rows_of(filters.page_id)
        scores = self._matrix[rows] @ self._scale_rows(np.asarray([query], dtype=np.float32))[0]
        return self._best(rows, scores, visible, filters, limit)

    def by_words(self, query: SparseVector, visible: Visible, filters: Filters, limit: int) -> list[Hit]:
        """Return the best hits. A score is the sum over the shared terms of query weight x document weight x IDF."""
        scores = np.zeros(len(self.points))
        matched = np.zeros(len(self.points), dtype=bool)
        for audience in ("", *visible.audiences):
            terms = words_of_audience(query, audience)
            for term, weight in zip(terms.indices, terms.values, strict=True):
                if (audience, term) in self._postings:
                    rows, weights = self._postings[audience, term]
                    scores[rows] += weight * weights * self._idf(len(rows), audience)
                    matched[rows] = True
        rows = np.flatnonzero(matched)
        rows = rows if filters.page_id is None else np.intersect1d(rows, self._rows_of(filters.page_id))
        return self._best(rows, scores[rows], visible, filters, limit)

    def _best(
        self, rows: NDArray[Any], scores: NDArray[Any], visible: Visible, filters: Filters, limit: int
    ) -> list[Hit]:
        """Return the best of these rows that pass the filters, in order, at most `limit`."""
        points = self._listed
        if filters != ANY or visible != EVERYTHING:
            payloads = (points[row].payload for row in rows.tolist())
            passing = np.array([_sees(visible, each) and _passes(each, filters) for each in payloads], dtype=bool)
            rows, scores = rows[passing], scores[passing]
        if len(rows) > limit:
            # Rows with equal scores, in the digits that count, are sorted by id: so none of them is cut here.
            bound = np.partition(scores, -limit)[-limit] - _TIE
            rows, scores = rows[scores >= bound], scores[scores >= bound]
        found = [(points[row], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]
        return sort_hits(Hit(point.id, score, point.payload) for point, score in found)[:limit]

    def _idf(self, count: int, audience: str) -> float:
        """Return the IDF of a term, as Qdrant's modifier `idf` does: BM25's, never negative."""
        return math.log((self._documents[audience] - count + 0.5) / (count + 0.5) + 1)

    def _rows_of(self, page: UUID) -> NDArray[np.int64]:
        return np.array(self._pages.get(page, ()), dtype=np.int64)

    @cached_property
    def _pages(self) -> dict[UUID, list[int]]:
        """The rows of the points of each page."""
        rows: defaultdict[UUID, list[int]] = defaultdict(list)
        for row, point in enumerate(self._listed):
            rows[point.payload.page_id].append(row)
        return dict(rows)

    @cached_property
    def _listed(self) -> list[Point]:
        return list(self.points.values())

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        return self._scale_rows(np.asarray([point.dense for point in self.points.values()], dtype=np.float32))

    @cached_property
    def _postings(self) -> _Postings:
        """The rows of the points with a term and the weights of the term there, by the term and its audience."""
        listed: defaultdict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)
        for row, (id, point) in enumerate(self.points.items()):
            for term, weight in dict(zip(point.sparse.indices, point.sparse.values, strict=True)).items():
                listed[self.audiences[id], term].append((row, weight))
        return {
            term: (np.array([row for row, _ in pairs]), np.array([weight for _, weight in pairs]))
            for term, pairs in listed.items()
        }

    @cached_property
    def _documents(self) -> Counter[str]:
        """The number of points with terms, by their audience."""
        return Counter(self.audiences[id] for id, point in self.points.items() if point.sparse.indices)

    def _scale_rows(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        if not self.model.normalized:
            return rows
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        scaled: NDArray[np.float32] = rows / np.where(lengths == 0, 1, lengths)
        return scaled

    def _forget(self) -> None:
        for name in ("_listed", "_pages", "_matrix", "_postings", "_documents"):
            self.__dict__.pop(name, None)


def _has_facts(payload: StatementPayload, filters: Filters) -> bool:
    if filters.page_types and payload.page_type.lower() not in filters.page_types:
        return False
    if filters.extensions and payload.extension not in filters.extensions:
        return False
    if (filters.from_day or filters.before_day) and not _is_between(payload.day, filters):
        return False
    if not (filters.title_phrases or filters.phrases or filters.exclude_phrases):
        return True
    texts = (payload.text, payload.title, *payload.context)
    return (
        all(has_words(payload.title, phrase) for phrase in filters.title_phrases)
        and all(any(has_words(text, phrase) for text in texts) for phrase in filters.phrases)
        and not any(has_words(text, phrase) for text in texts for phrase in filters.exclude_phrases)
    )


def _is_between(day: int, filters: Filters) -> bool:
    return max(filters.from_day, 1) <= day and (not filters.before_day or day < filters.before_day)


def _is_of(payload: StatementPayload, sites: Sequence[str]) -> bool:
    return bool(sites) and (payload.host in sites or not set(sites).isdisjoint(payload.sites))


def _sees(visible: Visible, payload: StatementPayload) -> bool:
    if visible.only and not _is_of(payload, visible.only):
        return False
    if visible.is_all:
        return True
    return (not payload.audience or payload.audience in visible.audiences) and not _is_of(payload, visible.hidden)


def _passes(payload: StatementPayload, filters: Filters) -> bool:
    if filters.languages and payload.language not in filters.languages:
        return False
    if (filters.sites and not _is_of(payload, filters.sites)) or _is_of(payload, filters.exclude_sites):
        return False
    if filters.exclude_pages and payload.page_id in filters.exclude_pages:
        return False
    if filters.page_id is not None and payload.page_id != filters.page_id:
        return False
    return filters.host in (None, payload.host) and _has_facts(payload, filters)
