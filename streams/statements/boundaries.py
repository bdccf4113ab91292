"""Where a sentence may end, by rule: enough for most text, and a judgement which text needs a model.

A terminator is clear when what stands around it leaves no doubt: "... the file. The next ...". It is doubtful after an
abbreviation, an initial or a number ("No. 5", "J. Smith", "z. B."). Follows UAX 29 in outline: closing quotes and
brackets belong to the sentence, and ideographic terminators need no space.
"""

import re
from collections.abc import Collection
from enum import Enum
from itertools import pairwise

Span = tuple[int, int]

_CLOSERS = "\"'”’»›)\\]}」』）】"
_ENDS = re.compile(
    rf"(?P<mark>[.!?…‽؟۔।॥։።჻]+)[{_CLOSERS}]*(?:\s?\[(?:\d{{1,3}}|note \d+)\]|[⁰¹²³⁴-⁹]{{1,3}})*(?P<gap>\s+)"
    rf"|(?P<wide>[。！？｡︒]+)[{_CLOSERS}]*\s*"
)
"""A reference in brackets or raised, as in "... was found. [12] The ...", still belongs to the sentence."""
_BEFORE = re.compile(r"(\S+)$")
_OPENERS = "\"'“‘«‹([{¿¡„‚*•–—-"
_ABBREVIATION_LIST = (
    "mr mrs ms dr prof st vs etc no vol pp fig figs eq eqs sec ch cf al ca approx inc ltd co corp jr sr rev gen col "
    "lt sgt capt gov sen rep hon dept univ est jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri "
    "sat sun ed eds trans repr min max resp incl excl ext tel ave blvd rd bzw ca usw bd nr str abb art cap cf p pág "
    "núm sr sra dña av apt e.g i.e a.m p.m u.s u.k d.c ph.d"
)
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())


class Ending(Enum):
    NO = 0
    CLEAR = 1
    DOUBTFUL = 2


def endings(text: str) -> list[tuple[int, Ending]]:
    """Each place at which a sentence may end before the text does: the next sentence's start, and how sure it is."""
    return [(match.end(), _judge(text, match)) for match in _ENDS.finditer(text) if match.end() < len(text)]


def spans_between(text: str, starts: list[int]) -> list[Span]:
    """The spans that these starts (besides 0) cut the text into, without the white space around them."""
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
    if match["wide"]:
        return Ending.CLEAR
    if "\n\n" in match["gap"]:
        return Ending.CLEAR
    following = text[match.end() : match.end() + 4].lstrip(_OPENERS)[:1]
    if following.islower():
        return Ending.NO
    if match["mark"][-1] not in ".…":
        return Ending.CLEAR
    before = _word_before(text, match.start())
    # A letter without case (Arabic, Hindi, Thai) follows as surely as a capital does.
    starts_anew = following.isupper() or (following.isalpha() and not following.islower())
    if starts_anew and len(before) > 3 and before.lower() not in _ABBREVIATIONS and "." not in before:
        return Ending.CLEAR if before[-1:].isalnum() else Ending.DOUBTFUL
    return Ending.DOUBTFUL


def _word_before(text: str, end: int) -> str:
    found = _BEFORE.search(text[max(0, end - 24) : end])
    return found.group(1).lstrip(_OPENERS) if found else ""


def decided(text: str, ends: list[tuple[int, Ending]], modelled: Collection[int] | None = None) -> list[int]:
    """The starts of sentences among the endings: the clear ones, and of the doubtful ones those that a model saw too.

    Without a model, a doubtful ending counts when a real word stands before it.
    """
    return [
        at
        for at, ending in ends
        if ending is Ending.CLEAR
        or (ending is Ending.DOUBTFUL and (_plausible(text, at) if modelled is None else at in modelled))
    ]


def _plausible(text: str, start: int) -> bool:
    before = text[:start].rstrip().rstrip(_CLOSERS + ".…")
    word = _word_before(before, len(before))
    return len(word) > 2 and word.lower() not in _ABBREVIATIONS and not word.isdigit() and "." not in word
