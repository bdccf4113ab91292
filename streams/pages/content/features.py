"""The input of the content model: a row of numbers for each segment.

Three sources: the text itself, the elements around it (their tags, classes, amounts of text and links), and the page as
a whole. Hosts and URLs are never used. numpy computes all segments at once.
"""

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from streams.pages.content import surroundings
from streams.pages.content.lexicon import BITS, ELEMENT_GROUPS, WORD_GROUPS
from streams.pages.content.segment_stats import SegmentStats, word_mask
from streams.pages.content.tree_sums import depths, window_means
from streams.pages.parse.elements import DIVIDING_TAGS
from streams.pages.parse.segments import Walk

Matrix = NDArray[np.float32]

_LEVELS = (0, 1, 2, 3, 5, 7)
_TAGS = tuple("p li td th div pre dd dt button section article body h1 h2 h3 h4 other".split())  # noqa: SIM905
_TAG_NUMBERS = {tag: number for number, tag in enumerate(_TAGS[:-1])}
_ONE_HOT = np.eye(len(_TAGS), dtype=np.float32)
_OTHER_TAG = len(_TAGS) - 1
_NUMBERS_OF_TAGS = np.array([_TAG_NUMBERS.get(tag, _OTHER_TAG) for tag in DIVIDING_TAGS], np.int32)
WIDE_SHARE = 0.75
"""Maximum share of the page's text in an element with a class that describes its parts."""
_SHIFTS = (-3, -2, -1, 1, 2, 3)

PAGE_KINDS = (
    "article newsarticle blogposting techarticle reportagenewsarticle",
    "product productgroup offer",
    "qapage discussionforumposting question",
    "collectionpage itemlist",
    "faqpage howto recipe",
    "webpage aboutpage contactpage",
    "organization localbusiness service professionalservice",
    "website",
)
"""Types of pages in structured data and OpenGraph, by column."""
_KIND_NUMBERS = {word: number for number, words in enumerate(PAGE_KINDS) for word in words.split()}
WHOLE = 13 + 5 + len(PAGE_KINDS) + len(WORD_GROUPS)
"""Number of the last columns. They describe the whole page."""
TEXT_COLUMNS = 5 + 16 + 3 + len(_TAGS)
"""Number of the first columns. They describe the text. The columns of the elements around it follow."""
SURROUNDINGS = -(WHOLE + surroundings.COLUMNS)
"""Number of the first column of `surroundings`, counted from the end."""
COLUMNS = TEXT_COLUMNS + 2 * BITS + 5 * len(_LEVELS) + 8 + 6 + 6 * len(_SHIFTS) + 3 + surroundings.COLUMNS + WHOLE


def features(
    page: Walk, stats: SegmentStats, kinds: Iterable[str] = (), body_class: str = "", title: str = ""
) -> Matrix:
    """Compute the model's input. Shape (segments, COLUMNS).

    `kinds`: the page types that the metadata names. `body_class`: the class attribute of the body. `title`: the title
    that the page declares.
    """
    tags = _NUMBERS_OF_TAGS[stats.tags]
    matrix, sums, below = _segment_features(stats, tags)
    around = surroundings.surroundings(page, stats, chars=below[:, 0], good=below[:, 2], title=title)
    matrix[:, SURROUNDINGS : COLUMNS - WHOLE] = around
    matrix[:, COLUMNS - WHOLE :] = _page_features(page, sums, kinds, body_class)
    return matrix


def _segment_features(stats: SegmentStats, tags: NDArray[np.int32]) -> tuple[Matrix, list[float], Matrix]:
    """Compute all columns except `surroundings` and the whole page's, and the sums that these two need.

    The sums of the page: characters, characters in links, characters in long texts with few links, number of such
    texts, and the shares of segments with flags 9 to 13. The sums of each element and all below it: the first three,
    and the number of its segments.
    """
    count = len(stats.elements)
    elements, parents = stats.elements, stats.parents
    text, length = _text_features(stats, tags)
    chars, link_share, heading = text[:, 0], text[:, 2], text[:, 5]
    good = np.where((length > 80) & (link_share < 0.3), length, 0).astype(np.float32)

    sums = _sums_below(stats, np.stack([length, length * link_share, good, np.ones_like(length)], axis=1))
    total = np.maximum(sums[0], 1.0)
    near, inherited, depth = _masks_of(stats, sums)

    shares = np.stack(
        [
            np.log1p(sums[:, 0]) * 0.2,
            sums[:, 1] / np.maximum(sums[:, 0], 1.0),
            sums[:, 2] / np.maximum(sums[:, 0], 1.0),
            sums[:, 2] / total[2],
            np.log1p(sums[:, 3]) * 0.3,
        ],
        axis=1,
    ).astype(np.float32)
    around: list[Matrix] = []
    at = elements
    for level in range(_LEVELS[-1] + 1):
        if level in _LEVELS:
            around.append(shares[at])
        at = np.maximum(parents[at], 0)

    number = np.arange(count, dtype=np.float32)
    before = np.cumsum(length) - length
    good_before = np.cumsum(good) - good
    titles = np.flatnonzero(text[:, 6])
    first_title = float(titles[0]) if len(titles) else -1.0
    position = [
        number / max(count, 1),
        before / total[0],
        good_before / total[2],
        good_before > 0,
        good_before + good >= total[2],
        number >= first_title if first_title >= 0 else np.full(count, 0.5, np.float32),
        np.clip((number - first_title) / 30.0, -1, 1) if first_title >= 0 else np.zeros(count, np.float32),
        depth * 0.05,
    ]
    basis = np.stack([chars, link_share, heading, good > 0, text[:, 7], text[:, 8], good * 0.003], axis=1).astype(
        np.float32
    )
    matrix = np.empty((count, COLUMNS), np.float32)
    column = 0
    for part in (
        text,
        near,
        inherited,
        *around,
        np.stack(position, axis=1),
        window_means(basis[:, [0, 1, 6]], 3),
        window_means(basis[:, [0, 1, 6]], 10),
        *_shift_rows(basis[:, :6]),
        _group_features(stats.groups, length, link_share),
    ):
        matrix[:, column : column + part.shape[1]] = part
        column += part.shape[1]
    counted = [*sums[0, :3].tolist(), float(np.count_nonzero(good))]
    return matrix, counted + text[:, 14:19].mean(axis=0).tolist(), sums


