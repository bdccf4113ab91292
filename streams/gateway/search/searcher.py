"""One search, from the checked request to the pages found, within a deadline, with whatever answers.

The query is embedded (dense) and cut into terms (sparse); the index fuses both by reciprocal rank. When the embedder is
slow or dead the terms alone are searched; when the query has no terms, its meaning alone. What failed is said in the
answer, never hidden. Only an index that does not answer ends the search: SearchUnavailable.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Literal

import structlog

from streams.errors import DeadlineExceeded, PoisonError, RiffleError, StoreUnavailable
from streams.gateway.http.problems import ProblemError, search_unavailable
from streams.gateway.search.request import SearchRequest
from streams.gateway.search.similar import Groups, SimilarPages
from streams.stores.opener import Stores
from streams.stores.protocols import Filters, ModelInfo, PageHits, SparseVector

EMBED_SHARE = 0.4
"""Of the deadline, at most, goes to the query's vector: the rest is the index's, which nothing can replace."""
STATEMENTS_PER_PAGE = 3
UNKNOWN_LANGUAGE = "und"
CACHED_VECTORS = 4_096
"""Query vectors kept: 384 dimensions as Python floats make about 12 KB each, 50 MB in all."""
FAILURES_BEFORE_REST = 3
REST_SECONDS = 2.0
"""After three failures in a row nobody waits for the embedder for so long; then one query tries it again."""

Part = Literal["dense", "sparse", "index"]
State = Literal["ok", "cached", "empty", "failed"]
QueryTerms = Callable[[str, str], SparseVector]
"""Text and language (empty: unknown) to weighted terms: `streams.vectors.bm25.query_vector`."""
OnFailure = Callable[[str, BaseException], None]

log = structlog.get_logger(__name__)


class SearchUnavailable(ProblemError):
    """The index does not answer, or nothing is left to search with."""


@dataclass(slots=True)
class Trace:
    """What happened on the way: for `explain`, for the reasons of a partial answer, and for metrics."""

    states: dict[Part, State] = field(default_factory=dict)
    reasons: dict[Part, str] = field(default_factory=dict)
    """For people: why a part failed or had nothing to do."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    model: ModelInfo | None = None

    @property
    def failed(self) -> tuple[Part, ...]:
        return tuple(part for part, state in self.states.items() if state == "failed")


@dataclass(frozen=True, slots=True)
class Answer:
    """The pages found for one request."""

    request: SearchRequest
    pages: tuple[PageHits, ...]
    has_next: bool
    trace: Trace
    took_ms: float
    similar: Groups | None = None
    """The pages that those found stand for; None when that is not known."""

    @property
    def partial(self) -> bool:
        return bool(self.trace.failed)


class VectorCache:
    """Vectors of recent queries, all of one model: another model empties it. Least recently used go first."""

    def __init__(self, size: int = CACHED_VECTORS) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Sequence[float]] = OrderedDict()
        self.model: ModelInfo | None = None

    def get(self, text: str) -> Sequence[float] | None:
        if text in self._vectors:
            self._vectors.move_to_end(text)
        return self._vectors.get(text)

    def put(self, model: ModelInfo, text: str, vector: Sequence[float]) -> None:
        if model != self.model:
            self._vectors.clear()
            self.model = model
        self._vectors[text] = vector
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)


