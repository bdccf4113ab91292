"""The place of each text on its page: the headings above it, and its distance from the page's title.

A teaser of another page looks like a short article: a heading, a date, a few sentences. Only its surroundings differ:
its heading is a link, a heading above says "more news", and the page's title is in another branch of the tree. These
are columns of the content model's input.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.lexicon import FLAGS, TEASER_WORDS
from streams.pages.content.segment_stats import SegmentStats
from streams.pages.content.tree_sums import depths
from streams.pages.parse.elements import DIVIDING_TAGS, HEADINGS
from streams.pages.parse.segments import Walk

Matrix = NDArray[np.float32]
Indices = NDArray[np.int64]

MAX_HEADING_WORDS = 8
"""Maximum words of a heading that is compared with `TEASER_WORDS`. A longer heading is a sentence."""
MIN_TITLE_WORD = 4
"""Minimum length (characters) of a word of the page's title that is compared with texts."""
MIN_TITLE_TEXT, MAX_TITLE_TEXT = 20, 240
"""Minimum and maximum length (characters) of a text that is compared with the page's title."""

_OF_HEADING = 9
"""Number of columns for one heading above a text."""
COLUMNS = 1 + 2 * _OF_HEADING + 7
TERM_COLUMNS = (0, *(1 + n * _OF_HEADING + column for n in range(2) for column in range(3)))
"""Columns that depend on words of some languages."""
TITLE_COLUMNS = (*(1 + n * _OF_HEADING + 5 for n in range(2)), COLUMNS - 1)
"""Columns that compare a text with the title that the page declares."""

_LEVELS = np.array([int(tag[1]) if tag in HEADINGS else 0 for tag in DIVIDING_TAGS])
"""The rank of each tag as a heading; 0 for others."""


def surroundings(page: Walk, stats: SegmentStats, chars: Matrix, good: Matrix, title: str) -> Matrix:
    """Compute the columns. Shape (segments, COLUMNS).

    `chars`: characters in and below each element. `good`: the same, only of long texts with few links.
    `title`: the title that the page declares.
    """
    link_share = np.minimum(stats.counts[:, 1] / np.maximum(stats.counts[:, 0], 1), 1)
    columns = [
        *_headings_above(page, stats, link_share),
        *_distance_from_title(stats, chars, good),
        _words_in_common(page, title),
    ]
    return np.stack(columns, axis=1, dtype=np.float32, casting="unsafe")


def _has(stats: SegmentStats, flag: str) -> NDArray[np.bool_]:
    return (stats.flags & FLAGS[flag]) > 0


def _headings_above(page: Walk, stats: SegmentStats, link_share: Matrix) -> Iterator[Matrix]:
    """Describe the nearest heading above each text, and the next heading of a higher rank above that heading."""
    levels = _LEVELS[stats.tags[stats.elements]]
    teaser = np.zeros(len(levels), np.float32)
    nearest_of, upper_of = list[int](), list[int]()
    open_headings: list[tuple[int, int]] = [(0, -1), (0, -1)]
    for index, level in enumerate(levels.tolist()):
        while level and open_headings[-1][0] >= level:
            open_headings.pop()
        nearest_of.append(open_headings[-1][1])
        upper_of.append(open_headings[-2][1])
        if level:
            open_headings.append((level, index))
            teaser[index] = _teaser_share(page.segments[index].text)
    nearest, upper = np.array([nearest_of, upper_of], np.int64)
    yield teaser
    flags = [_has(stats, flag) for flag in ("boilerplate", "control", "title")]
    for heading in (nearest, upper):
        exists, at = heading >= 0, np.maximum(heading, 0)
        yield from (column[at] * exists for column in (teaser, flags[0], flags[1]))
        yield exists
        yield from (column[at] * exists for column in (link_share, flags[2], levels * 0.2))
        yield np.log1p(stats.counts[at, 0]) * exists * 0.2
        yield np.log1p(np.arange(len(levels)) - at) * exists * 0.2


def _teaser_share(heading: str) -> float:
    """Return the share of TEASER_WORDS in a short heading."""
    words = heading.lower().strip(" :").split()
    return sum(word in TEASER_WORDS for word in words) / len(words) if 0 < len(words) <= MAX_HEADING_WORDS else 0.0


def _distance_from_title(stats: SegmentStats, chars: Matrix, good: Matrix) -> Iterator[Matrix]:
    """Describe the smallest element around each text and the page's title: its share of the page, and its distance."""
    title = _title_segment(stats)
    exists = float(title >= 0)
    joint, below, above = _joint_elements(stats, int(stats.elements[title]) if title >= 0 else 0)
    around = joint[stats.elements]
    yield np.full(len(around), exists, np.float32)
    yield chars[around] / max(float(chars[0]), 1.0) * exists
    yield good[around] / max(float(good[0]), 1.0) * exists
    yield np.minimum(below[stats.elements], 12) * exists * 0.08
    yield np.minimum(above[around], 12) * exists * 0.08
    yield (np.arange(len(around)) > title) * exists


def _title_segment(stats: SegmentStats) -> int:
    """Return the first `h1` in the title, else the first other heading in it, else the first `h1`, else -1."""
    main, heading, titled = (_has(stats, flag) for flag in ("h1", "heading", "title"))
    for choice in (main & titled, heading & titled, main):
        if choice.any():
            return int(choice.argmax())
    return -1


def _joint_elements(stats: SegmentStats, target: int) -> tuple[Indices, Indices, Indices]:
    """Return the joint element of each element and `target`, and its distances.

    The joint element is the innermost one around both. The distances are the levels from it down to the element, and,
    for each element around `target`, the levels down to `target`.
    """
    path, depth = [target], depths(stats.ends)
    while path[-1] > 0:
        path.append(int(stats.parents[path[-1]]))
    above = np.zeros(len(depth), np.int64)
    above[path] = np.arange(len(path))
    inwards = path[::-1]
    borders = np.concatenate([inwards, stats.ends[path]])  # where the path's elements begin, then where they end
    joint = np.repeat(np.array([*inwards, *path[1:]], np.int64), np.diff(borders))
    return joint, depth - depth[joint], above


def _words_in_common(page: Walk, title: str) -> Matrix:
    """Return the share of the title's long words that are in each text."""
    shares = np.zeros(len(page.segments), np.float32)
    words = {word for word in title.lower().split() if len(word) >= MIN_TITLE_WORD}
    if words:
        for index, segment in enumerate(page.segments):
            if MIN_TITLE_TEXT <= len(segment.text) <= MAX_TITLE_TEXT:
                found = segment.text.lower().split()
                if not words.isdisjoint(found):
                    shares[index] = len(words.intersection(found)) / len(words)
    return shares
