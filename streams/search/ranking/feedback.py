"""Feedback: meaning is searched again, with the query's vector moved towards the statements that were found first.

A query has few words, and the statements that answer it are written in other words. The best statements of the first
pages show some of them. Which pages are the first is decided by both lists, so that words correct the meaning and the
other way round. Nobody has judged these pages, so they get less weight than the query (Rocchio, "Relevance Feedback in
Information Retrieval", 1971; measured in docs/decisions/0022).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from streams.search.ranking.fusion import best_pages
from streams.stores.protocols import Candidates, Hit


@dataclass(frozen=True, slots=True)
class Feedback:
    """The feedback of one search, for `explain`."""

    statements: tuple[Hit, ...] = ()
    """The statements that the query's vector was moved towards."""
    skipped: str = ""
    """A sentence for people: the reason why meaning was not searched again."""


def examples(found: Candidates, meaning: float, pages: int) -> list[Hit]:
    """Return the best statement by meaning of each of the first pages."""
    best: dict[UUID, Hit] = {}
    for hit in (*found.dense, *found.sparse):
        best.setdefault(hit.payload.page_id, hit)
    return [best[page] for page in best_pages(found, meaning, pages)]


def move_towards(query: Sequence[float], vectors: Sequence[Sequence[float]], share: float) -> list[float]:
    """Return the query's vector, turned towards the mean of the other vectors, with its own length.

    `share` is the weight of this mean beside the query's own vector, both of length 1.
    """
    own = np.asarray(query, dtype=np.float64)
    length = float(np.linalg.norm(own))
    others = np.asarray(vectors, dtype=np.float64)
    mean = (others / np.linalg.norm(others, axis=1, keepdims=True).clip(1e-12)).mean(axis=0)
    target = own / max(length, 1e-12) + share * mean
    turned: list[float] = (target * (length / max(float(np.linalg.norm(target)), 1e-12))).tolist()
    return turned
