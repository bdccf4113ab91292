"""Headers, footers and numbers of pages, which are no text: lines that many pages have at one edge, apart from numbers.

Numbers count as equal, in digits or Roman letters, so any language's words around them do. The number of a single page
is by itself, or together with the number of all pages.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from streams.pages.formats.pdf_model import Line

MIN_REPEATED_PAGES = 3
"""Minimum number of pages with a repeated line at their edge. Of two pages, both."""
MIN_REPEATED_SHARE = 0.25
"""Minimum share of such pages. Headers of books differ by chapter, and by left and right page."""
NEAR_PAGES = 4
"""Number of pages before and after a page that may repeat the header of its chapter."""
EDGE_LINES = 3
"""Number of lines at either edge of a page that may be headers or footers."""
SAME_HEIGHT = 8.0
"""Maximum difference of the heights of a repeated line (points)."""
MAX_NUMBER_CHARS = 40
"""Maximum length of a line with the number of its page and of all pages."""
_NUMBER = re.compile(r"\d+|(?<![^\W\d_])[ivxlc]{1,8}(?![^\W\d_])")
_DIGITS = re.compile(r"\d{1,9}")
_PAGE_NUMBER = re.compile(
    r"[^\w\s]{0,3}\s?(?:page\s)?(?:\d{1,5}|[ivxlc]{1,8})\s?[^\w\s]{0,3}(?:\s?(?:of|/)\s?\d{1,5})?", re.IGNORECASE
)

_Key = tuple[str, int]
"""A line without its numbers, and its height on the page."""


def drop_repeated(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Drop the headers, footers and numbers of pages: lines at an edge that many pages have, apart from numbers.

    If such lines are most of the text, as in a deck of slides, nothing is dropped.
    """
    edges = [{id(line): _keys(line) for line in _edges(lines)} for lines in pages]
    counts = _count(edges)
    needed = max(min(MIN_REPEATED_PAGES, max(len(pages), 2)), MIN_REPEATED_SHARE * len(pages))
    kept = []
    for index, lines in enumerate(pages):
        near = _count(edges[max(0, index - NEAR_PAGES) : index + NEAR_PAGES + 1])
        repeated = {
            line
            for line, keys in edges[index].items()
            if any(counts[key] >= needed or near[key] >= MIN_REPEATED_PAGES for key in keys)
        }
        kept.append(
            [
                line
                for line in lines
                if id(line) not in repeated
                and not (id(line) in edges[index] and _is_page_number(line.text, index + 1, len(pages)))
            ]
        )
    return kept if 2 * _chars(kept) >= _chars(pages) else list(pages)


def _is_page_number(text: str, number: int, count: int) -> bool:
    """Return whether a line at an edge is the number of its page, of `count` pages."""
    if _PAGE_NUMBER.fullmatch(text):
        return True
    numbers = [int(found) for found in _DIGITS.findall(text[: MAX_NUMBER_CHARS + 1])]
    return len(text) <= MAX_NUMBER_CHARS and numbers == [number, count]


def _count(edges: Sequence[dict[int, tuple[_Key, ...]]]) -> Counter[_Key]:
    """Count the pages that have each line at an edge."""
    return Counter(key for keys in edges for key in {key for own in keys.values() for key in own})


def _chars(pages: Sequence[Sequence[Line]]) -> int:
    return sum(len(line.text) for lines in pages for line in lines)


def _edges(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the highest and the lowest lines of a page. Their order in the file may be another one."""
    by_height = sorted(lines, key=lambda line: -line.top)
    inner = range(EDGE_LINES, len(by_height) - EDGE_LINES)
    yield from (line for place, line in enumerate(by_height) if place not in inner and not line.rows)


def _keys(line: Line) -> tuple[_Key, ...]:
    """Return the keys of a line. Of two heights that are near each other, one falls into the same strip of both."""
    text = _NUMBER.sub("#", line.text[:80].casefold())
    if not any(letter.isalpha() for letter in text):
        return ()
    return (text, round(line.top / SAME_HEIGHT)), (text, -round(line.top / SAME_HEIGHT + 0.5) - 1)
