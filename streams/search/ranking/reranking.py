"""The scores of a cross-encoder, which reads the query and the best statement of each page together. Pure.

The model's scores are added to the pages' scores, as any signal is. A model that replaces the order throws away what
words, authority and dates say, and outside of the texts that it was trained on this costs more than it brings.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits

MAX_CHARS = 1_500
"""Maximum length of a text that the model reads (characters): rarely more than its 512 tokens."""


def add_model_scores(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
    """Apply the pass `rerank`: note what the model's scores add to the first pages. Without scores the order stays."""
    scores: Sequence[float] = context.read.get("rerank") or ()
    gains = standardize(scores, context.options.rerank_weight)
    first = pages[: len(gains)]
    for page, gain in zip(first, gains, strict=True):
        context.notes.note_part(page.page_id, "rerank", gain)
    changed = [replace(page, score=page.score + gain) for page, gain in zip(first, gains, strict=True)]
    # The sort is stable: pages with equal scores stay in their order.
    return sorted([*changed, *pages[len(gains) :]], key=lambda page: -page.score)


def standardize(scores: Sequence[float], weight: float) -> list[float]:
    """Return what each score adds: its distance from the lowest one, in standard deviations of all, times the weight.

    From the lowest one, so that no page falls behind the pages that the model has not read.
    """
    if len(scores) < 2:
        return [0.0] * len(scores)
    values = np.asarray(scores, dtype=np.float64)
    deviation = float(values.std())
    if deviation == 0.0:
        return [0.0] * len(scores)
    gains: list[float] = (weight * (values - values.min()) / deviation).tolist()
    return gains


def text_of(page: PageHits) -> str:
    """Return the page's title, and its best statement with its context."""
    payload = page.hits[0].payload
    whole = "\n".join(part for part in (payload.title, *payload.context, payload.text) if part)
    return whole if len(whole) <= MAX_CHARS else f"{payload.title[:200]}\n{payload.text[:MAX_CHARS]}"[:MAX_CHARS]
