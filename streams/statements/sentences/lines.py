"""The lines of a paragraph, and the breaks between them that end a statement. Pure.

A page breaks its lines for two reasons. A poem, an address, opening hours and facts have lines that mean something. A
sentence that somebody wrapped has none. Only the text tells them apart: a line that begins with a small letter, or
stands behind a comma, goes on with the line before, and lines that stop with an end mark are one sentence. A line with
a label ("Phone: 0123") or a bullet is by itself, and so is a line without an end mark that is as long as a sentence.
Short lines without end marks stay together, as the items of a short list do, with their breaks in the text.
"""

import re
from collections.abc import Iterator

from streams.language.marks import is_closed
from streams.statements.sentences.lengths import MAX_JOINED_WORDS, Span, has_label, word_count
from streams.statements.sentences.open_texts import MIN_PLAIN_WORDS, ends_open

MAX_NAME_WORDS = 8
"""Maximum words of a first line that names the lines behind it."""
_BULLET = re.compile(r"(?:[-–—•*·▪►]|\(?[0-9]{1,3}[.)])\s+(?=\S)")
MIN_BULLETS = 2
"""Minimum lines with a bullet or a number that are a list written by hand. A single number may be of a sentence."""


def line_starts(text: str) -> list[int]:
    """Return the starts of the lines that begin a statement, except for those behind an end mark."""
    lines = list(_lines_of(text))
    texts = [text[start:end] for start, end in lines]
    begins = _own_lines(texts)
    found = []
    for first, end in _runs(texts, begins):
        found += [lines[index][0] for index in _begins_in_run(texts[first:end], first)]
    return sorted({*found, *(lines[index][0] for index in begins)} - {0})


def begins_with_name(text: str, *, is_marked: bool) -> bool:
    """Return whether the first line of a text is the name of the lines behind it. `is_marked`: it is bold, or a link.

    A name has a colon, or is before lines with labels or bullets. Before a sentence it is marked, since it may be the
    beginning of this sentence.
    """
    first, _, rest = text.partition("\n")
    second = rest.partition("\n")[0]
    if not second or word_count(first) > MAX_NAME_WORDS or has_label(first) or _BULLET.match(first):
        return False
    if first.endswith((":", "：")):
        return True
    if is_closed(first) or ends_open(first) or second[:1].islower():
        return False
    return is_marked or has_label(second) or _BULLET.match(second) is not None


def _lines_of(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _own_lines(texts: list[str]) -> list[int]:
    """Return the lines that have a label, or a bullet as other lines have."""
    bullets = [index for index, line in enumerate(texts) if _BULLET.match(line)]
    labels = [index for index, line in enumerate(texts) if has_label(line)]
    if len(labels) == 1:  # "there was one thing: rope"
        labels = [index for index in labels if not texts[index][0].islower()]
    return sorted({*labels, *(bullets if len(bullets) >= MIN_BULLETS else ())})


def _runs(texts: list[str], begins: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first line and the end of each run of lines up to an end mark, or to a line of its own."""
    first, own = 0, set(begins)
    for index, line in enumerate(texts):
        if index in own and index > first:
            yield first, index
            first = index
        if is_closed(line):
            yield first, index + 1
            first = index + 1
    if first < len(texts):
        yield first, len(texts)


def _begins_in_run(run: list[str], first: int) -> Iterator[int]:
    """Yield the lines of a run that begin a statement: none in a sentence, else long lines, and parts of many lines."""
    if is_closed(run[-1]):
        return
    words = word_count(run[0])
    for index in range(1, len(run)):
        before, line = run[index - 1], run[index]
        own = word_count(line)
        goes_on = line[:1].islower() or ends_open(before)
        are_long = min(word_count(before), own) >= MIN_PLAIN_WORDS
        if not goes_on and (are_long or words + own > MAX_JOINED_WORDS):
            yield first + index
            words = 0
        words += own
