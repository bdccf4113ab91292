"""One search for results, from the checked request to the pages found, within a deadline, with the parts that answer.

The query is embedded (dense) and split into terms (sparse), and the index returns a list of statements for each. The
passes of the ranking make one order of pages of both lists. When the embedder is slow or down, only terms are searched;
when the query has no terms, only its meaning. The answer names each part that failed. Only an index that does not
answer, or a ranking without end, ends the search: SearchUnavailable.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from secrets import token_bytes
from time import perf_counter
from uuid import UUID

from streams.errors import SearchUnavailable
from streams.search.block_lists import BlockLists
from streams.search.cursor import SALT_BYTES
from streams.search.deadline import Deadline, OnFailure, OptionalPart, Rest
from streams.search.extras import ExtrasReader, Groups, show_first_sentences
from streams.search.options import SearchOptions
from streams.search.paging import (
    SORTED_RESULTS,
    Depth,
    append_new_results,
    count_results,
    cut_page,
    depths,
    is_settled,
    next_cursor,
)
from streams.search.query_language.query import WrittenOperator, find_operators
from streams.search.ranker import PASSES, Ranker, Reader
from streams.search.ranking.confidence import lacked_words, min_confidence, missing_words
from streams.search.ranking.context import Notes, Pass, Ranked, RankingContext, RareWord
from streams.search.ranking.filters import Rules, pass_checks
from streams.search.ranking.fusion import meaning_weight
from streams.search.ranking.other_languages import UNSURE, asked_in, min_lead
from streams.search.ranking.rules import NO_RULES, PersonalRules
from streams.search.readers import ClickReader, Copies, HostRanks, Reranking
from streams.search.request import SearchRequest
from streams.search.retrieval.lists import RARE_STATEMENTS, Retrieval, find_rare_words, read_lists
from streams.search.retrieval.measuring import IndexBound, RecallProbe
from streams.search.retrieval.model_fit import reader_of
from streams.search.retrieval.query import IndexQuery, QueryReader
from streams.search.sentences import SentenceReader
from streams.search.trace import Part, Trace, milliseconds_since
from streams.seen.stores import SeenStores
from streams.stores.page_record import Normalized
from streams.stores.protocols import Candidates, PageHits

STATEMENTS_PER_PAGE = 3
"""Maximum statements shown of a page."""
REST_SECONDS = 2.0
"""Pause after a failure before rare words are looked for again (seconds)."""


@dataclass(frozen=True, slots=True)
class Found:
    """The pages found for one request."""

    request: SearchRequest
    pages: tuple[PageHits, ...]
    has_next: bool
    trace: Trace
    took_ms: float
    notes: Notes = field(default_factory=Notes)
    similar: Groups | None = None
    """The duplicates of the pages found; None when the duplicates are not known."""
    facts: Mapping[UUID, Normalized] = field(default_factory=dict)
    versions: Mapping[UUID, Sequence[Normalized]] = field(default_factory=dict)
    """The versions of results in other languages, also such as were not found themselves."""
    """Facts of the pages found, by their records, as far as they could be read."""
    left_out: Mapping[UUID, Sequence[PageHits]] = field(default_factory=dict)
    """The copies of a page among the results, which are not shown."""
    missing: tuple[str, ...] = ()
    """The words of the query that no page has (`Notes.missing`)."""
    lacks: Mapping[UUID, Sequence[str]] = field(default_factory=dict)
    """The rare words of the query that each of the pages found does not have."""
    text: str = ""
    """The query without its operators."""
    synonyms: str = ""
    """The texts that were searched beside it, as the site's own words say."""
    operators: tuple[WrittenOperator, ...] = ()
    """The operators of the query, as they were written."""
    failed: tuple[Part, ...] = ()
    """The parts that failed. The other parts have results."""
    next: str = ""
    """The cursor of the next page; empty if there is none."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Searcher:
    """The searcher of one process. It holds the cache of query vectors."""

    def __init__(
        self,
        stores: SeenStores,
        options: SearchOptions,
        *,
        on_failure: OnFailure,
        clock: Callable[[], datetime] = _utc_now,
        recall: RecallProbe | None = None,
        index_bound: IndexBound | None = None,
        passes: Sequence[Pass] = PASSES,
    ) -> None:
        self.options = options
        self.clock = clock
        self._stores, self._on_failure, self._recall = stores, on_failure, recall
        self._index_bound = index_bound
        self._queries = QueryReader(stores, on_failure, options.model_languages)
        self._block_lists = BlockLists(options.block_lists)
        self._ranker = Ranker(_readers(stores, options, on_failure), passes)
        self._sentences = SentenceReader(stores, on_failure)
        self._extras = ExtrasReader(stores, on_failure)
        self._rare_words = OptionalPart("rare words", partial(on_failure, "vectors"), Rest(REST_SECONDS))

    async def find(self, request: SearchRequest, deadline: Deadline) -> Found:
        """Return the pages found. Raises SearchUnavailable when the index does not answer in time."""
        started = perf_counter()
        trace = Trace(request.cursor.left_out if request.cursor else frozenset())
        query = await self._queries.read(request, deadline, trace)
        ranked, depth = await self._settle(_with_all_sorted(query), deadline, trace)
        now = self.clock()
        page = cut_page(ranked, request, trace, now)
        if self._recall is not None and query.dense is not None and trace.states["dense"] != "failed":
            self._recall.offer(query.dense, query.collection)
        if self._index_bound is not None:
            self._index_bound.offer()
        following = next_cursor(page, ranked, request, trace, depth=depth, now=now, salt=token_bytes(SALT_BYTES))
        frame = ranked.notes.frame
        looked = await self._sentences.read(page.shown, query, deadline, trace)
        shown = tuple(await self._ranker.choose(page.shown, looked, STATEMENTS_PER_PAGE, frame, deadline))
        is_phrase = bool(query.filters.phrases)
        extras = await self._extras.of(shown, request.visible, deadline, trace, is_phrase=is_phrase, frame=frame)
        duplicates = ranked.notes.near_duplicates
        asked = asked_in(query.text) if min_lead(trace.model) is not None else UNSURE
        return Found(
            request,
            tuple(show_first_sentences(shown, extras.first_sentences, frame)),
            has_next=page.has_next,
            trace=trace,
            took_ms=milliseconds_since(started),
            notes=ranked.notes,
            similar=extras.similar,
            facts=extras.facts,
            versions=extras.versions,
            left_out={each.page_id: duplicates[each.page_id] for each in shown if each.page_id in duplicates},
            missing=missing_words(ranked.notes, shown, asked),
            lacks={each.page_id: lacked_words(ranked.notes.rare, each, asked) for each in shown},
            text=query.text,
            synonyms=query.used.texts,
            operators=find_operators(request.text),
            failed=trace.failed,
            next=following,
        )

    async def leave_out(self, pages: Iterable[PageHits], personal: PersonalRules = NO_RULES) -> list[PageHits]:
        """Return the pages that any search may show a person with these rules, in their order."""
        rules = Rules(
            block_list=await self._block_lists.current(),
            hide_adult=self.options.hide_adult or personal.hide_adult,
            personal=personal,
        )
        return list(pass_checks(pages, rules, Counter()))

    async def _settle(self, query: IndexQuery, deadline: Deadline, trace: Trace) -> tuple[Ranked, int]:
        """Return the results, from lists that are as long as the requested page needs, and the place of their depth."""
        started, settled, is_checked, place = perf_counter(), Ranked(), bool(query.conditions), 0
        is_first = True
        for depth in depths(query.request, is_checked=is_checked):
            try:
                found = await self._read(depth, query, deadline, trace)
                further = await self._rank(depth, query, found, deadline, trace)
                if is_first:
                    further.notes.rare, is_first = await self._find_rare_words(query, found, deadline), False
            except SearchUnavailable as error:
                if count_results(settled, query.request) <= query.request.first:
                    raise
                trace.fail("index", f"{error} Further results are left out.")
                break
            settled, place = append_new_results(settled, further), depth.place
            results = count_results(settled, query.request)
            is_late = deadline.seconds_left < 2 * (perf_counter() - started)
            are_few = is_checked and depth.place > 0
            is_enough = is_settled(results, query.request, is_checked=are_few, is_late=is_late)
            if depth.has_all(found) or settled.notes.nearest_only:
                break
            if is_enough:
                if is_late and not is_settled(results, query.request, is_checked=are_few, is_late=False):
                    trace.fail("index", "There was no time for longer lists. Further results are left out.")
                break
        return settled, place

    async def _read(self, depth: Depth, query: IndexQuery, deadline: Deadline, trace: Trace) -> Candidates:
        """Return the lists of this depth, with the weight of meaning in the trace."""
        retrieval = Retrieval(self._stores, query.request.visible, query.filters, depth.statements, query.collection)
        found = await read_lists(retrieval, query, deadline, trace, self._on_failure)
        if trace.model:
            trace.similarities = {hit.id: trace.model.closeness(hit.score) for hit in found.dense}
        trace.meaning = meaning_weight(trace.model.name if trace.model else "", self.options.meaning_weight)
        return found

    async def _rank(
        self, depth: Depth, query: IndexQuery, found: Candidates, deadline: Deadline, trace: Trace
    ) -> Ranked:
        assert trace.meaning is not None
        context = RankingContext(
            text=query.text,
            found=found,
            meaning=trace.meaning,
            options=self.options,
            now=self.clock(),
            wanted=depth.wanted(query.request.looked_for, found),
            visible=query.request.visible,
            per_page=query.request.per_page,
            conditions=query.conditions,
            languages=query.filters.languages,
            is_of_one_site=query.is_of_one_site or query.request.sort == "date",
            personal=query.request.personal,
            block_list=await self._block_lists.current(),
            words=query.words,
            addresses=query.addresses,
            pinned="" if query.request.sort == "date" else query.used.pinned,
            min_confidence=min_confidence(
                trace.model,
                query.conditions,
                has_text=query.has_text,
                fixed=self.options.min_confidence,
                of_index=self._index_bound.of if self._index_bound else lambda _: None,
            ),
            asked_in=asked_in(query.text),
            min_lead=min_lead(trace.model),
            asked=query.request.text,
            language=query.request.language or "",
            reader=reader_of(query.text, query.request.accepted),
            check_time=deadline.check,
        )
        context.notes.passes |= query.used.explained()
        with trace.timed("rank_ms"):
            return await self._ranker.rank(context, deadline, trace)

    async def _find_rare_words(self, query: IndexQuery, found: Candidates, deadline: Deadline) -> tuple[RareWord, ...]:
        retrieval = Retrieval(self._stores, query.request.visible, query.filters, RARE_STATEMENTS, query.collection)
        find = partial(find_rare_words, retrieval, query.named, found)
        return await self._rare_words.read(find, deadline.for_rare_words()) or ()


def _with_all_sorted(query: IndexQuery) -> IndexQuery:
    """Return the query for all results that are sorted by date: each page of them is a part of one order."""
    if query.request.sort != "date":
        return query
    return replace(query, request=replace(query.request, page=1, per_page=SORTED_RESULTS, cursor=None))


def _readers(stores: SeenStores, options: SearchOptions, on_failure: OnFailure) -> dict[str, Reader]:
    """Return the readers of the passes, as far as the options ask for them."""
    readers: dict[str, Reader] = {"copies": Copies(stores, on_failure).read}
    if options.authority_weight:
        readers["priors"] = HostRanks(stores, on_failure).read
    if options.clicks and options.clicks_weight:
        readers["clicks"] = ClickReader(stores, on_failure).read
    if options.rerank:
        readers["rerank"] = Reranking(stores, on_failure).read
    return readers
