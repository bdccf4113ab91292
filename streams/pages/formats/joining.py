"""Lines of a file -> the text of a paragraph, without the gaps that a layout puts into words. Pure.

Chinese and Japanese have no spaces between words: a space there is the end of a line, or a letter that a justified line
moved away from its neighbours.
"""

import re
from collections.abc import Sequence
from itertools import groupby

_SPACELESS = "\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"
_GAP = re.compile(rf"(?<=[{_SPACELESS}]) (?=[{_SPACELESS}])")
MIN_GAPS = 3
"""Minimum gaps in a text that show a justified line: its Latin words stand apart, too."""
MIN_LETTERS = 4
"""Minimum single letters in a row that are a word."""


def close_gaps(text: str) -> str:
    """Remove single spaces between Chinese and Japanese letters, and in Latin words of lines that have many of them."""
    if text.isascii():
        return text
    closed, gaps = _GAP.subn("", text)
    return _join_letters(closed) if gaps >= MIN_GAPS else closed


def _join_letters(text: str) -> str:
    """Join runs of single Latin letters to words: `c l i e n t`."""
    parts: list[str] = []
    for is_letter, run in groupby(
        text.split(" "), key=lambda part: len(part) == 1 and part.isascii() and part.isalpha()
    ):
        letters = list(run)
        parts += ["".join(letters)] if is_letter and len(letters) >= MIN_LETTERS else letters
    return " ".join(parts)


def join_lines(lines: Sequence[str], *, divides_words: bool) -> str:
    """Join the lines of a paragraph.

    `divides_words`: a hyphen at the end of a line divides a word, as a printed page does. Otherwise it was written.
    """
    parts: list[str] = []
    before = ""
    for line in lines:
        if before.endswith("-") and before[-2:-1].isalpha() and line[:1].islower():
            if divides_words:
                parts[-1] = before[:-1]
        elif parts:
            parts.append(" ")
        parts.append(line)
        before = line
    return close_gaps("".join(parts))
