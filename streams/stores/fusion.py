"""Reciprocal rank fusion of two lists of statements, and their grouping by page.

Qdrant can fuse and group by itself. Both were tried and are not used. Its fusion orders equal scores at random, so a
repeated query had another order. Its grouping asks again, without the points that it has found, until the groups are
full; that ranks the rest from the first place again, so pages far down the list got the score of the first. One request
that brings both lists takes as long as the fused one, a quarter of the time of the grouped one, and is exact
(docs/decisions/0005).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from streams.stores.protocols import Hit, PageHits

RRF_K = 2
"""The constant k of the fusion, Qdrant's own: a hit at rank r (from 0) adds 1 / (k + r)."""
_TIE_DIGITS = 5
"""Decimal digits in which equal scores agree: engines differ in the last bits of a float32 sum."""


def fuse(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Fuse rankings into one list, best first. A score is a sum of reciprocal ranks; equal ones are ordered by id.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009.
    """
    scores: dict[UUID, float] = defaultdict(float)
    found: dict[UUID, Hit] = {}
    for ranking in rankings:
        for rank, hit in enumerate(in_order(ranking)):
            scores[hit.id] += 1.0 / (RRF_K + rank)
            found[hit.id] = hit
    return in_order([Hit(id, score, found[id].payload) for id, score in scores.items()])


def in_order(hits: Iterable[Hit]) -> list[Hit]:
    """The hits with the best first, and equal scores ordered by id."""
    return sorted(hits, key=lambda hit: (-round(hit.score, _TIE_DIGITS), hit.id))


def by_page(hits: Iterable[Hit], pages: int, per_page: int) -> list[PageHits]:
    """The first `pages` pages in the order of their best hit, each with its first `per_page` hits.

    Statements of a page with the same text (a question in the list at the top and above its answer, a notice in two
    boxes) are one hit, the better one, so that another statement can be shown in the place of the second. Both stay in
    the index, where each has its own context and its own following sentences.
    """
    groups: dict[UUID, dict[str, Hit]] = {}
    for hit in hits:
        page_id = UUID(str(hit.payload["page_id"]))
        if page_id in groups or len(groups) < pages:
            groups.setdefault(page_id, {}).setdefault(_text_key(hit), hit)
    return [PageHits(page_id, tuple(group.values())[:per_page]) for page_id, group in groups.items()]


def _text_key(hit: Hit) -> str:
    """A key that is equal for equal texts in any case and with any spaces. A hit without text has a key of its own."""
    return " ".join(str(hit.payload.get("text") or "").split()).casefold() or str(hit.id)
