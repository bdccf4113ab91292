"""The recall of the index over the last day: a search compared with an exact search, every ten minutes.

The vector of a statement of a random page is searched. Queries of people lie farther from the statements, so gateways
measure with queries (`streams.search.recall_probe`), and Prometheus keeps their figures. These need neither queries nor
Prometheus, and an index that loses vectors shows in both.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from streams.maintenance.sampling import sample_pages
from streams.stores.opener import Stores
from streams.vectors.recall import recall_of

PROBE_SECONDS = 600.0
"""Time between two comparisons (seconds). An exact search reads all vectors."""
KEPT = 144
"""Number of comparisons that are kept: a day."""
WIDTH, HEIGHT = 300, 40


@dataclass(slots=True)
class RecallLog:
    """The last comparisons."""

    stores: Stores
    chance: random.Random
    now: Callable[[], datetime]
    figures: deque[tuple[datetime, float]] = field(default_factory=lambda: deque(maxlen=KEPT))
    """Time, and the share of the nearest statements that the search found."""

    async def probe(self) -> None:
        """Compare one search. Nothing is noted for an empty index. Raises StoreUnavailable."""
        collection = await self.stores.vectors.active()
        if collection is None:
            return
        pages = await sample_pages(self.stores.pages, self.chance, 1, lambda _: True)
        hits = await self.stores.vectors.first_statements(pages, 1) if pages else []
        vectors = await self.stores.vectors.dense_vectors([hits[0].id]) if hits else []
        if vectors:
            found = await recall_of(self.stores.vectors, collection, vectors[0])
            self.figures.append((self.now(), found.share))


def mean(figures: Sequence[tuple[datetime, float]]) -> float | None:
    """Return the mean recall, or None without a comparison."""
    return sum(share for _, share in figures) / len(figures) if figures else None


def curve(figures: Sequence[tuple[datetime, float]]) -> str:
    """Return the points of a line of the figures for SVG, WIDTH by HEIGHT: a recall of 1 is at the top."""
    step = WIDTH / max(len(figures) - 1, 1)
    return " ".join(f"{n * step:.1f},{HEIGHT * (1 - share):.1f}" for n, (_, share) in enumerate(figures))
