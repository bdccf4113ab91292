"""The search core: it starts a search for each query. It knows no HTTP.

Callers call `start` once for each query, and get plain data from two tasks.
"""

import asyncio
from collections.abc import Sequence

from streams.search.deadline import Deadline
from streams.search.errors import SearchUnavailable
from streams.search.request import FIRST_PAGE, Parameters, SearchRequest, parse
from streams.search.searcher import Found, Searcher
from streams.search.sources import Answering, AnySource, SideBySide
from streams.vectors.bm25 import query_vector

MAX_AT_ONCE = 32
"""Maximum searches that are answered at the same time. More searches would only delay one another."""


class SearchCore:
    """The search core of one process."""

    def __init__(
        self,
        searcher: Searcher,
        sources: Sequence[AnySource] = (),
        *,
        max_at_once: int = MAX_AT_ONCE,
    ) -> None:
        self.options = searcher.options
        self._searcher = searcher
        self._side_by_side = SideBySide(self._find, sources)
        self._slots = asyncio.Semaphore(max_at_once)

    def start(self, text: str, given: Parameters = FIRST_PAGE) -> Answering:
        """Check the query, and ask for the results and the sources beside them. Raises InvalidQuery."""
        request = parse(text, given, self.options)
        if request.cursor:
            request.cursor.check_age(self._searcher.clock())
        return self._side_by_side.start(request, Deadline(self.options.deadline_seconds))

    def warm_up(self) -> None:
        """Load the language model and the stemmers: otherwise the first query would wait for them."""
        query_vector("warm up", "")

    async def _find(self, request: SearchRequest, deadline: Deadline) -> Found:
        """Return the results, once fewer than the maximum of searches are being answered."""
        try:
            async with deadline.for_index():
                await self._slots.acquire()
        except TimeoutError:
            raise SearchUnavailable("Too many searches are being answered.") from None
        try:
            return await self._searcher.find(request, deadline)
        finally:
            self._slots.release()
