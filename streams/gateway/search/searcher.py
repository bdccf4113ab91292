"""One search, from the checked request to the pages found, within a deadline, with the parts that answer.

The query is embedded (dense) and split into terms (sparse), and the index fuses both lists. When the embedder is slow
or down, terms alone are searched; when the query has no terms, its meaning alone. The answer names each part that
failed. Only an index that does not answer ends the search: SearchUnavailable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import structlog

from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable
from streams.gateway.http.problems import ProblemError, search_unavailable
from streams.gateway.search.deadline import Deadline
from streams.gateway.search.query_embedder import OnFailure, QueryEmbedder
from streams.gateway.search.request import SearchRequest
from streams.gateway.search.similar import Groups, SimilarPages
from streams.gateway.search.trace import Trace, milliseconds_since
from streams.ranking.weights import weight_of
from streams.stores.fusion import combine, first_pages
from streams.stores.opener import Stores
from streams.stores.protocols import Candidates, Filters, PageHits, SparseVector

CANDIDATES = 200
"""Minimum statements of each list that are read: the scores of a list are measured by its first hundred pages."""
STATEMENTS_PER_PAGE = 3
"""Maximum statements shown of a page."""
UNKNOWN_LANGUAGE = "und"

QueryTerms = Callable[[str, str], SparseVector]
"""Text and language (empty: unknown) to weighted terms: `streams.vectors.bm25.query_vector`."""

log = structlog.get_logger(__name__)


class SearchUnavailable(ProblemError):
    """The index does not answer, or neither meaning nor words can be searched."""


@dataclass(frozen=True, slots=True)
class Found:
    """The pages found for one request."""

    request: SearchRequest
    pages: tuple[PageHits, ...]
    has_next: bool
    trace: Trace
    took_ms: float
    similar: Groups | None = None
    """The duplicates of the pages found; None when they are not known."""

    @property
    def partial(self) -> bool:
        return bool(self.trace.failed)


class Searcher:
    """Searches the stores. There is one in each process: it holds the cache of query vectors."""

    def __init__(
        self, stores: Stores, terms: QueryTerms, *, deadline_seconds: float = 2.0, on_failure: OnFailure
    ) -> None:
        self._stores = stores
        self._terms = terms
        self._deadline_seconds = deadline_seconds
        self._on_failure = on_failure
        self._embedder = QueryEmbedder(stores, on_failure)
        self._similar = SimilarPages(stores, on_failure)

    async def search(self, request: SearchRequest) -> Found:
        """Raises SearchUnavailable when the index does not answer in time."""
        started, deadline, trace = perf_counter(), Deadline(self._deadline_seconds), Trace()
        sparse = self._sparse(request, trace)
        dense = await self._embedder.embed(request.text, deadline, trace)
        if dense is None and sparse is None:
            raise SearchUnavailable(search_unavailable(_nothing_left(trace)))
        found = await self._retrieve(request, dense, sparse, deadline, trace)
        trace.weight = weight_of(request.text, sparse, found)
        pages = combine(found, trace.weight.meaning)
        end = request.first + request.per_page
        shown = tuple(first_pages(pages[request.first : end], request.per_page, STATEMENTS_PER_PAGE))
        with trace.timed("similar_ms"):
            similar = await self._similar.of([page.page_id for page in shown], deadline)
        return Found(request, shown, len(pages) > end, trace, milliseconds_since(started), similar)

    def _sparse(self, request: SearchRequest, trace: Trace) -> SparseVector | None:
        with trace.timed("terms_ms"):
            vector = self._terms(request.text, request.languages[0] if len(request.languages) == 1 else "")
        trace.states["sparse"] = "ok" if vector.indices else "empty"
        if not vector.indices:
            trace.reasons["sparse"] = "The query has no words that are kept in the word index."
            return None
        return vector

    async def _retrieve(
        self,
        request: SearchRequest,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        deadline: Deadline,
        trace: Trace,
    ) -> Candidates:
        try:
            with trace.timed("retrieve_ms"):
                async with deadline.for_index():
                    found = await self._candidates(request, dense, sparse, trace)
        except (StoreUnavailable, DeadlineExceeded, TimeoutError) as error:
            self._on_failure("qdrant", error)
            slow = isinstance(error, TimeoutError | DeadlineExceeded)
            detail = "The index took too long." if slow else "The index does not answer."
            raise SearchUnavailable(search_unavailable(detail)) from error
        trace.states["index"] = "ok"
        return found

    async def _candidates(
        self, request: SearchRequest, dense: Sequence[float] | None, sparse: SparseVector | None, trace: Trace
    ) -> Candidates:
        wanted = request.first + request.per_page + 1  # one more shows whether there is a next page
        retrieve = partial(
            self._stores.vectors.candidates,
            filters=Filters(host=request.host or None, languages=tuple(map(_as_indexed, request.languages))),
            limit=max(CANDIDATES, 5 * wanted),
        )
        try:
            return await retrieve(dense=dense, sparse=sparse)
        except PoisonError as error:
            if dense is None or sparse is None:
                raise SearchUnavailable(search_unavailable("The index refused the query.")) from error
            # The index holds vectors of another model: while models are being switched, words can be searched.
            self._on_failure("qdrant", error)
            log.warning("the index refused the query's vector; searching by words alone", error=str(error))
            trace.fail("dense", "The index holds vectors of another model; meaning was not searched, words were.")
            return await retrieve(dense=None, sparse=sparse)


def _as_indexed(language: str) -> str:
    """The index has an empty string for a language that is not known; BCP 47 has a tag."""
    return "" if language == UNKNOWN_LANGUAGE else language


def _nothing_left(trace: Trace) -> str:
    reason = trace.reasons.get("dense", "").partition(";")[0] or "The query has no meaning that could be searched"
    return f"{reason}, and the query has no words that are kept in the word index."
