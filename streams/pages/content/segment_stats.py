"""Counts of each text and of each element's markup: the source of the content model's input."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.language.marks import TRAINED_ENDS
from streams.pages.content.lexicon import ELEMENT_BITS, FLAGS, HIDDEN_BIT, TERMS, WORD_BITS
from streams.pages.parse.elements import DIVIDING_TAGS, HEADINGS
from streams.pages.parse.segments import Attributes, Walk
from streams.pages.text.scripts import commas_in, stops_in, weight_of

SHORT = 120
"""Maximum length (characters) of a text with words that are compared with the lexicon."""
COUNTED_FROM = 40
"""Minimum length (characters) of a text with commas and full stops that are counted."""
TAG_FLAGS = dict.fromkeys(HEADINGS, FLAGS["heading"]) | {"h1": FLAGS["heading"] | FLAGS["h1"], "li": FLAGS["li"]}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

_DIGIT = re.compile("[0-9]")
_TAG_NUMBERS = {tag: number for number, tag in enumerate(DIVIDING_TAGS)}
_masks: dict[str, int] = {}
_MAX_KNOWN_MASKS = 50_000


@dataclass(frozen=True, slots=True)
class SegmentStats:
    """The counts of each segment and element of a page: the source of the content model's input."""

    tags: NDArray[np.int32]
    """Position of each element's tag in `elements.DIVIDING_TAGS`."""
    parents: NDArray[np.int32]
    """Parent of each element."""
    elements: NDArray[np.int32]
    """Element of each segment."""
    counts: NDArray[np.float32]
    """Shape (segments, 6): characters, characters in links, words, commas, full stops within, links. Characters and
    words are counted as in `pages.text.scripts`."""
    words: NDArray[np.float32]
    """Words of each segment, as in `pages.text.scripts`."""
    flags: NDArray[np.uint16]
    """`lexicon.FLAGS` of each segment."""
    groups: NDArray[np.int64]
    """Group of each segment. Segments in similar elements (same tag and class, and their parents' too) share one."""
    masks: NDArray[np.uint64]
    """The groups of `lexicon` of each element's names, roles and classes."""


def word_mask(names: str) -> int:
    """Return the groups (as bits) of the words in a class or id. Sites repeat their classes, so answers are cached."""
    mask = _masks.get(names)
    if mask is None:
        mask = 0
        for word in _WORDS.findall(names[:200]):
            mask |= WORD_BITS.get(word.lower(), 0)
        if len(_masks) >= _MAX_KNOWN_MASKS:
            _masks.clear()
        _masks[names] = mask
    return mask


def _own_mask(tag: str, attributes: Attributes) -> int:
    mask = ELEMENT_BITS.get(tag, 0)
    for attribute, value in attributes.items():
        if attribute == "class" or attribute == "id":
            if value:
                known = _masks.get(value)
                mask |= word_mask(value) if known is None else known
        elif attribute == "role":
            mask |= ELEMENT_BITS.get(value, 0)
        elif attribute == "style":
            if value and _HIDDEN_STYLE.search(value):
                mask |= 1 << HIDDEN_BIT
        elif attribute == "hidden" or (attribute == "aria-hidden" and value == "true"):
            mask |= 1 << HIDDEN_BIT
    return mask


def segment_stats(page: Walk, title: str) -> SegmentStats:
    """Count the texts and elements of a page. `title`: flags of short texts compare with it."""
    elements = np.array([segment.element for segment in page.segments], np.int32)
    counts, words, flags = _text_counts(page, title.lower())
    return SegmentStats(
        tags=np.array([_TAG_NUMBERS[tag] for tag in page.tags], np.int32),
        parents=np.array(page.parents, np.int32),
        elements=elements,
        counts=counts,
        words=words,
        flags=flags,
        groups=_group_numbers(page),
        masks=np.array(
            [_own_mask(tag, attributes) for tag, attributes in zip(page.tags, page.attributes, strict=True)], np.uint64
        ),
    )


def _text_counts(page: Walk, title: str) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint16]]:
    """Count each text once. Returns the columns `counts`, `words` and `flags` of `SegmentStats`."""
    tags = page.tags
    texts = [segment.text for segment in page.segments]
    seen = Counter(texts)
    counts: list[int] = []
    spaced: list[int] = []
    flags: list[int] = []
    for segment, text in zip(page.segments, texts, strict=True):
        size, weight = len(text), weight_of(text)
        bits = TAG_FLAGS.get(tags[segment.element], 0)
        bits |= FLAGS["sentence"] * text.endswith(TRAINED_ENDS) | FLAGS["image"] * bool(segment.images)
        bits |= FLAGS["repeated"] * (seen[text] > 1) | FLAGS["upper"] * may_begin_sentence(text[0])
        bits |= FLAGS["colon"] * (text[-1] == ":") | FLAGS["marked"] * segment.marked
        words = text.count(" ") + 1 + weight.words
        spaced.append(words)
        if size < SHORT:
            low = text.lower()
            parts = low.split()
            words = len(parts) + weight.words
            bits |= _short_flags(text, parts) | FLAGS["title"] * (size > 3 and low in title)
        flags.append(bits)
        size += weight.chars
        commas, stops = (commas_in(text), stops_in(text)) if size > COUNTED_FROM else (0, 0)
        counts += (size, segment.link_chars, words, commas, stops, segment.links)
    columns = np.array(counts, np.float32).reshape(-1, 6)
    return columns, np.array(spaced, np.float32), np.array(flags, np.uint16)


def may_begin_sentence(letter: str) -> bool:
    """Return whether a sentence may begin with this letter: a capital, or a letter of a script without case."""
    return letter.isupper() or (letter.isalpha() and letter.lower() == letter.upper())


def term_flags(words: list[str]) -> int:
    """Return the flags of a short text by its words (in lower case)."""
    return sum(FLAGS[flag] * (not terms.isdisjoint(words)) for flag, terms in TERMS.items())


def _short_flags(text: str, parts: list[str]) -> int:
    bits = FLAGS["digit"] * bool(_DIGIT.search(text)) | term_flags(parts)
    bits |= FLAGS["money"] * any(sign in text for sign in "$€£")
    return bits | FLAGS["bar"] * any(sign in text for sign in "|»›•")


def _group_numbers(page: Walk) -> NDArray[np.int64]:
    tags, parents, attributes = page.tags, page.parents, page.attributes
    keys: dict[Any, int] = {}
    numbers = []
    for segment in page.segments:
        element = segment.element
        parent = max(parents[element], 0)
        names, names_above = attributes[element].get("class") or "", attributes[parent].get("class") or ""
        key = (tags[element], names, tags[parent], names_above)
        numbers.append(keys.setdefault(key, len(keys)))
    return np.array(numbers, np.int64)