class Searcher:
    """Answers searches. One for the whole process: it holds the query vectors' cache."""

    def __init__(
        self,
        stores: Stores,
        terms: QueryTerms,
        *,
        deadline_seconds: float = 2.0,
        on_failure: OnFailure = lambda store, error: None,
    ) -> None:
        self._stores = stores
        self._terms = terms
        self._deadline_seconds = deadline_seconds
        self._on_failure = on_failure
        self._cache = VectorCache()
        self._similar = SimilarPages(stores, on_failure)
        self._failures_in_a_row = 0
        self._rest_until = 0.0

    async def search(self, request: SearchRequest) -> Answer:
        """Raises SearchUnavailable when the index does not answer in time."""
        started = perf_counter()
        trace = Trace()
        sparse = self._sparse(request, trace)
        dense = await self._dense(request.text, trace)
        if dense is None and sparse is None:
            raise SearchUnavailable(search_unavailable(_nothing_left(trace)))
        left_seconds = self._deadline_seconds - (perf_counter() - started)
        pages = await self._retrieve(request, dense, sparse, left_seconds, trace)
        end = request.first + request.per_page
        shown = tuple(pages[request.first : end])
        return Answer(
            request=request,
            pages=shown,
            has_next=len(pages) > end,
            trace=trace,
            similar=await self._similar_to(shown, self._deadline_seconds - (perf_counter() - started), trace),
            took_ms=_ms_since(started),
        )

    async def _similar_to(self, shown: Sequence[PageHits], left_seconds: float, trace: Trace) -> Groups | None:
        started = perf_counter()
        similar = await self._similar.of([page.page_id for page in shown], left_seconds)
        trace.timings_ms["similar_ms"] = _ms_since(started)
        return similar

    def _sparse(self, request: SearchRequest, trace: Trace) -> SparseVector | None:
        started = perf_counter()
        vector = self._terms(request.text, request.languages[0] if len(request.languages) == 1 else "")
        trace.timings_ms["terms_ms"] = _ms_since(started)
        trace.states["sparse"] = "ok" if vector.indices else "empty"
        if not vector.indices:
            trace.reasons["sparse"] = "The query has no words that are kept in the word index."
            return None
        return vector

    async def _dense(self, text: str, trace: Trace) -> Sequence[float] | None:
        """The query's vector, or None with the reason in the trace. Never raises: search goes on with words alone."""
        started = perf_counter()
        vector = self._cache.get(text)
        if vector is not None:
            trace.states["dense"], trace.model = "cached", self._cache.model
        elif started < self._rest_until:
            trace.states["dense"] = "failed"
            trace.reasons["dense"] = "The embedding model did not answer lately; meaning was not searched, words were."
        else:
            vector = await self._embed(text, trace)
        trace.timings_ms["embed_ms"] = _ms_since(started)
        return vector

    async def _embed(self, text: str, trace: Trace) -> Sequence[float] | None:
        share = self._deadline_seconds * EMBED_SHARE
        embedder = self._stores.embedder
        try:
            async with asyncio.timeout(share):
                model = await embedder.info()
                vector: list[float] = (await embedder.embed([text], deadline_seconds=share))[0].tolist()
        except (RiffleError, TimeoutError) as error:
            self._embedding_failed(error, trace)
            return None
        except Exception as error:
            # A fault of the model's client must not take the words' half of the search down with it.
            log.exception("embedding a query failed")
            self._embedding_failed(error, trace)
            return None
        self._failures_in_a_row = 0
        self._cache.put(model, text, vector)
        trace.states["dense"], trace.model = "ok", model
        return vector

    def _embedding_failed(self, error: Exception, trace: Trace) -> None:
        self._on_failure("triton", error)
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= FAILURES_BEFORE_REST:
            self._rest_until = perf_counter() + REST_SECONDS
        slow = isinstance(error, TimeoutError | DeadlineExceeded)
        trace.states["dense"] = "failed"
        trace.reasons["dense"] = (
            f"The embedding model {'took too long' if slow else 'did not answer'}; "
            "meaning was not searched, words were."
        )

    async def _retrieve(
        self,
        request: SearchRequest,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        left_seconds: float,
        trace: Trace,
    ) -> list[PageHits]:
        started = perf_counter()
        try:
            async with asyncio.timeout(left_seconds):
                pages = await self._fused(request, dense, sparse, left_seconds, trace)
        except (StoreUnavailable, DeadlineExceeded, TimeoutError) as error:
            self._on_failure("qdrant", error)
            slow = isinstance(error, TimeoutError | DeadlineExceeded)
            detail = "The index took too long." if slow else "The index does not answer."
            raise SearchUnavailable(search_unavailable(detail)) from error
        trace.timings_ms["retrieve_ms"] = _ms_since(started)
        trace.states["index"] = "ok"
        return pages

    async def _fused(
        self,
        request: SearchRequest,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        left_seconds: float,
        trace: Trace,
    ) -> list[PageHits]:
        wanted = request.first + request.per_page + 1  # one more tells whether there is a next page
        ask = partial(
            self._stores.vectors.search,
            filters=Filters(host=request.host or None, languages=tuple(map(_as_indexed, request.languages))),
            pages=wanted,
            per_page=STATEMENTS_PER_PAGE,
            candidates=max(100, 5 * wanted),
            deadline_seconds=left_seconds,
        )
        try:
            return await ask(dense=dense, sparse=sparse)
        except PoisonError as error:
            if dense is None or sparse is None:
                raise SearchUnavailable(search_unavailable("The index refused the query.")) from error
            # Vectors of another model than the index holds: while models are being switched, words still work.
            self._on_failure("qdrant", error)
            log.warning("the index refused the query's vector; searching by words alone", error=str(error))
            trace.states["dense"] = "failed"
            trace.reasons["dense"] = "The index holds vectors of another model; meaning was not searched, words were."
            return await ask(dense=None, sparse=sparse)


def _as_indexed(language: str) -> str:
    """The index has nothing for a language that is not known; BCP 47 has a tag."""
    return "" if language == UNKNOWN_LANGUAGE else language


def _nothing_left(trace: Trace) -> str:
    reason = trace.reasons.get("dense", "").partition(";")[0] or "The query has no meaning that could be searched"
    return f"{reason}, and the query has no words that are kept in the word index."


def _ms_since(started: float) -> float:
    return round((perf_counter() - started) * 1_000, 3)
