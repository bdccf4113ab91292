"""The recall of searches: a small share of the searches is compared with an exact search of the same vector.

The index finds the nearest vectors by a graph, and a graph that is damaged, or built with too few links, loses some of
them without an error. Nobody would see the loss in single answers. So the probe runs after a search, in the background,
and its result goes to a metric. An exact search reads all vectors: at most one runs at a time, and seldom.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic

from streams.search.optional import OptionalPart
from streams.stores.opener import Stores
from streams.vectors.recall import compare_searches

PAUSE_SECONDS = 30.0
"""Minimum time between two probes of one gateway."""
MAX_SECONDS = 10.0
"""Maximum duration of a probe."""


class RecallProbe:
    """The comparison of some searches of one gateway. `chance` returns random numbers from 0 up to 1.

    `on_recall` gets the share of the nearest vectors that a search found; `on_failure` is called if a probe failed.
    """

    def __init__(
        self,
        stores: Stores,
        share: float,
        chance: Callable[[], float],
        *,
        on_recall: Callable[[float], None],
        on_failure: Callable[[], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stores = stores
        self._share = share
        self._chance = chance
        self._on_recall = on_recall
        self._part = OptionalPart("comparison with an exact search", lambda _error: on_failure())
        self._clock = clock
        self._next_at = float("-inf")
        self._running: asyncio.Task[None] | None = None

    def offer(self, vector: Sequence[float]) -> None:
        """Compare the search of this vector in the background, if it is chosen."""
        if self._chance() >= self._share or self._running is not None or self._clock() < self._next_at:
            return
        self._running = asyncio.create_task(self._probe(vector))

    async def drain(self) -> None:
        """End a running probe: nobody waits for the probe."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _probe(self, vector: Sequence[float]) -> None:
        try:
            recall = await self._part.read(
                lambda: compare_searches(self._stores.vectors, vector), asyncio.timeout(MAX_SECONDS)
            )
            if recall is not None and recall.expected:
                self._on_recall(recall.share)
        finally:
            self._running = None
            self._next_at = self._clock() + PAUSE_SECONDS
