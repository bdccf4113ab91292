"""A converted file: HTML that is all content, the facts that the file states, and the lines of its paragraphs.

Lines are joined without the gaps that a layout puts into words. Chinese and Japanese have no spaces between words: a
space there is the end of a line, or a letter that a justified line moved away from its neighbours.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from urllib.parse import unquote

MAX_CHARS = 4_000_000
"""Maximum length of the text that is read of a file (characters)."""
PAGE_ATTRIBUTE = "data-riffle-page"
"""Attribute of the element around a page: the number of the page, from 1."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]+")
_DATE = re.compile(r"(\d{4})-?(\d\d)?-?(\d\d)?")
_SPACELESS = "\u3001-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"
SOFT_HYPHEN = "\u00ad"
_WORD = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)*+")
_OPENING = "([{\"'\u201c\u201e\u2018\u201a\u00ab\u2039"
_GAP = re.compile(rf"(?<=[{_SPACELESS}]) (?=[{_SPACELESS}])")
MAX_TITLE_CHARS = 300
"""Maximum length of a title that is looked at (characters)."""
MIN_GAPS = 3
"""Minimum gaps in a text that show a justified line: its Latin words stand apart, too."""
MIN_LETTERS = 4
"""Minimum single letters in a row that are a word."""

_NO_TITLE = re.compile(
    r"\s*(?:untitled.*|(?:sub)?title|draft|document\d*|slide \d+|(?:powerpoint )?presentation|"
    r".*\.(?:docx?|tex|dvi|indd|ps|qxd|rtf|odt|pptx?|xlsx?)|microsoft word - .*|)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Converted:
    """A file as HTML, without boilerplate. Empty facts are not stated."""

    html: str
    title: str = ""
    author: str = ""
    published: str = ""
    """ISO date."""
    modified: str = ""
    """ISO date."""
    language: str = ""
    """As the file states it."""
    description: str = ""
    links: tuple[str, ...] = field(default=())
    """Addresses that are in no text."""
    unread_chars: int = 0
    """Number of characters beyond what is read of a file, as far as they can be counted."""


def clean(text: str) -> str:
    """Return a text without control characters."""
    return _CONTROLS.sub("", text)


def estimate_rest(chars: int, read: int, parts: int) -> int:
    """Return about how many characters the other parts of a file have, if they are as long as those that were read."""
    return (parts - read) * chars // read


def element(tag: str, text: str) -> str:
    return f"<{tag}>{escape(clean(text), quote=False)}</{tag}>"


def page(number: int, blocks: Iterable[str]) -> str:
    return f'<section {PAGE_ATTRIBUTE}="{number}">' + "\n".join(blocks) + "</section>"


def footnote(number: int, text: str) -> tuple[str, str]:
    """Return the mark of a note, and the block with its text."""
    name = f"fn{number}"
    block = f'<div role="doc-footnote" id="{name}">{escape(text, quote=False)}</div>'
    return f'<a href="#{name}" role="doc-noteref"><sup>{number}</sup></a>', block


def iso_date(text: str) -> str:
    """Return the date at the start of a text as ISO date, also of PDF (`D:20250301`); empty if there is none."""
    found = _DATE.match(text.strip().removeprefix("D:"))
    if not found or not "1900" <= found[1] <= "2200":
        return ""
    month, day = found[2] or "", found[3] or ""
    if not month or not "01" <= month <= "12":
        return found[1]
    return f"{found[1]}-{month}-{day}" if "01" <= day <= "31" else f"{found[1]}-{month}"


def is_no_title(text: str) -> bool:
    """Return whether a template or a program made a stated title, or it is the name of a file."""
    return bool(_NO_TITLE.fullmatch(text[:MAX_TITLE_CHARS]))


def title_of_url(url: str) -> str:
    """Return the name of the URL's file without its extension: `.../user_guide.pdf` -> `user guide`."""
    name = unquote(url.partition("#")[0].partition("?")[0].rstrip("/").rpartition("/")[2])
    stem = name.rpartition(".")[0] or name
    return " ".join(clean(stem).replace("_", " ").split())


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


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Count the words of lines in lower case, without halves at their ends: what tells whether a word is divided."""
    counts: Counter[str] = Counter()
    was_cut = False
    for line in lines:
        is_cut = line.endswith("-")
        words = _WORD.findall(line.lower())
        counts.update(words[was_cut : len(words) - is_cut])
        was_cut = is_cut
    return counts


def join_lines(lines: Sequence[str], *, divides_words: bool, known: Mapping[str, int] | None = None) -> str:
    """Join the lines of a paragraph.

    `divides_words`: a hyphen at the end of a line divides a word, as a printed page does. Otherwise it was written.
    `known` are the words of the text with their numbers: they show whether a hyphen belongs to a word.
    """
    parts: list[str] = []
    before = ""
    for line in lines:
        if before.endswith(("-", SOFT_HYPHEN)) and before[-2:-1].isalpha() and line[:1].isalnum():
            if before.endswith(SOFT_HYPHEN) or (divides_words and _is_divided(before, line, known or {})):
                parts[-1] = before[:-1]
            elif not divides_words and not line[:1].islower():
                parts.append(" ")
        elif parts:
            parts.append(" ")
        parts.append(line)
        before = line
    return close_gaps("".join(parts))


def _is_divided(before: str, line: str, known: Mapping[str, int]) -> bool:
    """Return whether a hyphen between two lines only divides a word.

    It does if the text has the joined word more often than the one with the hyphen. If it has neither, it does before
    a small letter, unless there was a hyphen before (`state-of-the-`), or both halves are words of the text.
    """
    first = before[:-1].rpartition(" ")[2].lower().lstrip(_OPENING)
    found = _WORD.match(line.lower())
    second = found[0] if found else ""
    joined, hyphenated = known.get(first + second, 0), known.get(f"{first}-{second}", 0)
    if joined or hyphenated:
        return joined > hyphenated
    if not line[:1].islower() or "-" in first:
        return False
    return not (known.get(first) and known.get(second))
