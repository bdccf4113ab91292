"""Units of a page: a list, definitions or a table. The terms and values of one are kept or left together. Pure.

The model judges each text by itself. Short ones are doubtful: the terms of a list of definitions, the cells of a table
between two paragraphs, an item of two words. So each unit is judged as one: by the share of it that is kept, and by
the text around it. One that holds headings, tables or parts of a page, such as the posts of a thread, is a layout of
a page, and no unit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.segment_stats import SegmentStats
from streams.pages.content.tree_sums import subtree_sums
from streams.pages.parse.elements import DIVIDING_TAGS, HEADINGS
from streams.pages.parse.segments import Part

Indices = NDArray[np.int64]
Doubles = NDArray[np.float64]

MIN_KEPT_SHARE = 0.5
"""Minimum share of a unit's words in kept texts that keeps the rest of it."""
MAX_LINK_SHARE = 0.3
"""Maximum share of the characters in links of a unit that is kept whole: a menu has more."""
MIN_AROUND_SHARE = 0.6
"""Minimum share of kept words in the texts around a unit."""
MIN_AROUND_WORDS = 10
"""Minimum words of the texts around a table or a list of definitions: those in the smallest element around it that has
this number outside of units."""
MIN_BESIDE_WORDS = 40
"""Minimum words of the texts beside a list of items."""
MIN_PROBABILITY = 0.1
"""Minimum mean probability of the words of a unit that is kept for the text around it."""

MAX_MENU_SHARE = 0.3
"""Maximum share of kept words of a menu. More, and the list is content of which the model doubts some items."""
MIN_MENU_LINKS = 0.7
"""Minimum share of the characters in links of a menu."""


def _is_tag(*names: str) -> NDArray[np.bool_]:
    return np.isin(np.arange(len(DIVIDING_TAGS)), [DIVIDING_TAGS.index(name) for name in names])


_UNITS = _is_tag("dl", "ul", "ol", "table")
_FACTS = _is_tag("dl", "table")
_LAYOUT = _is_tag(
    *HEADINGS,
    "article",
    "aside",
    "button",
    "div",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "main",
    "nav",
    "section",
)
_TABLE = DIVIDING_TAGS.index("table")


def find_units(stats: SegmentStats, parts: Mapping[int, Part]) -> Indices:
    """Return the unit of each element: the outermost list or table around it that is no layout; -1 without one.

    A group of names and descriptions without a `dl` is a unit, too: its first element is.
    """
    holds = subtree_sums(stats.ends, _LAYOUT[stats.tags].astype(np.float64)) > 0
    tables = subtree_sums(stats.ends, (stats.tags == _TABLE).astype(np.float64)) - (stats.tags == _TABLE)
    starts = (_UNITS[stats.tags] & ~holds & (tables == 0)).tolist()
    units, above = [-1] * len(starts), stats.parents.tolist()
    for element in range(1, len(units)):
        around = units[above[element]]
        if around < 0 and (part := parts.get(element)) is not None:
            around = part.group
        units[element] = around if around >= 0 else element if starts[element] else -1
    return np.array(units, np.int64)


def find_rest_of_units(stats: SegmentStats, scores: NDArray[np.float32], kept: Indices, units: Indices) -> Indices:
    """Return the segments of the units that are kept whole. `units`: of each segment."""
    inside, words = units >= 0, stats.words.astype(np.float64)
    if not inside.any():
        return np.array([], np.int64)
    kept_words = np.zeros(len(words))
    kept_words[kept] = words[kept]

    def sums(values: Doubles | NDArray[np.float32]) -> Doubles:
        """Return the sum of a column over each unit."""
        return _sums_by(units[inside], values[inside], len(stats.parents))

    size, held = sums(words), sums(kept_words)
    is_open = (size > 0) & (sums(stats.counts[:, 1]) <= MAX_LINK_SHARE * sums(stats.counts[:, 0]))
    whole = is_open & (held >= MIN_KEPT_SHARE * size)
    is_likely = sums(words * scores) >= MIN_PROBABILITY * size
    doubtful = np.flatnonzero(is_open & ~whole & is_likely)
    whole[doubtful] = _is_kept_around(stats, doubtful, np.where(inside, 0, words), np.where(inside, 0, kept_words))
    return np.flatnonzero(inside & whole[np.maximum(units, 0)])


def find_menus(stats: SegmentStats, kept: Indices, units: Indices) -> Indices:
    """Return the kept segments of lists of links of which little is kept: a menu, whose items the model doubts.

    `units`: of each segment.
    """
    inside, words = units >= 0, stats.words.astype(np.float64)
    if not inside[kept].any():
        return np.array([], np.int64)
    held = kept[inside[kept]]
    size = _sums_by(units[inside], words[inside], len(stats.parents))
    kept_size = _sums_by(units[held], words[held], len(stats.parents))
    links, chars = (_sums_by(units[inside], stats.counts[inside, column], len(stats.parents)) for column in (1, 0))
    is_menu = (kept_size < MAX_MENU_SHARE * size) & (links >= MIN_MENU_LINKS * chars)
    chosen: Indices = held[is_menu[units[held]]]
    return chosen


def _is_kept_around(stats: SegmentStats, units: Indices, words: Doubles, kept_words: Doubles) -> NDArray[np.bool_]:
    """Return for each unit whether most of the text around it is kept. The words in units count as none.

    The text around a list is beside it, below the same parent, and prose: a list in a frame of its own may name other
    pages, tags or authors.
    """
    size = len(stats.parents)
    around, kept_around = (
        subtree_sums(stats.ends, _sums_by(stats.elements, values, size)) for values in (words, kept_words)
    )
    found, above, is_facts = list[bool](), stats.parents.tolist(), _FACTS[stats.tags].tolist()
    for unit in units.tolist():
        holder = above[unit]
        while holder > 0 and is_facts[unit] and around[holder] < MIN_AROUND_WORDS:
            holder = above[holder]
        least = MIN_AROUND_WORDS if is_facts[unit] else MIN_BESIDE_WORDS
        found.append(bool(around[holder] >= least and kept_around[holder] >= MIN_AROUND_SHARE * around[holder]))
    return np.array(found, np.bool_)


def _sums_by(elements: NDArray[np.int64] | NDArray[np.int32], values: NDArray[Any], size: int) -> Doubles:
    """Return the sum of a column over each of `size` elements."""
    return np.bincount(elements, weights=values, minlength=size).astype(np.float64)
