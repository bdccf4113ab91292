"""Compares two documents of one page apart from their counters: lines such as "1,204 views" or "Updated 2 days ago".

Such a line changes with each visit, and says nothing about the page's subject. A corrected price or number changes as
little, and must be found. So two texts are equal only if one of these holds, in one of LANGUAGES:

- Both are counters: numbers, durations, relative times, names of months and days, and words of the tables of
  `streams.language` are all that they have, and a word for what is counted is among them.
- They are short, and differ only by relative times: "Posted 3 minutes ago by Anna", "Anna, yesterday".
- They are short, and differ only by a clock or a date that is as much later as the visit (`clocks`).

Each other change counts. Only texts that differ are looked at.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from streams.dedup.clocks import load_names, moved_with_visits
from streams.language.counters import BESIDE, COUNTED
from streams.language.months import CALENDAR_WORDS, MONTH_NAMES
from streams.language.relative_times import (
    LANGUAGES,
    NUMBER,
    RELATIVE_DAYS,
    WITHOUT_SPACES,
    calendar_names,
    durations,
    relative_times,
)
from streams.pages.document.model import Block, Document
from streams.pages.text.tokens import words

MAX_WORDS = 16
"""Maximum number of words of a text with a counter or a relative time."""
MAX_CHARS = 160
"""Maximum number of characters of such a text."""
_MASK = "\N{HORIZONTAL ELLIPSIS}"
_BEGIN, _END = r"(?<!\w)", r"(?!\w)"


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of one language, for case-folded texts."""

    relative: re.Pattern[str]
    masked: re.Pattern[str]
    """Relative times, also words such as `yesterday`."""
    counted: re.Pattern[str]
    known: re.Pattern[str]
    """All that a counter may have."""


@cache
def _patterns(language: str) -> _Patterns:
    has_spaces = language not in WITHOUT_SPACES
    begin, end = (_BEGIN, _END) if has_spaces else ("", "")
    counted = _longest_first(COUNTED[language].split())
    beside = _longest_first(BESIDE[language].split())
    months = " ".join(names for languages, names in MONTH_NAMES.items() if language in languages.split())
    calendar = {*months.replace("|", " ").split(), *calendar_names(language), *CALENDAR_WORDS}
    times = f"{relative_times(language)}|{durations(language)}"
    iso = r"\d{4}-\d\d-\d\dt[\d:.+-]+z?"
    known = "|".join([times, iso, NUMBER, *_longest_first(calendar), *counted, *beside])
    return _Patterns(
        re.compile(f"{begin}(?:{relative_times(language)}){end}"),
        re.compile(f"{begin}(?:{relative_times(language)}|{RELATIVE_DAYS[language]}){end}"),
        re.compile(f"{begin}(?:{'|'.join(counted)}){end}"),
        re.compile(f"{begin}(?:{known}){end}"),
    )


def _longest_first(words: Iterable[str]) -> list[str]:
    """Return the patterns of words, the longest first."""
    return [re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word))]


def load_patterns() -> None:
    """Make the patterns of all languages: some tenths of a second."""
    for language in LANGUAGES:
        _patterns(language)
    load_names()


def is_counter(line: str) -> bool:
    """Return whether a line is a counter of the page, or the time of its last change."""
    if not _may_count(line) or any(char == "%" or unicodedata.category(char) == "Sc" for char in line):
        return False
    text = line.casefold()
    return len(words(line)) > 1 and any(_is_counter(text, _patterns(each)) for each in LANGUAGES)


def _is_counter(text: str, patterns: _Patterns) -> bool:
    rest = patterns.known.sub(" ", text)
    if any(map(str.isalnum, rest)):
        return False
    return bool(patterns.counted.search(text) or patterns.relative.search(text))


def without_relative_times(line: str) -> str:
    """Return a short line with a mark in place of its relative times, case-folded; another line as it is."""
    if not _may_count(line):
        return line
    text = line.casefold()
    for language in LANGUAGES:
        masked = _patterns(language).masked.sub(_MASK, text)
        if masked != text:
            return masked
    return line


def _may_count(line: str) -> bool:
    return len(line) <= MAX_CHARS and len(line.split()) <= MAX_WORDS


def differ_by_counters(former: Document, present: Document, seconds: float = 0.0) -> bool:
    """Return whether two documents are equal apart from their counters. Links are not compared: another stage has them.

    How sure the languages are is not compared either: it depends on each letter. `seconds`: between both visits; 0 if
    that is not known.
    """
    if len(former.blocks) != len(present.blocks) or _around(former) != _around(present):
        return False
    pairs = zip(former.blocks, present.blocks, strict=True)
    return all(_are_equal(one, other, seconds) for one, other in pairs)


def _around(document: Document) -> Document:
    """Return all of a document but its blocks and links."""
    return replace(document, blocks=(), links=(), language_confidence=0.0)


def _are_equal(one: Block, other: Block, seconds: float) -> bool:
    one, other = one._replace(confidence=0.0), other._replace(confidence=0.0)
    if one == other:
        return True
    if (one.tag, one.parent) != (other.tag, other.parent):
        return False
    if is_counter(one.text) and is_counter(other.text):
        return True
    texts = [without_relative_times(each.text) for each in (one, other)]
    if _marks(one) != _marks(other):
        return False
    is_short = _may_count(one.text) and _may_count(other.text)
    return texts[0] == texts[1] != one.text or (
        seconds > 0 and is_short and moved_with_visits(one.text, other.text, seconds)
    )


def _marks(block: Block) -> Iterable[object]:
    """Return all of a block but its text and the places in it."""
    return block.language, block.script, [span[2:] for span in block.spans]
