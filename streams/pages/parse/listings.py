"""Removes from listings of code what a page's programs put there for its readers: line numbers, and buttons.

Highlighters write line numbers as elements at the beginnings of the lines, or as a cell or listing beside. They are
known by what they are: whole numbers that follow each other, one for each line. A table is then left with one cell.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_LISTINGS = 2_000
"""Maximum number of listings of a page that are looked at."""
MAX_DIGITS = 7
_NUMBER = re.compile(rf"\d{{1,{MAX_DIGITS}}}")
_LINE_ELEMENTS = "span, a, i, em, b, td, div"
MIN_NUMBERS = 2
"""Minimum number of numbers within a listing. A single one may be a part of the code."""
_CELLS = ("td", "th")


def clean_listings(tree: LexborHTMLParser) -> None:
    """Remove line numbers and buttons from the listings of a page."""
    for listing in tree.css("pre")[:MAX_LISTINGS]:
        for button in listing.css("button"):
            button.decompose()
        if not _remove_numbers_beside(listing):
            _remove_numbers_within(listing)


def _remove_numbers_beside(listing: LexborNode) -> bool:
    """Remove the cell or listing before a listing, if it has the numbers of the lines only. Returns whether it did."""
    cell = _cell_of(listing)
    before = (cell or listing).prev
    while before is not None and before.tag not in (_CELLS if cell else ("pre",)):
        before = before.prev
    numbers = before.text(separator="\n").split() if before is not None else []
    if before is None or not _follow_each_other(numbers):
        return False
    if not listing.text().strip().count("\n") < len(numbers) <= _count_lines(listing):
        return False
    before.decompose()
    return True


def _cell_of(listing: LexborNode) -> LexborNode | None:
    """Return the table cell that has a listing, or an element around the listing, as its content."""
    above = listing.parent
    for _ in range(3):
        if above is None or above.tag in _CELLS:
            return above
        above = above.parent
    return None


def _remove_numbers_within(listing: LexborNode) -> None:
    """Remove the elements with the numbers of the lines, if the lines have other text, too."""
    numbered: dict[tuple[str, str], list[LexborNode]] = defaultdict(list)
    for node in listing.css(_LINE_ELEMENTS):
        text = node.text().strip()
        if _NUMBER.fullmatch(text):
            numbered[node.tag or "", node.attributes.get("class") or ""].append(node)
    if not numbered:
        return
    lines = _count_lines(listing)
    for nodes in numbered.values():
        numbers = [node.text().strip() for node in nodes]
        if MIN_NUMBERS <= len(nodes) <= lines and _follow_each_other(numbers) and _is_more_than(listing, numbers):
            for node in nodes:
                node.decompose()


def _count_lines(listing: LexborNode) -> int:
    """Return an upper bound of the number of lines of a listing: lines may also be elements."""
    return listing.text().count("\n") + len(listing.css("br, div, tr, li")) + 1


def _is_more_than(listing: LexborNode, numbers: Sequence[str]) -> bool:
    return len("".join(listing.text().split())) > 2 * sum(map(len, numbers))


def _follow_each_other(texts: Sequence[str]) -> bool:
    """Return whether texts are whole numbers, each one more than the one before."""
    if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
        return False
    first = int(texts[0])
    return all(int(text) == first + index for index, text in enumerate(texts))
