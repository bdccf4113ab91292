"""The two lists of one search: they are read from the index, and read on behind pages that fill a list.

The length of a list counts statements, not pages. A manual, or a page that was written for it, may have more statements
on a subject than a list has places, and would hide all other pages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import structlog

from schemas.ids import page_id
from streams.errors import DeadlineExceeded, PoisonError, SearchUnavailable, StoreUnavailable
from streams.search.deadline import Deadline, OnFailure
from streams.search.ranking.confidence import MAX_NAMED_WORDS, NamedWord, find_suspects
from streams.search.ranking.context import RareWord
from streams.search.retrieval.query import IndexQuery
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.stores.protocols import Candidates, Filters, Hit, SparseVector, Visible
from streams.vectors.bm25 import vector_of_word

MIN_PAGES_SHARE = 0.05
"""Minimum pages of both lists together, as a share of the statements of a full list: enough for a page of results. With
fewer pages, full lists are read on."""
LARGE_SHARE = 0.05
"""A page with this share of a list's statements, or more, is left out when the list is read on."""
MAX_READS = 3
"""Maximum reads of one search."""
ADDRESSED_STATEMENTS = 8
"""Maximum statements that are read of a page whose address is the query."""
RARE_STATEMENTS = 20
"""Number of statements with a word from which on the word is not rare."""

log = structlog.get_logger(__name__)


class Retrieval:
    """The reader of one search's lists, under its conditions, with at most `limit` statements in a read."""

    def __init__(
        self, stores: SeenStores, visible: Visible, filters: Filters, limit: int, collection: str | None = None
    ) -> None:
        self._stores = stores
        self._visible = visible
        self._filters = filters
        self._limit = limit
        self._collection = collection

    async def __call__(self, *, dense: Sequence[float] | None, sparse: SparseVector | None) -> Candidates:
        """Return the lists for these vectors. A list whose vector is None is empty. Raises what the index raises."""
        found = await self._stores.candidates(
            dense=dense,
            sparse=sparse,
            visible=self._visible,
            filters=self._filters,
            limit=self._limit,
            collection=self._collection,
        )
        left_out: set[UUID] = set()
        for _ in range(MAX_READS - 1):
            counts = [Counter(hit.payload.page_id for hit in hits) for hits in (found.dense, found.sparse)]
            if len(set().union(*counts)) >= MIN_PAGES_SHARE * self._limit:
                break
            fill_dense, fill_sparse = (self._find_filling_pages(count) - left_out for count in counts)
            fill_sparse = fill_sparse if sparse is not None else set()
            if not fill_dense and not fill_sparse:
                break
            left_out |= fill_dense | fill_sparse
            more = await self._stores.candidates(
                dense=dense if fill_dense else None,
                sparse=sparse if fill_sparse else None,
                visible=self._visible,
                filters=replace(self._filters, exclude_pages=tuple(sorted(left_out))),
                limit=self._limit,
                collection=self._collection,
            )
            found = _append(found, more)
        return found

    async def of_pages(
        self, pages: Sequence[UUID], *, dense: Sequence[float] | None, sparse: SparseVector | None
    ) -> Candidates:
        """Return the statements of these pages, under the same conditions. Raises what the index raises."""
        found = [
            await self._stores.candidates(
                dense=dense,
                sparse=sparse,
                visible=self._visible,
                filters=replace(self._filters, page_id=page),
                limit=ADDRESSED_STATEMENTS,
                collection=self._collection,
            )
            for page in pages
        ]
        return Candidates(
            tuple(hit for each in found for hit in each.dense), tuple(hit for each in found for hit in each.sparse)
        )

    async def find_rare(self, words: Sequence[NamedWord]) -> tuple[RareWord, ...]:
        """Return the words that fewer statements have than a list has places, with their pages, under the same
        conditions."""
        if not words:
            return ()
        found = await self._stores.pages_with_words(
            [vector_of_word(forms) for _, forms in words],
            visible=self._visible,
            filters=self._filters,
            limit=self._limit,
            collection=self._collection,
        )
        return tuple(
            RareWord(text, frozenset(pages))
            for (text, _), pages in zip(words, found, strict=True)
            if len(pages) < self._limit
        )

    def _find_filling_pages(self, counts: Counter[UUID]) -> set[UUID]:
        """Return the pages that fill a list, by the number of statements of each page; none if the list isn't full."""
        if counts.total() < self._limit:
            return set()
        return {page for page, count in counts.items() if count >= LARGE_SHARE * self._limit}


