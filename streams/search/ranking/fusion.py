"""The merge of the dense and the sparse list of statements into one order of pages, by their scores.

Each list's score of a page is the score of the page's best statement. The scores of a list are standardized: their
distance from the mean of the list's first pages, in standard deviations, so that both lists speak the same language. A
page's score is the weighted sum of both, above the score of a page that is in neither list. Rank fusion, which was here
before, throws away the distance between a statement and the next one (Bruch, Gai and Ingber, "An Analysis of Fusion
Functions for Hybrid Retrieval", 2023; docs/decisions/0005).

Qdrant can fuse and group by itself. Both were tried and are not used: its fusion orders equal scores at random, and its
grouping asks again, without the points that it has found, until the groups are full.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from streams.search.ranking.context import RankingContext
from streams.search.ranking.frame_lines import find_frame_lines, weaken
from streams.stores.protocols import Candidates, Hit, PageHits
from streams.stores.statement_payload import id_of
from streams.stores.vector_collection import round_score, sort_hits

MEANING_WEIGHT = 0.7
"""Weight of the dense list of a model that was not measured. The sparse list has the rest."""
MEANING_WEIGHTS = {"all-minilm-l6-v2": 0.7, "multilingual-e5-small": 0.8, "minilm-and-e5": 0.8}
"""The weight by model, as the judged collections choose it, each left out in turn (docs/decisions/0037)."""
REFERENCE_PAGES = 100
"""Number of first pages of a list. Their mean and deviation are the measure of the list's scores."""
REFERENCE_STATEMENTS = 200
"""Maximum number of first statements of a list that these pages come from: as many as the shortest lists have."""
LISTS = ("meaning", "words")
"""The signals of the dense and the sparse list."""
_MIN_DEVIATION = 1e-6


def meaning_weight(model: str, fixed: float | None = None) -> float:
    """Return the weight of the dense list of this model, or the one that the options fix."""
    return MEANING_WEIGHTS.get(model, MEANING_WEIGHT) if fixed is None else fixed


def merge_found_lists(context: RankingContext, _pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `merge`: the first pass, which makes the pages. Note what each list gave the first of them."""
    context.notes.frame = find_frame_lines(context.found)
    found = weaken(context.found, context.notes.frame, _sparse_floor(context.found))
    lists = _weigh_lists(found, context.meaning)
    pages = _merge(lists)
    for page in pages[:REFERENCE_PAGES]:
        for one in lists:
            if page.page_id in one.best:
                context.notes.note_part(page.page_id, one.name, one.weight * one.scale(one.best[page.page_id]))
    return pages


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of a list: it turns a score into a standardized score."""

    deviation: float = 1.0
    floor: float = 0.0
    """The score of a page that is not in the list."""

    def __call__(self, score: float) -> float:
        """Return the standardized distance above the floor; 0 for a page that isn't in the list."""
        return (round_score(score) - self.floor) / self.deviation


def scale_of(hits: Sequence[Hit], *, floor: float | None = None, best: Mapping[UUID, float] | None = None) -> Scale:
    """Return the scale of a list, the best statement first, by the best scores of its first pages.

    `floor` is the score of a statement that is not in the list, where this score is known. Else the floor is the score
    of the last statement. A list with few pages is filled up with the floor: among few scores none would stand out. In
    a long list only the first statements are the measure, so that one score counts the same in lists of any length.
    `best` are the best scores of the list's pages, where they are known.
    """
    if not hits:
        return Scale()
    lowest = min(hit.score for hit in hits) if floor is None else floor
    measured = hits[:REFERENCE_STATEMENTS]
    of_pages = best if best is not None and len(hits) <= REFERENCE_STATEMENTS else best_of_pages(measured)
    first = sorted(of_pages.values(), reverse=True)[:REFERENCE_PAGES]
    filler = lowest if len(measured) < REFERENCE_STATEMENTS else measured[-1].score
    scores = first + [filler] * (REFERENCE_PAGES - len(first))
    mean = math.fsum(scores) / len(scores)
    variance = math.fsum((score - mean) ** 2 for score in scores) / len(scores)
    return Scale(max(math.sqrt(variance), _MIN_DEVIATION), round_score(lowest))


def best_of_pages(hits: Iterable[Hit]) -> dict[UUID, float]:
    """Return the best score of each page."""
    best: dict[str, float] = {}
    for hit in hits:
        # A string keeps its hash. A UUID computes it again each time, which is a third of the merge's time.
        page = hit.payload.page_key
        if hit.score > best.get(page, -math.inf):
            best[page] = hit.score
    return {id_of(page): score for page, score in best.items()}


def merge_lists(found: Candidates, meaning: float = MEANING_WEIGHT) -> list[PageHits]:
    """Return all pages of both lists, the best first, each with its statements in the order of their combined scores.

    Without hits in one list, the other list has all the weight. Equal scores are ordered by the ids of their best
    statements.
    """
    return _merge(_weigh_lists(found, meaning))


def _merge(lists: Sequence["_Weighted"]) -> list[PageHits]:
    statements: defaultdict[int, float] = defaultdict(float)
    hits: dict[int, Hit] = {}
    for one in lists:
        for hit in one.hits:
            statements[hit.id.int] += one.weight * one.scale(hit.score)
            hits[hit.id.int] = hit
    ordered = sort_hits(Hit(hits[number].id, score, hits[number].payload) for number, score in statements.items())
    return _group_by_page(ordered, _score_pages(lists))


@dataclass(frozen=True, slots=True)
class _Weighted:
    name: str
    """The name of its signal: `meaning` or `words`."""
    hits: Sequence[Hit]
    weight: float
    best: Mapping[UUID, float]
    """The best score of each page."""
    scale: Scale


def _weigh_lists(found: Candidates, meaning: float) -> list[_Weighted]:
    weighted = []
    for hits, weight, floor in _choose_weights(found, meaning):
        best = best_of_pages(hits)
        name = LISTS[hits is not found.dense]
        weighted.append(_Weighted(name, hits, weight, best, scale_of(hits, floor=floor, best=best)))
    return weighted


def _score_pages(lists: Iterable[_Weighted]) -> dict[UUID, float]:
    pages: defaultdict[UUID, float] = defaultdict(float)
    for one in lists:
        for page, score in one.best.items():
            pages[page] += one.weight * one.scale(score)
    return pages


def _choose_weights(found: Candidates, meaning: float) -> list[tuple[Sequence[Hit], float, float | None]]:
    """Return each list with its weight and its floor.

    A sparse list that isn't full has all statements that share a word with the query: its floor is 0.
    """
    if not found.sparse or not found.dense:
        return [(found.dense or found.sparse, 1.0, None if found.dense else _sparse_floor(found))]
    return [(found.dense, meaning, None), (found.sparse, 1.0 - meaning, _sparse_floor(found))]


def _sparse_floor(found: Candidates) -> float | None:
    return 0.0 if len(found.sparse) < found.limit else None


def _group_by_page(ordered: Iterable[Hit], pages: Mapping[UUID, float]) -> list[PageHits]:
    groups: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in ordered:
        groups[hit.payload.page_key].append(hit)
    found = [PageHits(id_of(page), tuple(group), pages[id_of(page)]) for page, group in groups.items()]
    return sorted(found, key=lambda page: (-round_score(page.score), page.hits[0].id))