def _text_features(stats: SegmentStats, tags: NDArray[np.int32]) -> tuple[Matrix, Matrix]:
    """Describe each text. Returns the columns (five measures, flags, tag of the element), and the lengths."""
    length, counted = stats.counts[:, 0], stats.counts[:, 1:]
    counts = counted[:, 1]
    made = [
        np.log1p(length) * 0.2,
        np.minimum(length, 400) / 400,
        np.minimum(counted[:, 0] / length, 1.0),
        np.where(counts > 1, np.minimum(length / counts, 15) * 0.1, 0.5),
        np.minimum(counts, 4) * 0.25,
    ]
    unpacked = np.unpackbits(stats.flags.view(np.uint8).reshape(-1, 2), axis=1, bitorder="little")
    rest = np.minimum(counted[:, 2:], 10) * 0.1
    return np.concatenate(
        [np.stack(made, axis=1), unpacked, rest, _ONE_HOT[tags[stats.elements]]], axis=1, dtype=np.float32
    ), length


def _sums_below(stats: SegmentStats, values: Matrix) -> Matrix:
    """Sum `values` over the segments in each element and below it. Shape (elements, columns)."""
    count = len(stats.parents)
    running = np.zeros((count + 1, values.shape[1]))
    for column in range(values.shape[1]):
        np.cumsum(np.bincount(stats.elements, values[:, column], count), out=running[1:, column])
    sums: Matrix = (running[stats.ends] - running[:-1]).astype(np.float32)
    return sums


def _masks_of(stats: SegmentStats, sums: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the word groups of each segment's three nearest elements, of all elements around it, and its depth.

    Elements around nearly the whole page are left out: their class (`with-sidebar`) describes no part of it.
    """
    held = sums[:, 0]
    own = np.where((held > 0) & (held <= np.float32(float(held[0]) * WIDE_SHARE)), stats.masks, np.uint64(0))
    own[0] = 0
    inherited = [0]
    for mask, parent in zip(own.tolist()[1:], stats.parents.tolist()[1:], strict=True):
        inherited.append(mask | inherited[parent])
    above, at = np.maximum(stats.parents, 0), stats.elements
    first = above[at]
    return (
        _unpack_masks(own[at] | own[first] | own[above[first]]),
        _unpack_masks(np.array(inherited, np.uint64)[at]),
        depths(stats.ends).astype(np.float32)[at],
    )


def _unpack_masks(masks: NDArray[np.uint64]) -> Matrix:
    bits = np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return bits[:, :BITS].astype(np.float32)


def _shift_rows(values: Matrix) -> list[Matrix]:
    """Return the rows before and after each row; zeros beyond the ends."""
    reach = max(_SHIFTS)
    padded = np.zeros((len(values) + 2 * reach, values.shape[1]), np.float32)
    padded[reach : reach + len(values)] = values
    return [padded[reach + by : reach + by + len(values)] for by in _SHIFTS]


def _group_features(group: NDArray[np.int64], length: Matrix, link_share: Matrix) -> Matrix:
    """Return the number, mean length and mean share of links of the segments in similar elements."""
    size = np.maximum(np.bincount(group), 1).astype(np.float32)
    mean_length = np.bincount(group, length) / size
    mean_links = np.bincount(group, link_share) / size
    made: Matrix = np.stack([np.log1p(size) * 0.3, np.log1p(mean_length) * 0.2, mean_links], axis=1)[group]
    return made.astype(np.float32)


def _page_features(page: Walk, sums: list[float], kinds: Iterable[str], body_class: str) -> Matrix:
    tags = Counter(page.tags)
    held, linked, good, good_texts, *flagged = sums
    chars = max(held, 1.0)
    named = [0.0] * len(PAGE_KINDS)
    for kind in kinds:
        if (number := _KIND_NUMBERS.get(kind.lower())) is not None:
            named[number] = 1.0
    mask = word_mask(body_class) >> len(ELEMENT_GROUPS)
    return np.array(
        [
            math.log1p(chars) * 0.1,
            math.log1p(len(page.segments)) * 0.2,
            linked / chars,
            good / chars,
            math.log1p(good_texts) * 0.2,
            float("main" in tags),
            min(tags["article"], 10) * 0.1,
            min(tags["h1"], 4) * 0.25,
            min(tags["table"], 5) * 0.2,
            min(tags["form"], 5) * 0.2,
            min(tags["pre"], 5) * 0.2,
            math.log1p(tags["li"]) * 0.2,
            math.log1p(tags["p"]) * 0.2,
            *flagged,
            *named,
            *((mask >> bit) & 1 for bit in range(len(WORD_GROUPS))),
        ],
        np.float32,
    )
