"""Similar pages: a page gains from the most similar pages that rank above it. Pure.

Pages that are about the same thing tend to answer the same queries (the cluster hypothesis: van Rijsbergen,
"Information Retrieval", 1979), so a score that is lower than the scores of similar pages is likely to be too low (Diaz,
"Regularizing Ad Hoc Retrieval Scores", 2005). There a score moves both ways. Here it only rises, since the one page
that answers a question often has no page like it.

Pages are compared by their words, which need nothing of the index. Measured in docs/decisions/0029.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from uuid import UUID

import numpy as np
import numpy.typing as npt

from streams.pages.text.alphabets import PLAIN_WORDS
from streams.pages.text.tokens import words
from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits

NEIGHBOURS = 5
"""Maximum number of other pages, the most similar ones, that a page gains from."""
SIMILARITY = 0.1
"""Minimum similarity of two pages that are neighbours. Fewer words in common are chance."""
PAGES = 50
"""Maximum number of first pages that are read."""
STATEMENTS = 3
"""Maximum statements of a page that are read."""
MAX_CHARS = 1_000
"""Maximum characters that are read of a statement, and of a part of its context."""
_STEM_CHARS = 6
"""Words with the same beginning count as one, whatever the language."""
_SATURATION = 1.2
"""The k1 of BM25: how soon another occurrence of a word in a page counts less."""


def lift_similar_pages(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `neighbours`: note each page's gain."""
    # A question with a form of answer is often answered by one page only.
    if "answer_form" in context.notes.passes:
        return pages
    changed, gains = add_neighbour_gains(pages, context.options.neighbour_weight, context.check_time)
    for page, gain in gains.items():
        context.notes.note_part(page, "neighbours", gain)
    return changed


def add_neighbour_gains(
    pages: Sequence[PageHits], weight: float, check_time: Callable[[], None] = lambda: None
) -> tuple[list[PageHits], dict[UUID, float]]:
    """Return the pages in the order of their scores with the gain, and the gain of each page that has one.

    The pages come with the best first. The pages behind the first PAGES stay as they are.
    """
    first = pages[:PAGES]
    if not weight or len(first) < 2:
        return list(pages), {}
    gains = weight * _mean_distances(np.array([page.score for page in first]), similarities(first, check_time))
    changed = [replace(page, score=page.score + float(gain)) for page, gain in zip(first, gains, strict=True)]
    # The sort is stable: pages with equal scores stay in their order.
    ordered = sorted([*changed, *pages[PAGES:]], key=lambda page: -page.score)
    return ordered, {page.page_id: float(gain) for page, gain in zip(first, gains, strict=True) if gain > 0}


def similarities(pages: Sequence[PageHits], check_time: Callable[[], None] = lambda: None) -> npt.NDArray[np.float32]:
    """Return the similarity of any two of n pages, from 0 to 1: the cosine of their words' weights. Shape (n, n).

    A word has a higher weight the fewer of these pages have it: the words of all pages are the query.
    """
    counts = []
    for page in pages:
        check_time()
        counts.append(Counter(_words_of(page)))
    having = Counter(chain.from_iterable(counts))
    if not having:
        return np.zeros((len(pages), len(pages)), dtype=np.float32)
    columns = {word: column for column, word in enumerate(having)}
    weights = np.zeros((len(pages), len(columns)), dtype=np.float32)
    for row, found in enumerate(counts):
        weights[row, [columns[word] for word in found]] = list(found.values())
    number = np.fromiter(having.values(), dtype=np.float32)
    weights *= np.log1p((len(pages) - number + 0.5) / (number + 0.5)) / (weights + _SATURATION)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True).clip(1e-9)
    similar: npt.NDArray[np.float32] = weights @ weights.T
    return similar


def _mean_distances(scores: npt.NDArray[np.float64], similar: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the mean distance of each score to its neighbours' scores. A lower or missing score has distance 0."""
    others = similar.copy()
    np.fill_diagonal(others, -1.0)
    # The sort is stable, so that equally similar pages are chosen by their rank.
    nearest = np.argsort(-others, axis=1, kind="stable")[:, :NEIGHBOURS]
    above = np.maximum(scores[nearest] - scores[:, None], 0.0)
    above[np.take_along_axis(others, nearest, axis=1) < SIMILARITY] = 0.0
    distances: npt.NDArray[np.float64] = above.sum(axis=1) / NEIGHBOURS
    return distances


def _words_of(page: PageHits) -> list[str]:
    """Return the beginnings of the words of a page's first statements, and once the words of their context."""
    parts: dict[str, None] = {}
    for hit in page.hits[:STATEMENTS]:
        parts |= dict.fromkeys(part[:MAX_CHARS] for part in (hit.payload.text, *hit.payload.context))
    plain = PLAIN_WORDS.get(page.hits[0].payload.language, frozenset())
    return [word[:_STEM_CHARS] for word in words("\n".join(parts)) if word not in plain]
