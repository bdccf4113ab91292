"""The page of results that a request asks for, the cursor of the next page, and the depth of the search. Pure.

With a cursor, a page has the best results that no earlier page has shown. Without one, it has the results at its place
in the order of now.

The depth is the number of statements that a page needs. The first hundred results come from lists of 200 statements, if
both have a hundred pages together: a late page costs little more than the first one. Further results need longer lists,
and so does a query whose first lists are full of few pages, or of pages that the filters leave out. In longer lists the
order differs a little: a page that is in one short list only may be in both long ones. So the order of the first
results is settled by the short lists, and longer ones only go on behind them. Otherwise a result would be shown on two
pages, and another one on none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from streams.search.cursor import Cursor, encode
from streams.search.ranking.confidence import last_ones
from streams.search.ranking.context import Notes, Ranked
from streams.search.ranking.fusion import REFERENCE_STATEMENTS
from streams.search.ranking.priors import sort_by_date
from streams.search.request import MAX_DEPTH, SearchRequest
from streams.search.trace import ORDERING_PARTS, OrderingPart, Trace
from streams.stores.protocols import Candidates, PageHits

SORTED_RESULTS = 40
"""Maximum results that are sorted by date: the best ones. Of all results, the newest would seldom answer the query."""
FIRST_RESULTS = 100
"""Maximum results that come from the shortest lists: the scores of a list are measured by its first hundred pages."""
FIRST_STATEMENTS = 200
"""Maximum statements of the shortest lists: as many as measure the scale of a list's scores."""
assert FIRST_STATEMENTS == REFERENCE_STATEMENTS
STATEMENTS_PER_RESULT = 5
"""Statements of a longer list that are read for each result."""
FURTHER_RESULTS = (100, 200, MAX_DEPTH)
FURTHER_CHECKED_RESULTS = (200, MAX_DEPTH)
"""The same for a query with operators. The index checks most of them, so that the shortest lists have a page of results
as a rule. Of the others few of 1,000 statements may stay."""


@dataclass(frozen=True, slots=True)
class Depth:
    """The results that lists of one length settle."""

    results: int
    """Maximum number of first results, including the results of shorter lists."""
    statements: int
    """Maximum statements of a list."""
    place: int = 0
    """The place of this depth among the depths of the search, from 0."""

    def wanted(self, end: int, found: Candidates) -> int:
        """Return the number of results to look for in these lists when the results up to `end` are shown.

        One more result shows that there is a next page.
        """
        return (end if self.has_all(found) else min(self.results, end)) + 1

    def has_all(self, found: Candidates) -> bool:
        """Return True if longer lists would have no further statements."""
        return max(len(found.dense), len(found.sparse)) < self.statements


def depths(request: SearchRequest, *, is_checked: bool) -> Iterator[Depth]:
    """Yield the depths that a request may need, the shortest lists first.

    With a cursor, lists that earlier pages have used up are not read again: the cursor has their results.
    """
    further = FURTHER_CHECKED_RESULTS if is_checked else FURTHER_RESULTS
    lengths = [(FIRST_RESULTS, FIRST_STATEMENTS), *((results, STATEMENTS_PER_RESULT * results) for results in further)]
    for place, (results, statements) in enumerate(lengths):
        is_used_up = request.cursor is not None and (results <= request.first or place < request.cursor.depth)
        if not is_used_up or place == len(lengths) - 1:
            yield Depth(results, statements, place)


def is_settled(results: int, request: SearchRequest, *, is_checked: bool, is_late: bool) -> bool:
    """Return True if longer lists are not worth their time, by the number of results so far.

    A full page with one more result behind it needs no longer lists. Neither does a page with a result where few more
    can be expected: `is_checked` says that the lists of 1,000 statements were checked for conditions, and as a rule few
    pages meet a condition. And a few results in time are worth more than more results too late.
    """
    return results > request.end or (results > request.first and (is_checked or is_late))


