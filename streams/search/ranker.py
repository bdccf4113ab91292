"""The order of results: the passes from the two lists of the index to the pages that are shown, and their runner.

What adds to scores is a row in the table of signals. A pass that needs data of a store or model names its readers
(`streams.search.readers`), which run side by side before it.

Passes are plain computation, so they run in a thread, off the event loop: a large ranking delays no other request, and
it ends at the search's deadline. All passes between two readers share one change of thread.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import structlog

from streams.errors import DeadlineExceeded, SearchUnavailable
from streams.search.deadline import Deadline
from streams.search.own_words import put_pinned_first
from streams.search.ranking.confidence import keep_nearest_only
from streams.search.ranking.context import Pass, Ranked, RankingContext
from streams.search.ranking.facets import count_facets
from streams.search.ranking.filters import check_results, filter_results
from streams.search.ranking.fusion import merge_found_lists
from streams.search.ranking.named_pages import put_addressed_first, put_identifiers_first
from streams.search.ranking.signals import add_signals
from streams.search.sentences import Looked, choose_sentences
from streams.search.trace import Trace
from streams.stores.protocols import PageHits

PASSES = (
    Pass("merge", merge_found_lists),
    Pass("signals", add_signals, ("rerank", "priors", "clicks")),
    Pass("addresses", put_addressed_first),
    Pass("identifiers", put_identifiers_first),
    Pass("pinned", put_pinned_first),
    Pass("facets", count_facets),
    Pass("checks", check_results),
    Pass("filters", filter_results, ("copies",)),
    Pass("confidence", keep_nearest_only),
)

Reader = Callable[[RankingContext, Sequence[PageHits], Deadline, Trace], Awaitable[Any]]
"""A function that reads data for a pass. It raises nothing: a pass can do without the data."""

log = structlog.get_logger(__name__)


class Ranker:
    """The ranking of the lists' pages. `readers` have the names that passes call them by."""

    def __init__(self, readers: Mapping[str, Reader], passes: Sequence[Pass] = PASSES) -> None:
        self._readers = readers
        self._groups = _divide(passes, readers)

    async def rank(self, context: RankingContext, deadline: Deadline, trace: Trace) -> Ranked:
        """Return the first pages in their order. Raises SearchUnavailable if that takes too long."""
        pages: list[PageHits] = []
        for group in self._groups:
            names = [name for name in group[0].reads if name in self._readers]
            read = await asyncio.gather(*(self._readers[name](context, pages, deadline, trace) for name in names))
            context.read.update(zip(names, read, strict=True))
            try:
                async with deadline.for_ranking():
                    pages = await asyncio.to_thread(run_passes, group, context, pages)
            except (TimeoutError, DeadlineExceeded) as error:
                log.warning("a ranking took too long", passes=[each.name for each in group])
                raise SearchUnavailable("Ranking the results took too long.") from error
        return Ranked(pages, context.notes)

    async def choose(
        self, pages: Sequence[PageHits], looked: Looked, count: int, frame: Collection[UUID], deadline: Deadline
    ) -> list[PageHits]:
        """Return the pages with the statements that are shown: the first ones of the lists if the time is over."""
        try:
            async with deadline.for_ranking():
                return await asyncio.to_thread(choose_sentences, pages, looked, count, frame)
        except TimeoutError:
            log.warning("the statements that are shown were not chosen in time")
            return [replace(page, hits=page.hits[:count]) for page in pages]


def _divide(passes: Sequence[Pass], readers: Mapping[str, Reader]) -> list[list[Pass]]:
    """Return the passes in groups. Each group begins with a pass that has readers, or with the first pass."""
    groups: list[list[Pass]] = []
    for each in passes:
        if not groups or any(name in readers for name in each.reads):
            groups.append([])
        groups[-1].append(each)
    return groups


def run_passes(passes: Sequence[Pass], context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Return the pages after these passes. Raises DeadlineExceeded after the end of the search."""
    for each in passes:
        context.check_time()
        pages = each.apply(context, pages)
    return pages
