"""The quality of a page: parts between 0 (bad) and 1 (no objection), and their product. Pure, for any language.

The parts of the text come from features that differ between texts for readers and texts for search engines.

No part is a proof. A list of links is useful, a reference repeats itself. So each part begins to fall where hardly any
of 250 real web pages are (their 1st to 5th, or 95th to 99th percentile; decision 0066), and the quality is a weak
signal of ranking and budgets. No page is removed for it.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streams.language.marks import MARKS, is_closed
from streams.pages.document.model import Block, Document
from streams.pages.text.tokens import words
from streams.stores.page_quality import DIGITS, combined, scale


@dataclass(frozen=True, slots=True)
class PageCounts:
    """The numbers that the parser counted on a page."""

    page_words: int = 0
    """Words that a reader of the page can see, with menus and footers."""
    hidden_words: int = 0
    """Words that no reader sees."""
    ads: int = 0
    """Elements of known networks of advertisers."""


NO_COUNTS = PageCounts()


MIN_WORDS = 80
"""Minimum words of a text that has features. A smaller text gives no statistics."""
MAX_WORDS = 6_000
"""Maximum words of a text that are looked at: its beginning."""
PART_WORDS = 40
"""Length of the parts that are compared for cohesion (words)."""
FREQUENT = 10
"""Number of the most frequent words whose length counts."""
MIN_CONTENT_LETTERS = 4
"""Minimum length of a word that counts for cohesion, stuffing: shorter ones are mostly words of grammar."""
MIN_SENTENCE_WORDS = 6
USUAL_COHESION, PRIOR_PARTS = 0.17, 2
"""The median cohesion of web pages, which counts as much as this number of pairs of parts: a short text has few."""
MIN_PAIRS = 5
"""Minimum number of pairs of neighbouring sentences of a text whose nearness counts."""
_SENTENCE_TAGS = ("p", "li", "blockquote", "dd")
_SENTENCE_END = re.compile(rf"(?<=[{MARKS}])\s+")


@dataclass(frozen=True, slots=True)
class TextFeatures:
    """The features of a text, each as a share or a length. None: the text is too small."""

    words: int
    repetition: float
    stuffing: float
    common_word_length: float
    prose: float
    cohesion: float
    nearness: float | None
    """None: the text has too few sentences."""


def text_features(document: Document) -> TextFeatures | None:
    """Return the features of a document's text, without its code; None if it has too few words."""
    blocks = [(block, words(block.text, document.language)) for block in _first_blocks(document)]
    text = [word for _, found in blocks for word in found][:MAX_WORDS]
    if len(text) < MIN_WORDS:
        return None
    counts = Counter(text)
    triples = list(zip(text, text[1:], text[2:], strict=False))
    return TextFeatures(
        words=len(text),
        repetition=1 - len(set(triples)) / len(triples),
        stuffing=_stuffing(text),
        common_word_length=sum(len(word) for word, _ in counts.most_common(FREQUENT)) / min(FREQUENT, len(counts)),
        prose=_prose(blocks) / len(text),
        cohesion=_cohesion(text),
        nearness=_nearness(
            [sentence for block, found in blocks for sentence in _sentences(block, found, document.language)]
        ),
    )


def _first_blocks(document: Document) -> list[Block]:
    chosen, left = [], 12 * MAX_WORDS
    for block in document.blocks:
        if block.tag != "pre":
            chosen.append(block if len(block.text) <= left else block._replace(text=block.text[:left]))
            left -= len(block.text)
            if left <= 0:
                break
    return chosen


def _stuffing(text: Sequence[str]) -> float:
    """Return the share of the words that belong to the most frequent pair of words of content."""
    pairs = Counter(pair for pair in pairwise(text) if all(len(word) >= MIN_CONTENT_LETTERS for word in pair))
    return 2 * pairs.most_common(1)[0][1] / len(text) if pairs else 0.0


def _prose(blocks: Sequence[tuple[Block, list[str]]]) -> int:
    """Return the number of words in blocks that look like sentences."""
    return sum(
        len(found)
        for block, found in blocks
        if len(found) >= MIN_SENTENCE_WORDS and is_closed(block.text) and not block.text.isupper()
    )


def _cohesion(text: Sequence[str]) -> float:
    """Return the mean cosine of neighbouring parts, by their words of content."""
    parts = [text[start : start + PART_WORDS] for start in range(0, len(text) - PART_WORDS // 2, PART_WORDS)]
    vectors = [Counter(word for word in part if len(word) >= MIN_CONTENT_LETTERS) for part in parts]
    found = [_cosine(one, other) for one, other in pairwise(vectors)]
    return (sum(found) + PRIOR_PARTS * USUAL_COHESION) / (len(found) + PRIOR_PARTS)


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[word] for word, count in one.items() if word in other)
    return shared / math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in other.values())) if shared else 0.0


def _sentences(block: Block, found: list[str], language: str) -> list[set[str]]:
    """Return the words of content of each sentence of a block, of which `found` are all words."""
    if block.tag not in _SENTENCE_TAGS:
        return []
    texts = _SENTENCE_END.split(block.text)
    sentences = [words(text, language) for text in texts] if len(texts) > 1 else [found]
    contents = [_content(sentence) for sentence in sentences if len(sentence) >= MIN_SENTENCE_WORDS]
    return [content for content in contents if content]


def _content(sentence: list[str]) -> set[str]:
    return {word for word in sentence if len(word) >= MIN_CONTENT_LETTERS}


def _nearness(sentences: Sequence[set[str]]) -> float | None:
    """Return the mean similarity of neighbouring sentences; None if there are too few."""
    if len(sentences) <= MIN_PAIRS:
        return None
    weights = {word: 1 / math.log2(1 + n) for word, n in Counter(w for one in sentences for w in one).items()}
    found = (
        math.fsum(weights[word] for word in one & other) / math.sqrt(len(one) * len(other))
        for one, other in pairwise(sentences)
    )
    return sum(found) / (len(sentences) - 1)


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
