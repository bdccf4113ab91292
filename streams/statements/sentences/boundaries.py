"""Sentence boundaries by rule, and which of them are doubtful enough to need a model.

A boundary is clear when the text around the mark leaves no doubt: "... the file. The next ...". It is doubtful after an
abbreviation, an initial or a number ("No. 5", "J. Smith", "z. B."). Follows UAX 29 in outline: closing quotes and
brackets belong to the sentence, and ideographic marks need no space behind them. The text is a stranger's: each
expression and loop takes time that only grows with the text's length.
"""

import re
from collections.abc import Collection
from enum import Enum
from itertools import pairwise

from streams.language.marks import CLOSERS, CLOSING, MARKS, OPENERS, WIDE_MARKS
from streams.language.months import SHORT_DAYS, SHORT_MONTHS

Span = tuple[int, int]

# A match begins at the first mark of a run and takes the whole run (possessive). Each reference begins with a character
# that nothing before it can end with, so that there is one way to match them.
_ENDS = re.compile(
    rf"(?P<mark>[{MARKS}](?<![{MARKS}]{{2}})[{MARKS}]*+)(?:(?P<wide>(?<=[{WIDE_MARKS}])[{CLOSERS}]*+\s*+)|"
    rf"{CLOSING}*+(?:\s?\[(?:\d{{1,3}}|note \d++)\]|[⁰¹²³⁴-⁹]++)*(?P<gap>\s++))"
)
"""A reference in brackets or in superscript digits, as in "... was found. [12] The ...", belongs to the sentence."""
_BEHIND_WORD = re.compile(rf"[\s.…“‘«‹{CLOSERS}]")
_BEFORE = re.compile(r"(\S+)$")
_BEFORE_CHARS = 24
"""Number of characters before a mark that are searched for the word before it."""
_OPENING = re.compile(rf"[{OPENERS}*•–—-]*+")
_ABBREVIATION_LIST = (
    "mr mrs ms dr prof st vs etc no vol pp fig figs eq eqs sec ch cf al ca approx inc ltd co corp jr sr rev gen col "
    "lt sgt capt gov sen rep hon dept univ est sept ed eds trans repr min max resp incl excl ext tel ave blvd rd bzw "
    "ca usw bd nr str abb art cap cf p pág núm sr sra dña av apt e.g i.e a.m p.m u.s u.k d.c ph.d"
)
_ABBREVIATIONS = frozenset((*_ABBREVIATION_LIST.split(), *SHORT_MONTHS, *SHORT_DAYS)) - {"may"}


class Ending(Enum):
    """The rule's answer about one place: no sentence ends there, a sentence ends there, or that is doubtful."""

    NO = 0
    CLEAR = 1
    DOUBTFUL = 2


def find_endings(text: str) -> list[tuple[int, Ending]]:
    """Return each place inside the text where a sentence may end: the next sentence's start, and how sure it is."""
    return [(match.end(), _judge(text, match)) for match in _ENDS.finditer(text) if match.end() < len(text)]


def spans_between(text: str, starts: list[int]) -> list[Span]:
    """Return the spans between these starts (and 0) of sentences, without the white space around them."""
    bounds = [0, *starts, len(text)]
    spans = []
    for start, end in pairwise(bounds):
        piece = text[start:end]
        trimmed = piece.strip()
        if trimmed:
            offset = start + len(piece) - len(piece.lstrip())
            spans.append((offset, offset + len(trimmed)))
    return spans


def _judge(text: str, match: re.Match[str]) -> Ending:
    if match["wide"] is not None:
        return Ending.CLEAR
    if "\n\n" in match["gap"]:
        return Ending.CLEAR
    following = _skip_openers(text[match.end() : match.end() + 4])[:1]
    if following.islower():
        return Ending.NO
    if match["mark"][-1] not in ".…":
        return Ending.CLEAR
    before = _word_before(text, match.start())
    # A letter without case (Arabic, Hindi, Thai) begins a sentence as surely as a capital does.
    starts_anew = following.isupper() or (following.isalpha() and not following.islower())
    if starts_anew and len(before) > 3 and before.lower() not in _ABBREVIATIONS and "." not in before:
        return Ending.CLEAR if before[-1:].isalnum() else Ending.DOUBTFUL
    return Ending.DOUBTFUL


def _word_before(text: str, end: int) -> str:
    found = _BEFORE.search(text[max(0, end - _BEFORE_CHARS) : end])
    return _skip_openers(found.group(1)) if found else ""


def _skip_openers(text: str) -> str:
    return text[_OPENING.match(text).end() :]  # type: ignore[union-attr]  # it matches nothing, too


def choose_starts(text: str, ends: list[tuple[int, Ending]], modelled: Collection[int] | None = None) -> list[int]:
    """Return the starts of sentences: after the clear endings, and after the doubtful endings that the model confirms.

    Without a model (None), a doubtful ending counts when a real word is before it.
    """
    return [
        at
        for at, ending in ends
        if ending is Ending.CLEAR
        or (ending is Ending.DOUBTFUL and (follows_a_word(text, at) if modelled is None else at in modelled))
    ]


def follows_a_word(text: str, start: int) -> bool:
    """Return whether a real word is before the mark that `start` follows: no abbreviation, initial or number."""
    end, first = start, max(0, start - _BEFORE_CHARS)
    while end > first and _BEHIND_WORD.match(text, end - 1):
        end -= 1
    word = _word_before(text, end)
    return len(word) > 2 and word.lower() not in _ABBREVIATIONS and not word.isdigit() and "." not in word
