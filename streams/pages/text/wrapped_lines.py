"""The lines of a preformatted paragraph: prose that was wrapped anywhere, lines that mean something, or neither. Pure.

A wrapped line ends where the next word had no room. Where half of the next words had room, somebody chose the breaks: a
poem, an address, a list of facts. Lines that begin with small letters are the exception. Code, tables and drawings are
neither, and stay as they are written.
"""

import re
from collections.abc import Sequence
from typing import Literal

from streams.language.marks import ends_sentence

Reading = Literal["prose", "lines", "verbatim"]
MIN_LINE_CHARS = 20
"""Minimum length of the longest line of a paragraph of several lines (characters). Lines of code are shorter."""
MIN_WIDTH = 40
"""Minimum width to which a text is wrapped (characters)."""
MIN_SENTENCE_WORDS = 12
"""Minimum words of a paragraph that shows that a listing is prose."""
COLUMNS = re.compile(r"\S {3,}\S|\t")
BLANK = re.compile(r"\n[ \t\r\f]*\n")
_COMMAND = re.compile(r"\s*[$#]\s?\S")
"""A line of a shell's session or of a configuration."""
_MIN_LETTERS = 0.6
"""Minimum share of letters and spaces in prose. Code and tables have fewer."""
_OF_CODE = frozenset("{}[]<>=|\\/_$#@*+~^`")
"""Characters that lines of a poem or an address don't have."""
_FIRST_WIDE = "\u2e80"
"""The first letter of two columns."""
_MIN_SENTENCES = 0.5
"""Minimum share of sentences in the characters of a listing that is prose."""


def read_lines(lines: Sequence[str]) -> Reading:
    """Return how the lines of a paragraph are to be read."""
    if _is_prose(lines):
        return "lines" if len(lines) > 1 and _are_chosen(lines) else "prose"
    return "lines" if len(lines) > 1 and _are_names(lines) else "verbatim"


def is_prose_text(text: str) -> bool:
    """Return whether most of a preformatted text is wrapped sentences, as in archives of mails."""
    sentences = 0
    for part in BLANK.split(text):
        lines = [line for line in part.split("\n") if line.strip()]
        if lines and len(part.split()) >= MIN_SENTENCE_WORDS and ends_sentence(part) and _is_prose(lines):
            sentences += len(part)
    return sentences > 0 and sentences >= _MIN_SENTENCES * len(text.strip())


def _is_prose(lines: Sequence[str]) -> bool:
    """Return whether lines are text that was broken anywhere: mostly letters, without columns, with one indent."""
    if len(lines) > 1 and max(map(len, lines)) < MIN_LINE_CHARS:
        return False
    if _are_commands(lines):
        return False
    text = "".join(lines)
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    if any(COLUMNS.search(line.strip()) for line in lines) or letters < _MIN_LETTERS * len(text) + 2:
        return False
    indents = {len(line) - len(line.lstrip()) for line in lines[1:]}
    ends_early = sum(len(line) < 0.5 * max(map(len, lines)) for line in lines[:-1])
    return (len(indents) <= 1 and 3 * ends_early <= len(lines) and any(letter.islower() for letter in text)) or (
        len(indents) <= 1 and not text.isascii()
    )


def _are_commands(lines: Sequence[str]) -> bool:
    return 2 * sum(bool(_COMMAND.match(line)) for line in lines) > len(lines)


def _are_chosen(lines: Sequence[str]) -> bool:
    """Return whether the first words of half of the lines had room in the lines before, and most begin as names do."""
    if 2 * sum(line.lstrip()[:1].islower() for line in lines[1:]) > len(lines) - 1:
        return False
    width = max(MIN_WIDTH, *map(_width, lines))
    room = [width - _width(line.rstrip()) for line in lines[:-1]]
    words = [_width(line.split(maxsplit=1)[0]) for line in lines[1:]]
    return 2 * sum(word < left for word, left in zip(words, room, strict=True)) >= len(words)


def _width(text: str) -> int:
    """Return the number of columns of a text. Chinese and Japanese letters take two."""
    return len(text) if text.isascii() else len(text) + sum(letter >= _FIRST_WIDE for letter in text)


def _are_names(lines: Sequence[str]) -> bool:
    """Return whether lines belong to a poem or an address: each begins as a name or sentence, none has code."""
    text = "".join(lines)
    if not _OF_CODE.isdisjoint(text) or _are_commands(lines) or any(COLUMNS.search(line.strip()) for line in lines):
        return False
    words = [line.split() for line in lines]
    first = [found[0].lstrip("\"'“‘«(") for found in words]
    begins = sum(not word[:1].islower() for word in first)
    has_words = sum(map(len, words)) >= 2 * len(lines) and any(letter.islower() for letter in text)
    return has_words and 5 * begins >= 4 * len(lines)
