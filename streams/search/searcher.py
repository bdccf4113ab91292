"""One search, from the checked request to the pages found, within a deadline, with the parts that answer.

The query is embedded (dense) and split into terms (sparse), and the index returns a list of statements for each. With
the best of both, meaning is searched again (feedback), and both lists become one order of pages. When the embedder is
slow or down, terms alone are searched; when the query has no terms, its meaning alone. The answer names each part that
failed. Only an index that does not answer ends the search: SearchUnavailable.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from uuid import UUID

import structlog

from streams.errors import DeadlineExceeded, PoisonError, StoreUnavailable
from streams.search.active_model import ActiveModel
from streams.search.block_lists import BlockLists
from streams.search.deadline import Deadline
from streams.search.depth import append_new_results, depths
from streams.search.errors import SearchUnavailable
from streams.search.failures import OnFailure
from streams.search.feedback import FeedbackSearch
from streams.search.host_ranks import HostRanks
from streams.search.query_embedder import QueryEmbedder
from streams.search.ranking.answer_form import WEIGHT as ANSWER_WEIGHT
from streams.search.ranking.answer_form import add_answer_bonuses
from streams.search.ranking.feedback import PAGES, SHARE
from streams.search.ranking.filters import RESULTS_PER_HOST, Filtered, Rules, apply_filters
from streams.search.ranking.fusion import MEANING_WEIGHT, first_pages, merge_lists
from streams.search.ranking.matching import has_all, identifiers
from streams.search.ranking.neighbours import WEIGHT as NEIGHBOUR_WEIGHT
from streams.search.ranking.neighbours import add_neighbour_gains
from streams.search.ranking.operators import SITE, Conditions, narrow
from streams.search.ranking.priors import PAGES as PRIOR_PAGES
from streams.search.ranking.priors import PriorWeights, add_priors, hosts_of, prior_of
from streams.search.ranking.query import ParsedQuery, parse_query
from streams.search.ranking.weights import weight_of
from streams.search.recall_probe import RecallProbe
from streams.search.request import MAX_DEPTH, SearchRequest
from streams.search.reranking import Reranking
from streams.search.retrieval import Retrieval
from streams.search.similar import Groups, SimilarPages
from streams.search.trace import Trace, milliseconds_since
from streams.stores.opener import Stores
from streams.stores.protocols import Candidates, Filters, PageHits, SparseVector

STATEMENTS_PER_PAGE = 3
"""Maximum statements shown of a page."""
UNKNOWN_LANGUAGE = "und"

QueryTerms = Callable[[str, str], SparseVector]
"""Text and language (empty: unknown) to weighted terms: `streams.vectors.bm25.query_vector`."""

log = structlog.get_logger(__name__)


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
    left_out: Mapping[UUID, Sequence[PageHits]] = field(default_factory=dict)
    """The near-duplicates of a page among the results, which are not shown."""
    text: str = ""
    """The query without its operators."""

    @property
    def partial(self) -> bool:
        return bool(self.trace.failed)


@dataclass(frozen=True, slots=True)
class Filtering:
    """The operator's choice of filters."""

    block_lists: BlockLists = field(default_factory=lambda: BlockLists(()))
    hide_adult: bool = True
    results_per_host: int = RESULTS_PER_HOST


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Searcher:
    """Searches the stores. There is one in each process: it holds the cache of query vectors."""

    def __init__(
        self,
        stores: Stores,
        terms: QueryTerms,
        *,
        deadline_seconds: float = 2.0,
        on_failure: OnFailure,
        filtering: Filtering | None = None,
        feedback_pages: int = PAGES,
        feedback_share: float = SHARE,
        answer_weight: float = ANSWER_WEIGHT,
        neighbour_weight: float = NEIGHBOUR_WEIGHT,
        priors: PriorWeights | None = None,
        clock: Callable[[], datetime] = _utc_now,
        rerank: bool = False,
        recall: RecallProbe | None = None,
    ) -> None:
        self._reranking = Reranking(stores, on_failure, enabled=rerank)
        self._feedback = FeedbackSearch(stores, on_failure, feedback_pages, feedback_share)
        self._answer_weight, self._neighbour_weight = answer_weight, neighbour_weight
        self._priors, self._clock = priors or PriorWeights(), clock
        self._host_ranks = HostRanks(stores, on_failure)
        self._filtering = filtering or Filtering()
        self._stores = stores
        self._terms = terms
        self._deadline_seconds = deadline_seconds
        self._on_failure = on_failure
        self._embedder = QueryEmbedder(stores, on_failure)
        self._active_model = ActiveModel(stores)
        self._similar = SimilarPages(stores, on_failure)
        self._recall = recall

    async def search(self, request: SearchRequest) -> Found:
        """Raises SearchUnavailable when the index does not answer in time."""
        started, deadline, trace = perf_counter(), Deadline(self._deadline_seconds), Trace()
        query = parse_query(request.text)
        sparse = self._sparse(request, query.text, trace)
        dense = await self._dense(query.text, deadline, trace)
        if dense is None and sparse is None:
            raise SearchUnavailable(_nothing_left(trace))
        ranked = await self._results(request, query, dense, sparse, deadline, trace)
        if self._recall is not None and dense is not None and trace.states["dense"] != "failed":
            self._recall.offer(dense)
        end = request.first + request.per_page
        shown = tuple(first_pages(ranked.pages[request.first : end], request.per_page, STATEMENTS_PER_PAGE))
        with trace.timed("similar_ms"):
            similar = await self._similar.of([page.page_id for page in shown], deadline)
        left_out = {page.page_id: ranked.similar[page.page_id] for page in shown if page.page_id in ranked.similar}
        took_ms = milliseconds_since(started)
        has_next = len(ranked.pages) > end and end + request.per_page <= MAX_DEPTH
        return Found(request, shown, has_next, trace, took_ms, similar, left_out, query.text)

    async def _results(
        self,
        request: SearchRequest,
        query: ParsedQuery,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        deadline: Deadline,
        trace: Trace,
    ) -> Filtered:
        """The results as far as the request needs them, from lists as long as that needs."""
        started, settled, end = perf_counter(), Filtered(), request.first + request.per_page
        is_checked = bool(query.conditions)
        for depth in depths(request, is_checked=is_checked):
            retrieve = Retrieval(self._stores, _index_filters(request, query.conditions), depth.statements)
            try:
                found = await self._retrieve(retrieve, dense, sparse, deadline, trace)
            except SearchUnavailable as error:
                if len(settled.pages) <= request.first:
                    raise
                trace.fail("index", f"{error} Further results are left out.")
                break
            trace.weight = weight_of(query.text, sparse, found)
            found = await self._feedback.search(found, dense, partial(retrieve, sparse=None), deadline, trace)
            with trace.timed("rank_ms"):
                further = await self._ranked(request, query, found, depth.wanted(end, found), deadline, trace)
            settled = append_new_results(settled, further)
            if len(settled.pages) > end or depth.has_all(found):
                break
            # Few pages meet a condition as a rule, and they are among the first. And a few results in time are worth
            # more than more of them too late.
            is_late = deadline.seconds_left < 2 * (perf_counter() - started)
            if (is_checked or is_late) and len(settled.pages) > request.first:
                break
        return settled

    async def _ranked(
        self,
        request: SearchRequest,
        query: ParsedQuery,
        found: Candidates,
        wanted: int,
        deadline: Deadline,
        trace: Trace,
    ) -> Filtered:
        """The first pages in the order of their scores, after the filters."""
        weight = trace.weight.meaning if trace.weight else MEANING_WEIGHT
        pages, trace.answer = add_answer_bonuses(merge_lists(found, weight), query.text, self._answer_weight)
        if trace.answer is None:  # a question of this kind is often answered by one page alone
            pages, trace.neighbours = add_neighbour_gains(pages, self._neighbour_weight)
        pages = await self._add_priors(pages, deadline, trace)
        pages = await self._reranking.of(query.text, pages, deadline, trace)
        pages = put_exact_first(pages, identifiers(query.text))
        rules = Rules(
            query.conditions,
            _index_filters(request, query.conditions).languages,
            await self._filtering.block_lists.current(),
            self._filtering.hide_adult,
            request.per_page,
            0 if request.host or SITE.name in query.conditions else self._filtering.results_per_host,
        )
        ranked = apply_filters(pages, rules, wanted)
        trace.filtered = dict(ranked.counts)
        return ranked

    async def _add_priors(self, pages: list[PageHits], deadline: Deadline, trace: Trace) -> list[PageHits]:
        """The pages in the order of their scores with the authority of their hosts and their freshness."""
        first = pages[:PRIOR_PAGES]
        ranks = await self._host_ranks.of(hosts_of(first), deadline) if self._priors.authority else {}
        now = self._clock()
        trace.priors = {page.page_id: prior_of(page, ranks, now, self._priors) for page in first}
        return add_priors(pages, trace.priors)

    async def _dense(self, text: str, deadline: Deadline, trace: Trace) -> Sequence[float] | None:
        vector = await self._embedder.embed(text, deadline, trace)
        if vector is not None and trace.model and (reason := await self._active_model.mismatch(trace.model)):
            trace.fail("dense", reason)
            return None
        return vector

    def _sparse(self, request: SearchRequest, text: str, trace: Trace) -> SparseVector | None:
        with trace.timed("terms_ms"):
            vector = self._terms(text, request.languages[0] if len(request.languages) == 1 else "")
        trace.states["sparse"] = "ok" if vector.indices else "empty"
        if not vector.indices:
            trace.reasons["sparse"] = "The query has no words that are kept in the word index."
            return None
        return vector

    async def _retrieve(
        self,
        retrieve: Retrieval,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        deadline: Deadline,
        trace: Trace,
    ) -> Candidates:
        try:
            with trace.timed("retrieve_ms"):
                async with deadline.for_index():
                    found = await self._candidates(retrieve, dense, sparse, trace)
        except (StoreUnavailable, DeadlineExceeded, TimeoutError) as error:
            self._on_failure("vectors", error)
            slow = isinstance(error, TimeoutError | DeadlineExceeded)
            detail = "The index took too long." if slow else "The index does not answer."
            raise SearchUnavailable(detail) from error
        trace.states["index"] = "ok"
        return found

    async def _candidates(
        self, retrieve: Retrieval, dense: Sequence[float] | None, sparse: SparseVector | None, trace: Trace
    ) -> Candidates:
        try:
            return await retrieve(dense=dense, sparse=sparse)
        except PoisonError as error:
            if dense is None or sparse is None:
                raise SearchUnavailable("The index refused the query.") from error
            # The index holds vectors of another model: while models are being switched, words can be searched.
            self._on_failure("vectors", error)
            log.warning("the index refused the query's vector; searching by words alone", error=str(error))
            trace.fail("dense", "The index holds vectors of another model; meaning was not searched, words were.")
            return await retrieve(dense=None, sparse=sparse)


def put_exact_first(pages: list[PageHits], names: tuple[str, ...]) -> list[PageHits]:
    """The pages that have all of these identifiers first. Where no page has them, the order stays."""
    return sorted(pages, key=lambda page: not has_all(page, names)) if names else pages


def _index_filters(request: SearchRequest, conditions: Conditions) -> Filters:
    """The conditions that the index checks before it cuts its lists."""
    filters = narrow(Filters(host=request.host or None, languages=request.languages), conditions)
    return replace(filters, languages=tuple(map(_as_indexed, filters.languages)))


def _as_indexed(language: str) -> str:
    """The index has an empty string for a language that is not known; BCP 47 has a tag."""
    return "" if language == UNKNOWN_LANGUAGE else language


def _nothing_left(trace: Trace) -> str:
    reason = trace.reasons.get("dense", "").partition(";")[0] or "The query has no meaning that could be searched"
    return f"{reason}, and the query has no words that are kept in the word index."
