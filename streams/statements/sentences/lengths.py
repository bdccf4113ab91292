"""Sentences -> spans of bounded length: a fragment joins its neighbour, an overlong sentence is cut at a clause.

A model reads about 256 tokens, context included. A vector of a longer text is similar to no query in particular.
"""

import re
from collections.abc import Iterator, Sequence

Span = tuple[int, int]
"""Start and end of a part of a text."""
MIN_WORDS = 4
"""Minimum words of a statement. Fewer are a fragment ("Yes.", "See below."), which means nothing alone."""
MAX_WORDS = 80
"""Maximum words of a statement."""
MAX_JOINED_WORDS = MAX_WORDS // 2
"""Maximum words of short items or lines that are one statement: a vector of a longer enumeration is similar to no query
in particular."""
SPACELESS_CHARS_PER_WORD = 2.0
"""Characters that count as one word in Chinese, Japanese, Thai and the like, which have no spaces between words."""
LONG_WORD_CHARS = 40
"""Characters of a word that count as one word more: base64, long URLs, and other words that a tokenizer cuts."""
WINDOW_CHARS = 1_024
"""Number of characters that are searched first for the end of a part: most parts of MAX_WORDS words are shorter."""

MAX_LABEL_WORDS = 5
_LABEL = re.compile(r"([^\W_][^:：]{0,40})(?::\s+|：\s*)\S")
"""A label with a value behind it, as in "Monday to Friday: 9 to 17"."""
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7ff]")
_SPACES = re.compile(r"\s*+")
_CLAUSE_ENDS = (
    re.compile(r"\n"),
    re.compile(r"(?:[;:]|\s[–—]|\))\s+|[；：]"),
    re.compile(r",\s+(?=(?:and|but|or|so|which|who|where|while|because|although|und|et|y|e|aber|mais)\b)"),
    re.compile(r",\s+|[、，]"),
    re.compile(r"\s+"),
)
"""Places where an overlong sentence is cut, the best kind of place first."""


def word_count(text: str) -> int:
    """Return about how many words a text has: exact enough for a limit of length, in any script."""
    if text.isascii():
        return sum(1 + len(word) // LONG_WORD_CHARS for word in text.split())
    spaceless = len(_SPACELESS.findall(text))
    others = sum(1 + len(word) // LONG_WORD_CHARS for word in _SPACELESS.sub(" ", text).split())
    return others + round(spaceless / SPACELESS_CHARS_PER_WORD)


def bound_lengths(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return spans of the same text that are neither fragments (if they have a neighbour to join) nor too long."""
    return [part for span in _join_fragments(text, spans) for part in _cut_sentence(text, span)]


def _join_fragments(text: str, spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and (_is_fragment(text, (start, end)) or (len(joined) == 1 and _is_fragment(text, joined[0]))):
            whole = (joined[-1][0], end)
            if _fits(text, *whole):
                joined[-1] = whole
                continue
        joined.append((start, end))
    return joined


def _is_fragment(text: str, span: Span) -> bool:
    start, end = span
    if word_count(text[start:end]) >= MIN_WORDS:
        return False
    is_line = "\n" in (text[start - 1 : start], text[end : end + 1])
    return not (is_line and has_label(text[start:end]))


def has_label(text: str) -> bool:
    """Return whether a text has a label of a few words at its beginning and a value behind it: "Phone: 0123"."""
    found = _LABEL.match(text)
    return found is not None and word_count(found[1]) <= MAX_LABEL_WORDS


def _fits(text: str, start: int, end: int) -> bool:
    return word_count(text[start:end]) <= MAX_WORDS


def _cut_sentence(text: str, span: Span) -> Iterator[Span]:
    """Yield the span in parts of at most MAX_WORDS, each as long as the clauses allow."""
    start, end = span
    while (limit := _limit(text, start, end)) < end:
        at = _best_cut(text, start, limit)
        yield start, start + len(text[start:at].rstrip())
        start = _SPACES.match(text, at, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    if start < end:
        yield start, end


def _limit(text: str, start: int, end: int) -> int:
    """Return the furthest offset where a part that begins at `start` has to end.

    The window doubles until it holds too many words: with all of the text, the rest would be counted again for each
    part.
    """
    window = WINDOW_CHARS
    while _fits(text, start, min(start + window, end)):
        if start + window >= end:
            return end
        window *= 2
    low, high = start + 1, min(start + window, end)
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(text, start, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _best_cut(text: str, start: int, limit: int) -> int:
    """Return the last good place to cut before the limit, in the second half of the room; else the limit itself."""
    middle = start + (limit - start) // 2
    for pattern in _CLAUSE_ENDS:
        places = [match.end() for match in pattern.finditer(text, middle, limit)]
        if places:
            return places[-1]
    return limit
