"""The recall of the approximate search: the share of the nearest vectors that it finds, by an exact search."""

from collections.abc import Sequence
from dataclasses import dataclass

from streams.stores.protocols import VectorIndex

NEAREST = 10
"""Number of nearest vectors that are compared."""
SCORE_TOLERANCE = 1e-5
"""Maximum difference of two scores that count as equal."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Number of the nearest vectors that a search found, and the number of all nearest vectors."""

    found: int
    expected: int

    @property
    def share(self) -> float:
        """The recall, from 0 to 1. The recall is 1 if there is nothing to find."""
        return self.found / self.expected if self.expected else 1.0


async def recall_of(index: VectorIndex, collection: str, vector: Sequence[float]) -> Recall:
    """Return the recall of one search, compared with an exact search, which reads all vectors of the collection."""
    exact = await index.nearest(collection, vector, NEAREST, exact=True)
    near = await index.nearest(collection, vector, NEAREST)
    # Equal vectors have equal scores, and either may be among the nearest: compare scores.
    least = exact[-1].score if exact else 0.0
    found = sum(hit.score >= least - SCORE_TOLERANCE for hit in near[: len(exact)])
    return Recall(found, len(exact))


async def compare_searches(index: VectorIndex, vector: Sequence[float], collection: str | None = None) -> Recall | None:
    """Return the recall of a search of this vector in a collection; None: in the one that searches read.

    The result is None if there is no collection.
    """
    collection = collection or await index.active()
    return await recall_of(index, collection, vector) if collection else None
