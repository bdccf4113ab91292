"""Finds where the pages of a converted file begin in its document. Pure."""

from collections.abc import Sequence

from streams.pages.formats.converted import PAGE_ATTRIBUTE
from streams.pages.parse.segments import Walk

MAX_PAGE = 5_000
"""Maximum number of a page."""


def page_starts(walk: Walk, elements: Sequence[int]) -> dict[str, list[int]]:
    """Return the fact `pages`: the index of the first block of each page. Empty for a file without pages.

    `elements` are the elements of the blocks. A page without text begins where the next page begins.
    """
    numbers = {element: int(value) for element, value in walk.named(PAGE_ATTRIBUTE).items() if value.isdecimal()}
    if not numbers:
        return {}
    starts: list[int] = []
    for block, element in enumerate(elements):
        while element >= 0 and element not in numbers:
            element = walk.parents[element]
        page = min(numbers.get(element, 0), MAX_PAGE)
        starts += [block] * (page - len(starts))
    return {"pages": starts}
