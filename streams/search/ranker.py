"""The runner of a ranking's passes in a thread, and of the readers that fetch data for the passes.

Passes are plain computation, so they run off the event loop: a large ranking delays no other request, and it ends at
the search's deadline. All passes between two readers share one change of thread.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog

from streams.errors import DeadlineExceeded
from streams.search.deadline import Deadline
from streams.search.errors import SearchUnavailable
from streams.search.ranking.context import Pass, Ranked, RankingContext
from streams.search.ranking.order import PASSES, run_passes
from streams.search.trace import Trace
from streams.stores.protocols import PageHits

Reader = Callable[[RankingContext, Sequence[PageHits], Deadline, Trace], Awaitable[Any]]
"""A function that reads data for the pass of its name. It raises nothing: a pass can do without the data."""

log = structlog.get_logger(__name__)


class Ranker:
    """The ranking of the lists' pages. `readers` have the names of their passes."""

    def __init__(self, readers: Mapping[str, Reader], passes: Sequence[Pass] = PASSES) -> None:
        self._readers = readers
        self._groups = _divide(passes, readers)

    async def rank(self, context: RankingContext, deadline: Deadline, trace: Trace) -> Ranked:
        """Return the first pages in their order. Raises SearchUnavailable if that takes too long."""
        pages: list[PageHits] = []
        for group in self._groups:
            if read := self._readers.get(group[0].name):
                context.read[group[0].name] = await read(context, pages, deadline, trace)
            try:
                async with deadline.for_ranking():
                    pages = await asyncio.to_thread(run_passes, group, context, pages)
            except (TimeoutError, DeadlineExceeded) as error:
                log.warning("a ranking took too long", passes=[each.name for each in group])
                raise SearchUnavailable("Ranking the results took too long.") from error
        return Ranked(pages, context.notes)


def _divide(passes: Sequence[Pass], readers: Mapping[str, Reader]) -> list[list[Pass]]:
    """Return the passes in groups. Each group begins with a pass that has a reader, or with the first pass."""
    groups: list[list[Pass]] = []
    for each in passes:
        if not groups or each.name in readers:
            groups.append([])
        groups[-1].append(each)
    return groups