def _append(found: Candidates, more: Candidates) -> Candidates:
    dense, sparse = _append_new_hits(found.dense, more.dense), _append_new_hits(found.sparse, more.sparse)
    return replace(found, dense=dense, sparse=sparse)


def _append_new_hits(hits: tuple[Hit, ...], more: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return both parts of a list as one. The second part begins behind the end of the first, so the order stays."""
    known = {hit.id for hit in hits}
    return (*hits, *(hit for hit in more if hit.id not in known))


async def read_lists(
    retrieval: Retrieval, query: IndexQuery, deadline: Deadline, trace: Trace, on_failure: OnFailure
) -> Candidates:
    """Return the lists of the query. Raises SearchUnavailable if the index does not answer in time."""
    try:
        with trace.timed("retrieve_ms"):
            async with deadline.for_index():
                found = await _read_or_without_meaning(retrieval, query, trace, on_failure)
    except (StoreUnavailable, DeadlineExceeded, TimeoutError) as error:
        on_failure("vectors", error)
        slow = isinstance(error, TimeoutError | DeadlineExceeded)
        raise SearchUnavailable("The index took too long." if slow else "The index does not answer.") from error
    trace.states["index"] = "ok"
    return found


async def _read_or_without_meaning(
    retrieval: Retrieval, query: IndexQuery, trace: Trace, on_failure: OnFailure
) -> Candidates:
    try:
        found = await retrieval(dense=query.dense, sparse=query.sparse)
        return await _add_addressed_pages(retrieval, query, found)
    except PoisonError as error:
        if query.dense is None or query.sparse is None:
            raise SearchUnavailable("The index refused the query.") from error
        # The index holds vectors of another model: while models are being switched, words can be searched.
        on_failure("vectors", error)
        log.warning("the index refused the query's vector; only words are searched", error=str(error))
        trace.fail("dense", "The index holds vectors of another model; meaning was not searched, words were.")
        return await retrieval(dense=None, sparse=query.sparse)


async def _add_addressed_pages(retrieval: Retrieval, query: IndexQuery, found: Candidates) -> Candidates:
    """Return the lists with the page whose address the query is: few of its statements have words of an address.

    A page that the site has pinned for the query may have none of its words, either.
    """
    known = {hit.payload.url for hit in (*found.dense, *found.sparse)} if query.addressed else set()
    wanted = () if not known.isdisjoint(query.addresses) else query.addresses
    if query.used.pinned and query.used.pinned not in known:
        wanted = (*wanted, query.used.pinned)
    if not wanted:
        return found
    of_page = await retrieval.of_pages(list(map(page_id, wanted)), dense=query.dense, sparse=query.sparse)
    return _append(found, of_page)


async def find_rare_words(retrieval: Retrieval, words: Sequence[NamedWord], found: Candidates) -> tuple[RareWord, ...]:
    """Return the rare words of a query. A list by words that is empty has shown that no page has any of them."""
    if not found.sparse and len(words) <= MAX_NAMED_WORDS:
        return tuple(RareWord(text, frozenset()) for text, _ in words)
    return await retrieval.find_rare(find_suspects(words, found.sparse))


async def read_lists_of_pages(
    stores: SeenStores, pages: Sequence[UUID], query: IndexQuery, clauses: Sequence[str], limit: int
) -> dict[UUID, Sequence[Sequence[Hit]]]:
    """Return the lists of each page: by meaning for the query and for each of its clauses, and by words behind them."""
    vectors = [query.dense] if query.dense is not None else []
    if clauses:
        embedder = query.in_use.embedder if query.in_use else stores.embedder
        vectors += list((await embedder.embed(clauses, "query")).tolist())
    found = await stores.search_pages(
        pages,
        dense=vectors,
        sparse=query.sparse,
        visible=query.request.visible,
        filters=query.filters,
        limit=limit,
        collection=query.collection,
    )
    each = len(vectors) + (query.sparse is not None)
    return {page: found[place * each : (place + 1) * each] for place, page in enumerate(pages)}
