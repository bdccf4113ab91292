"""The quality of a page: parts between 0 (bad) and 1 (no objection), and their product. Pure.

No part is a proof. A list of links is useful, a reference repeats itself. So each part begins to fall where hardly any
of 250 real web pages are (their 1st to 5th, or 95th to 99th percentile; decision 0066), and the quality is a weak
signal of ranking and budgets. No page is removed for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streams.pages.document.model import Document
from streams.pages.quality.counts import PageCounts
from streams.pages.quality.text_features import TextFeatures, text_features
from streams.pages.text.tokens import words
from streams.stores.page_quality import DIGITS, combined, scale


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a page, with its parts."""

    score: float
    parts: Mapping[str, float]

    def to_fields(self) -> dict[str, float]:
        return {"score": self.score, **self.parts}


# part -> (value without objection, value where the part is 0)
OWN_TEXT = (0.08, 0.0)
HIDDEN = (0.5, 1.0)
LINKS = (0.75, 1.1)
ADS_PER_100_WORDS = (4.0, 20.0)
REPETITION = (0.33, 0.62)
STUFFING = (0.09, 0.2)
COMMON_WORDS = (5.7, 8.0)
PROSE = (0.2, -0.2)
INCOHERENCE = (0.09, 0.045)
"""Bounds of the cohesion of a text with few sentences."""
SENTENCES_APART = (0.124, 0.062)
"""Bounds of the cohesion of parts plus NEARNESS_WEIGHT times the nearness of sentences."""
NEARNESS_WEIGHT = 2.0
MONOTONY = (0.55, 0.85)


def assess(document: Document, counts: PageCounts) -> Quality:
    """Return the quality of a page. A text that is too short for statistics has only the parts of the page."""
    own = sum(len(words(block.text)) for block in document.blocks[:2_000])
    linked = sum(span.end - span.start for block in document.blocks for span in block.spans if span.kind == "link")
    chars = sum(len(block.text) for block in document.blocks)
    parts = {
        "own_text": scale(own / counts.page_words, OWN_TEXT) if counts.page_words > own else 1.0,
        "hidden": scale(counts.hidden_words / max(counts.hidden_words + counts.page_words, 1), HIDDEN),
        "links": scale(linked / chars, LINKS) if chars else 1.0,
        "ads": scale(100 * counts.ads / max(own, 100), ADS_PER_100_WORDS),
    }
    features = text_features(document)
    if features:
        parts |= text_parts(features)
    rounded = {name: round(value, DIGITS) for name, value in parts.items()}
    return Quality(combined(1.0, rounded), rounded)


def text_parts(features: TextFeatures) -> dict[str, float]:
    """Return the parts that follow from the text."""
    return {
        "repetition": scale(features.repetition, REPETITION),
        "stuffing": scale(features.stuffing, STUFFING),
        "common_words": scale(features.common_word_length, COMMON_WORDS),
        "prose": scale(features.prose, PROSE),
        "cohesion": min(_coherence(features), scale(features.cohesion, MONOTONY)),
    }


def _coherence(features: TextFeatures) -> float:
    """Return how far neighbouring parts and neighbouring sentences share words: less in collected or made texts."""
    if features.nearness is None:
        return scale(features.cohesion, INCOHERENCE)
    return scale(features.cohesion + NEARNESS_WEIGHT * features.nearness, SENTENCES_APART)
