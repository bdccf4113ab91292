"""The order of pages by a cross-encoder, which reads the query and the best statement of each page together. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits

MAX_CHARS = 1_500
"""Maximum length of a text that the model reads (characters): rarely more than its 512 tokens."""


def order_by_model(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `rerank`: note the model's scores of the first pages. Without scores the order stays."""
    scores: Sequence[float] = context.read.get("rerank") or ()
    first = pages[: len(scores)]
    for page, score in zip(first, scores, strict=True):
        context.notes.note_part(page.page_id, "rerank", score)
    return [*reorder(first, scores), *pages[len(scores) :]]


def text_of(page: PageHits) -> str:
    """Return the page's title, and its best statement with its context."""
    payload = page.hits[0].payload
    whole = "\n".join(part for part in (payload.title, *payload.context, payload.text) if part)
    return whole if len(whole) <= MAX_CHARS else f"{payload.title[:200]}\n{payload.text[:MAX_CHARS]}"[:MAX_CHARS]


def reorder(pages: Sequence[PageHits], scores: Sequence[float]) -> list[PageHits]:
    """Return the pages in the order of the model's scores. Pages with equal scores stay in their order.

    The page at each place gets the score of the page that was at this place before, so that scores still fall from
    place to place.
    """
    order = sorted(range(len(pages)), key=lambda place: -scores[place])
    return [replace(pages[chosen], score=pages[place].score) for place, chosen in enumerate(order)]
