"""Reciprocal rank fusion, and the grouping of statements by page: what a search does with its lists of candidates.

Qdrant can fuse and group by itself, and both were tried and left: its fusion orders equal scores at random, so the same
query gave another order the next time; and its grouping asks again, without what it has found, until the groups are
full, which ranks the leftovers from one again: pages far down the list got the score of the first. One request that
brings both lists costs the same time as the fused one, a quarter of the grouped one, and is exact.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from streams.stores.protocols import Hit, PageHits

RRF_K = 2
"""Qdrant's constant: a hit at rank r (from 0) adds 1 / (k + r)."""
_TIE_DIGITS = 5
"""Scores that agree in so many digits are equal: engines differ in the last bits of a float32 sum."""


def fuse(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """One list, best first, whose scores are the sums of reciprocal ranks. Ties go by id, so the order is one.

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
    """Best first, ties by id."""
    return sorted(hits, key=lambda hit: (-round(hit.score, _TIE_DIGITS), hit.id))


def by_page(hits: Iterable[Hit], pages: int, per_page: int) -> list[PageHits]:
    """The first `pages` pages in the order of their best hit, each with its first `per_page` hits.

    What a page says twice (a question in the list at its top and above its answer, a notice in two boxes) is one hit of
    it, the better one: what is read is its text, and another could stand in its place. Both stay in the index, where
    each has its own context, and sentences that follow it.
    """
    groups: dict[UUID, dict[str, Hit]] = {}
    for hit in hits:
        page_id = UUID(str(hit.payload["page_id"]))
        if page_id in groups or len(groups) < pages:
            groups.setdefault(page_id, {}).setdefault(_said(hit), hit)
    return [PageHits(page_id, tuple(group.values())[:per_page]) for page_id, group in groups.items()]


def _said(hit: Hit) -> str:
    """The same for the same text, in any case and with any spaces; a hit without text is like no other."""
    return " ".join(str(hit.payload.get("text") or "").split()).casefold() or str(hit.id)
