"""Texts that stop within a sentence, and texts that go on with one. Pure.

A page may divide a sentence between two of its parts: "A commit survives" stands before a list, "and is never lost."
behind it. The part before it is a lead-in, whether or not it ends with a colon. A lead-in without an end mark gets an
ellipsis, so that all readers of a context know it from a heading.
"""

import re
from collections.abc import Sequence

from streams.language.marks import is_closed
from streams.statements.sentences.lengths import word_count

OMISSION = "…"
MIN_PLAIN_WORDS = 8
"""Minimum words of a text without an end mark that counts as a sentence, or as its beginning: a shorter one may be a
label ("Save 27 %"). Not all languages have marks."""
MAX_END_CHARS = 400
"""Characters of the end of a text that are read."""
_OPEN = re.compile(
    r"(?:\w[\"'’”»)\]]?[,;]|[\s,;](?:and|or|but|nor|the|a|an|of|to|by|with|from|for|as|is|are|was|were|that|which|than|into|while|und|oder|"
    r"et|ou|der|die|das|des|le|la|les))\Z"
)
"""The end of a text that stops within a sentence: a comma, or a word that never ends one."""
_CONTINUATION = re.compile(
    r"(?:and|or|but|nor|is|are|was|were|will|can|may|must|has|have|which|where|to|in|for|with|by|of|then|than|because|"
    r"und|oder|et|ou|y|o)\s|[,;:)\]]"
)
"""The beginning of a text that goes on with a sentence even behind a colon. No program has such a name."""
_WORD = re.compile(r"[\"'“‘«(]?([^\W\d_]+)[\s,;.:]")


def ends_open(text: str) -> bool:
    """Return whether a text stops within a sentence, by its last word or mark."""
    return _OPEN.search(text[-MAX_END_CHARS:]) is not None


def begins_inside(text: str) -> bool:
    """Return whether a text begins within a sentence, by its first word or mark."""
    return _CONTINUATION.match(text) is not None


def goes_on(before: str, text: str) -> bool:
    """Return whether `text` goes on with the sentence in which `before` stops, by its first word and the end before.

    A name of a program in small letters may follow a label, so a beginning that may be a label counts for nothing.
    """
    end = before[-MAX_END_CHARS:]
    if end.endswith((":", "：")):
        return begins_inside(text)
    if is_closed(end) or not (ends_open(end) or word_count(end) >= MIN_PLAIN_WORDS):
        return False
    first = _WORD.match(text)
    return begins_inside(text) or (first is not None and first[1].islower())


def mark_open(text: str) -> str:
    """Return a lead-in with an ellipsis, if it has no end mark."""
    return text if not text or is_closed(text) else f"{text} {OMISSION}"


def beginning_of(text: str, context: Sequence[str]) -> str:
    """Return the part of a statement's context with which its sentence begins; "" if it is whole.

    This part has an ellipsis, or a colon if the sentence goes on behind a listing: "We might try:", "but this fails.".
    """
    if not (text[:1].islower() or begins_inside(text)):
        return ""
    marks = (f" {OMISSION}", ":", "：") if begins_inside(text) else (f" {OMISSION}",)
    return next((part for part in reversed(context) if part.endswith(marks)), "")
