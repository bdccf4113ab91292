"""The part of a page that identifies its language: sentences first, without code, options and names of functions.

A manual of a program begins with its name and its options, and a model for languages finds Turkish in them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from streams.pages.document.model import Block

MIN_PARAGRAPH_CHARS = 60
"""Minimum length of a paragraph that is read before headings and short lines (characters)."""
MIN_SAMPLE_CHARS = 60
"""Minimum length of the paragraphs that are enough, and of all prose. With less, the rest of the page is read, too."""
MAX_BLOCKS = 300
"""Maximum number of blocks that are looked at: the sample is in the first ones."""
MAX_TEXT_CHARS = 2_000
"""Maximum length of a block's beginning that is read (characters)."""
_CODE_WORD = re.compile(r"(?<!\S)(?=[!-~]*[_(){}\[\]<>=\\/*|;#$@~+])[!-~]++(?!\S)|(?<!\S)--?[a-zA-Z][!-~]*+")
"""A word of ASCII characters with a sign of code in it, or an option of a program."""


def sample_for_language(blocks: Sequence[Block], max_chars: int) -> str:
    """Return the first paragraphs without code; on a page without paragraphs the short lines, then all."""
    first = blocks[:MAX_BLOCKS]
    prose = [_without_code(block) for block in first if block.tag != "pre"]
    sample = _first_chars((text for text in prose if len(text) >= MIN_PARAGRAPH_CHARS), max_chars)
    if len(sample) < MIN_SAMPLE_CHARS:
        sample = _first_chars(prose, max_chars)
    if len(sample) < MIN_SAMPLE_CHARS:
        sample = _first_chars((block.text for block in first), max_chars)
    return sample


def _without_code(block: Block) -> str:
    """Return a block's text without its spans of code and words that look like code."""
    parts, end = [], 0
    for span in block.spans:
        if span.kind in ("code", "math") and span.start >= end:
            parts.append(block.text[end : span.start])
            end = span.end
    return " ".join(_CODE_WORD.sub(" ", "".join([*parts, block.text[end:]])[:MAX_TEXT_CHARS]).split())


def _first_chars(texts: Iterable[str], max_chars: int) -> str:
    return "\n".join(_until(texts, max_chars))[:max_chars]


def _until(texts: Iterable[str], max_chars: int) -> Iterator[str]:
    for text in texts:
        if max_chars <= 0:
            return
        max_chars -= len(text) + 1
        yield text