def append_new_results(settled: Ranked, further: Ranked) -> Ranked:
    """Return the settled results, and behind them the results that only the longer lists have."""
    duplicates = settled.notes.near_duplicates
    shown = {page.page_id for page in settled.pages}
    known = shown.union(*({page.page_id for page in pages} for pages in duplicates.values()))

    def is_new(page_id: UUID) -> bool:
        others = further.notes.near_duplicates.get(page_id, ())
        return page_id not in known and not any(page.page_id in shown for page in others)

    pages = [*settled.pages, *(page for page in further.pages if is_new(page.page_id))]
    marked = settled.notes.far | (further.notes.far - shown)
    notes = Notes(
        further.notes.passes,
        further.notes.parts | settled.notes.parts,
        further.notes.near_duplicates | duplicates,
        facets=further.notes.facets,
        site_pages=settled.notes.site_pages or further.notes.site_pages,
        frame=settled.notes.frame | further.notes.frame,
        nearest_only=further.notes.nearest_only,
        far=last_ones(pages, lambda page: page.page_id in marked),
        missing_names=further.notes.missing_names,
        rare=settled.notes.rare or further.notes.rare,
    )
    return Ranked(pages, notes)


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results."""

    before: Sequence[PageHits]
    """The results at the places before this page. Empty with a cursor, which has their hashes."""
    shown: Sequence[PageHits]
    has_next: bool


def drop_shown(ranked: Ranked, cursor: Cursor | None) -> list[PageHits]:
    """Return the results without the results of earlier pages, and without copies of them."""
    if cursor is None:
        return ranked.pages
    shown, copies = frozenset(cursor.shown), ranked.notes.near_duplicates

    def is_new(page: PageHits) -> bool:
        alike = (page.page_id, *(copy.page_id for copy in copies.get(page.page_id, ())))
        return shown.isdisjoint(map(cursor.hash_of, alike))

    return [page for page in ranked.pages if is_new(page)]


def count_results(ranked: Ranked, request: SearchRequest) -> int:
    """Return the number of results of earlier pages, and of the results so far that can be shown behind them."""
    return (request.cursor.results if request.cursor else 0) + len(drop_shown(ranked, request.cursor))


def cut_page(ranked: Ranked, request: SearchRequest, trace: Trace, now: datetime) -> ResultPage:
    """Return the page of results that the request asks for.

    A page that a failed part has cut short has a next page: the missing results may come there. A page without results
    has none, so that no one goes on for ever.
    """
    pages, first = drop_shown(ranked, request.cursor), 0 if request.cursor else request.first
    if request.sort == "date":
        pages = sort_by_date(pages[: max(SORTED_RESULTS - request.first + first, 0)], now)
    shown = pages[first : first + request.per_page]
    has_more = len(pages) > first + request.per_page or (bool(shown) and _is_cut_short(request, trace))
    return ResultPage(pages[:first], shown, has_more and request.end + request.per_page <= MAX_DEPTH)


def next_cursor(
    page: ResultPage, ranked: Ranked, request: SearchRequest, trace: Trace, *, depth: int, now: datetime, salt: bytes
) -> str:
    """Return the token of the next page; empty if there is none."""
    if not page.has_next:
        return ""
    results = [*page.before, *page.shown]
    copies = [copy.page_id for each in results for copy in ranked.notes.near_duplicates.get(each.page_id, ())]
    before = request.cursor or Cursor(salt, request.digest)
    cursor = replace(
        before.add_shown((each.page_id for each in results), copies),
        made=int(now.timestamp()),
        page=request.page + 1,
        depth=depth,
        left_out=_left_out(request, trace),
    )
    return encode(cursor)


def _left_out(request: SearchRequest, trace: Trace) -> frozenset[OrderingPart]:
    """Return the parts that later pages leave out: those that failed on the first page."""
    return request.cursor.left_out if request.cursor else ORDERING_PARTS.intersection(trace.failed)


def _is_cut_short(request: SearchRequest, trace: Trace) -> bool:
    """Return True if a list is missing that the next page may have."""
    return not {"dense", "index"}.difference(_left_out(request, trace)).isdisjoint(trace.failed)
