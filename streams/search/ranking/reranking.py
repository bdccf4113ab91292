"""The scores of a cross-encoder, which reads the query and the best statement of each page together. Pure.

The model's scores are added to the pages' scores, as any signal is. A model that replaces the order throws away what
words, authority and dates say, and outside of the texts that it was trained on this costs more than it brings.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from streams.search.ranking.context import RankingContext
from streams.stores.protocols import PageHits

MAX_CHARS = 1_500
"""Maximum length of a text that the model reads (characters): rarely more than its 512 tokens."""


def model_values(context: RankingContext, pages: Sequence[PageHits]) -> Mapping[UUID, float]:
    """Return the values of the signal `rerank`: the model's scores of the first pages, standardized."""
    return {page.page_id: value for page, value in zip(pages, standardize(context.read["rerank"]), strict=False)}


def standardize(scores: Sequence[float]) -> list[float]:
    """Return the distance of each score from the lowest one, in standard deviations of all.

    From the lowest one, so that no page falls behind the pages that the model has not read.
    """
    if len(scores) < 2:
        return [0.0] * len(scores)
    values = np.asarray(scores, dtype=np.float64)
    deviation = float(values.std())
    found: list[float] = ((values - values.min()) / deviation).tolist() if deviation else [0.0] * len(scores)
    return found


def text_of(page: PageHits) -> str:
    """Return the page's title, and its best statement with its context."""
    payload = page.hits[0].payload
    whole = "\n".join(part for part in (payload.title, *payload.context, payload.text) if part)
    return whole if len(whole) <= MAX_CHARS else f"{payload.title[:200]}\n{payload.text[:MAX_CHARS]}"[:MAX_CHARS]
