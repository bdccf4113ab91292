"""Blocks that a page shows twice: versions for wide and for narrow screens, or a post that another post quotes.

A copy is a text that is kept already below the same heading, beside another copy in the same order. A lone repeated
text is no copy: lists of parameters or of offers repeat lines for a reason. Code and table cells repeat, too, and so do
the descriptions of two functions that do the same, each below its own heading.
"""

from collections import Counter

from streams.pages.content.segment_stats import SegmentStats
from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.segments import Walk

MIN_WORDS = 4
"""Minimum words of a text that is compared. Shorter texts repeat by chance."""
MAX_TIMES = 3
"""Maximum number of times that a copied text is on the page: once for each width of a screen. A text that comes more
often is a refrain of the page, such as the warm-up in a training plan."""
_REPEATING_TAGS = frozenset({"pre", "td", "th"})


def find_copies(page: Walk, stats: SegmentStats, kept: list[int]) -> set[int]:
    headings = _headings_above(page, kept)
    tags, is_long = page.tags, (stats.words >= MIN_WORDS).tolist()
    compared = [index for index in kept if is_long[index] and tags[page.segments[index].element] not in _REPEATING_TAGS]
    texts = [(headings[index], page.segments[index].text) for index in compared]
    times = Counter(texts)
    first_at: dict[tuple[str, str], int] = {}
    originals = [first_at.setdefault(text, at) for at, text in enumerate(texts)]
    return {
        index
        for at, (index, text) in enumerate(zip(compared, texts, strict=True))
        if originals[at] < at
        and times[text] <= MAX_TIMES
        and (_continues(originals, at, -1) or _continues(originals, at, 1))
    }


def _headings_above(page: Walk, kept: list[int]) -> dict[int, str]:
    """Return the text of the heading above each kept segment; empty for headings, and above the first one."""
    above, found = "", {}
    for index in kept:
        segment = page.segments[index]
        is_heading = page.tags[segment.element] in HEADINGS
        found[index] = "" if is_heading else above
        above = segment.text if is_heading else above
    return found


def _continues(originals: list[int], at: int, step: int) -> bool:
    """Return whether the neighbour of a copy is a copy of the neighbour of the original."""
    beside = at + step
    return 0 <= beside < len(originals) and originals[beside] < beside and originals[beside] - originals[at] == step
