"""The order of pages by a cross-encoder, which reads the query and the best statement of each page together. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from streams.stores.protocols import PageHits

MAX_CHARS = 1_500
"""Maximum length of a text that the model reads (characters): more than its 512 tokens rarely."""


def text_of(page: PageHits) -> str:
    """The page's title, and its best statement with its context."""
    payload = page.hits[0].payload
    whole = "\n".join(part for part in (payload.title, *payload.context, payload.text) if part)
    return whole if len(whole) <= MAX_CHARS else f"{payload.title[:200]}\n{payload.text[:MAX_CHARS]}"[:MAX_CHARS]


def reorder(pages: Sequence[PageHits], scores: Sequence[float]) -> list[PageHits]:
    """The pages in the order of the model's scores; equal ones stay in their order.

    The page at each place gets the score of the page that was there, so that scores still fall from place to place.
    """
    order = sorted(range(len(pages)), key=lambda place: -scores[place])
    return [replace(pages[chosen], score=pages[place].score) for place, chosen in enumerate(order)]
