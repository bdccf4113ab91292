"""The page of results that a request asks for, and the cursor of the next page. Pure.

With a cursor, a page has the best results that no earlier page has shown. Without one, it has the results at its place
in the order of now.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from streams.search.cursor import Cursor, encode
from streams.search.ranking.context import Ranked
from streams.search.ranking.priors import sort_by_date
from streams.search.request import MAX_DEPTH, SearchRequest
from streams.search.trace import ORDERING_PARTS, OrderingPart, Trace
from streams.stores.protocols import PageHits

SORTED_RESULTS = 40
"""Maximum results that are sorted by date: the best ones. Of all results, the newest would seldom answer the query."""


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
