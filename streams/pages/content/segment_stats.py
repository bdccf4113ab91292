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

_SIGN_FLAGS = {
    **dict.fromkeys("0123456789", FLAGS["digit"]),
    **dict.fromkeys("$€£", FLAGS["money"]),
    **dict.fromkeys("|»›•", FLAGS["bar"]),
}
_SIGN = re.compile(f"[{''.join(_SIGN_FLAGS)}]")
_TERM_FLAGS = {
    word: sum(FLAGS[flag] for flag in TERMS if word in TERMS[flag]) for word in frozenset().union(*TERMS.values())
}
"""The flags of each word of short texts."""
_TERM_WORDS = frozenset(_TERM_FLAGS)
_SENTENCE, _COLON, _IMAGE, _REPEATED = (FLAGS[name] for name in ("sentence", "colon", "image", "repeated"))
_UPPER, _MARKED, _TITLE = (FLAGS[name] for name in ("upper", "marked", "title"))
_TAG_NUMBERS = {tag: number for number, tag in enumerate(DIVIDING_TAGS)}
_masks: dict[str, int] = {}
_masks_of_parts: dict[str, int] = {}
"""The masks of whole classes and ids, and of the parts of classes between spaces, which sites share."""
_MAX_KNOWN_MASKS = 50_000


@dataclass(frozen=True, slots=True)
class SegmentStats:
    """The counts of each segment and element of a page: the source of the content model's input."""

    tags: NDArray[np.int32]
    """Position of each element's tag in `elements.DIVIDING_TAGS`."""
    parents: NDArray[np.int32]
    """Parent of each element."""
    ends: NDArray[np.int64]
    """The first element behind each element and all below it."""
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
        for part in names[:200].split():
            known = _masks_of_parts.get(part)
            mask |= _mask_of_part(part) if known is None else known
        if len(_masks) >= _MAX_KNOWN_MASKS:
            _masks.clear()
        _masks[names] = mask
    return mask


def _mask_of_part(part: str) -> int:
    mask = 0
    for word in _WORDS.findall(part):
        mask |= WORD_BITS.get(word.lower(), 0)
    if len(_masks_of_parts) >= _MAX_KNOWN_MASKS:
        _masks_of_parts.clear()
    _masks_of_parts[part] = mask
    return mask


def _own_mask(tag: str, attributes: Attributes) -> int:
    mask = ELEMENT_BITS.get(tag, 0)
    if not attributes:
        return mask
    get = attributes.get
    for names in (get("class"), get("id")):
        if names:
            known = _masks.get(names)
            mask |= word_mask(names) if known is None else known
    if role := get("role"):
        mask |= ELEMENT_BITS.get(role, 0)
    style = get("style")
    if (style and _HIDDEN_STYLE.search(style)) or "hidden" in attributes or get("aria-hidden") == "true":
        mask |= 1 << HIDDEN_BIT
    return mask


def segment_stats(page: Walk, title: str) -> SegmentStats:
    """Count the texts and elements of a page. `title`: flags of short texts compare with it."""
    elements = np.array([segment.element for segment in page.segments], np.int32)
    counts, words, flags = _text_counts(page, title.lower())
    return SegmentStats(
        tags=np.array([_TAG_NUMBERS[tag] for tag in page.tags], np.int32),
        parents=np.array(page.parents, np.int32),
        ends=np.array(page.ends(), np.int64),
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
        size, tag, first = len(text), tags[segment.element], text[0]
        extra, weight = (0, 0) if text.isascii() else weight_of(text)
        bits = TAG_FLAGS.get(tag, 0)
        if text[-1].isalnum():
            pass
        elif text.endswith(TRAINED_ENDS):
            bits |= _SENTENCE
        elif text[-1] == ":":
            bits |= _COLON
        if segment.images:
            bits |= _IMAGE
        if seen[text] > 1:
            bits |= _REPEATED
        if first.isupper() or (first > "z" and may_begin_sentence(first)):
            bits |= _UPPER
        if segment.marked:
            bits |= _MARKED
        words = text.count(" ") + weight + 1
        if tag != "pre" and "\n" in text:
            words += text.count("\n")
        spaced.append(words)
        if size < SHORT:
            low = text.lower()
            parts = low.split()
            words = len(parts) + weight
            bits |= _short_flags(text, parts)
            if size > 3 and low in title:
                bits |= _TITLE
        flags.append(bits)
        size += extra
        commas, stops = (commas_in(text), stops_in(text)) if size > COUNTED_FROM else (0, 0)
        counts += (size, segment.link_chars, words, commas, stops, segment.links)
    columns = np.array(counts, np.float32).reshape(-1, 6)
    return columns, np.array(spaced, np.float32), np.array(flags, np.uint16)


def may_begin_sentence(letter: str) -> bool:
    """Return whether a sentence may begin with this letter: a capital, or a letter of a script without case."""
    return letter.isupper() or (letter.isalpha() and letter.lower() == letter.upper())


def term_flags(words: list[str]) -> int:
    """Return the flags of a short text by its words (in lower case)."""
    flags = 0
    if not _TERM_WORDS.isdisjoint(words):
        for word in _TERM_WORDS.intersection(words):
            flags |= _TERM_FLAGS[word]
    return flags


def _short_flags(text: str, parts: list[str]) -> int:
    bits = term_flags(parts)
    if not text.isalpha():
        for sign in _SIGN.findall(text):
            bits |= _SIGN_FLAGS[sign]
    return bits


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
