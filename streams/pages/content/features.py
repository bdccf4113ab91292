"""What is known of each segment, as numbers: the input of the content model. Texts and markup alone; never a host or
URL.

Three sources: the text itself, the elements around it (what they are, what their classes say, how much text and how
many links they hold), and the page as a whole. Everything is computed for all segments at once where numpy can.
"""

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.lexicon import BITS, ELEMENT_GROUPS, WORD_GROUPS
from streams.pages.content.segment_stats import SegmentStats, word_mask
from streams.pages.content.tree_sums import subtree_sums, window_means
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
"""Of the page's text: an element that holds more says nothing of its parts."""
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
"""Words that structured data and OpenGraph use for what a page is."""
_KIND_NUMBERS = {word: number for number, words in enumerate(PAGE_KINDS) for word in words.split()}
WHOLE = 13 + 5 + len(PAGE_KINDS) + len(WORD_GROUPS)
"""Columns of the whole page, the last ones."""
TEXT_COLUMNS = 5 + 16 + 3 + len(_TAGS)
"""Columns of what each text is like, the first ones; those of the elements around it follow."""
COLUMNS = TEXT_COLUMNS + 2 * BITS + 5 * len(_LEVELS) + 8 + 6 + 6 * len(_SHIFTS) + 3 + WHOLE


def features(page: Walk, of: SegmentStats, kinds: Iterable[str] = (), names: str = "") -> Matrix:
    """Shape (segments, features), float32.

    `of`: what was counted on the page; `kinds`: the types that its metadata names; `names`: the classes of its body.
    """
    tags = _NUMBERS_OF_TAGS[of.tags]
    matrix, sums = _segment_features(of, tags)
    matrix[:, COLUMNS - WHOLE :] = _page_features(page, sums, kinds, names)
    return matrix


def _segment_features(of: SegmentStats, tags: NDArray[np.int32]) -> tuple[Matrix, list[float]]:
    """The matrix without its last columns, which are the whole page's, and the sums that these are made of: characters,
    in links, in good texts; how many good texts; the shares of segments that have flags 9 to 13."""
    count = len(of.elements)
    elements, parents = of.elements, of.parents
    text, length = _text_features(of, tags)
    chars, link_share, heading = text[:, 0], text[:, 2], text[:, 5]
    good = np.where((length > 80) & (link_share < 0.3), length, 0).astype(np.float32)

    sums = _sums_below(of, np.stack([length, length * link_share, good, np.ones_like(length)], axis=1))
    total = np.maximum(sums[0], 1.0)
    near, inherited, depth = _masks_of(of, sums)

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
    around = []
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
    matrix[:, : COLUMNS - WHOLE] = np.concatenate(
        [
            text,
            near,
            inherited,
            *around,
            np.stack(position, axis=1),
            window_means(basis[:, [0, 1, 6]], 3),
            window_means(basis[:, [0, 1, 6]], 10),
            *_shifted(basis[:, :6]),
            _group_features(of.groups, length, link_share),
        ],
        axis=1,
    )
    counted = [*sums[0, :3].tolist(), float(np.count_nonzero(good))]
    return matrix, counted + text[:, 14:19].mean(axis=0).tolist()


def _text_features(of: SegmentStats, tags: NDArray[np.int32]) -> tuple[Matrix, Matrix]:
    """What each text is like, and its length. Columns: five measures, flags, then the kind of its element."""
    length, counted = of.counts[:, 0], of.counts[:, 1:]
    counts = counted[:, 1]
    made = [
        np.log1p(length) * 0.2,
        np.minimum(length, 400) / 400,
        np.minimum(counted[:, 0] / length, 1.0),
        np.where(counts > 1, np.minimum(length / counts, 15) * 0.1, 0.5),
        np.minimum(counts, 4) * 0.25,
    ]
    unpacked = np.unpackbits(of.flags.view(np.uint8).reshape(-1, 2), axis=1, bitorder="little")
    rest = np.minimum(counted[:, 2:], 10) * 0.1
    return np.concatenate(
        [np.stack(made, axis=1), unpacked, rest, _ONE_HOT[tags[of.elements]]], axis=1, dtype=np.float32
    ), length


def _sums_below(of: SegmentStats, values: Matrix) -> Matrix:
    """Per element, the sums of `values` over the segments in it and below it. Shape (elements, columns)."""
    # Elements are numbered in document order, so what is below one is the run of numbers behind it.
    count = len(of.parents)
    sizes = subtree_sums(of.parents, np.ones(count)).astype(np.int64)
    running = np.zeros((count + 1, values.shape[1]))
    for column in range(values.shape[1]):
        np.cumsum(np.bincount(of.elements, values[:, column], count), out=running[1:, column])
    at = np.arange(count)
    sums: Matrix = (running[at + sizes] - running[at]).astype(np.float32)
    return sums


def _masks_of(of: SegmentStats, sums: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Groups of the three nearest elements, groups of any element around, and the depth; all per segment.

    An element around nearly the whole page says nothing of a part of it (`class="with-sidebar"`).
    """
    held = sums[:, 0]
    own = np.where((held > 0) & (held <= np.float32(float(held[0]) * WIDE_SHARE)), of.masks, np.uint64(0))
    own[0] = 0
    inherited, depths = [0], [0]
    for mask, parent in zip(own.tolist()[1:], of.parents.tolist()[1:], strict=True):
        inherited.append(mask | inherited[parent])
        depths.append(depths[parent] + 1)
    above, at = np.maximum(of.parents, 0), of.elements
    first = above[at]
    return (
        _unpacked(own[at] | own[first] | own[above[first]]),
        _unpacked(np.array(inherited, np.uint64)[at]),
        np.array(depths, np.float32)[at],
    )


def _unpacked(masks: NDArray[np.uint64]) -> Matrix:
    bits = np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return bits[:, :BITS].astype(np.float32)


def _shifted(values: Matrix) -> list[Matrix]:
    """The rows before and behind each row; zeros beyond the ends."""
    reach = max(_SHIFTS)
    padded = np.zeros((len(values) + 2 * reach, values.shape[1]), np.float32)
    padded[reach : reach + len(values)] = values
    return [padded[reach + by : reach + by + len(values)] for by in _SHIFTS]


def _group_features(group: NDArray[np.int64], length: Matrix, link_share: Matrix) -> Matrix:
    """Of the segments in elements alike: how many, how long, how linked."""
    size = np.maximum(np.bincount(group), 1).astype(np.float32)
    mean_length = np.bincount(group, length) / size
    mean_links = np.bincount(group, link_share) / size
    made: Matrix = np.stack([np.log1p(size) * 0.3, np.log1p(mean_length) * 0.2, mean_links], axis=1)[group]
    return made.astype(np.float32)


def _page_features(page: Walk, sums: list[float], kinds: Iterable[str], names: str) -> Matrix:
    tags = Counter(page.tags)
    held, linked, good, good_texts, *flagged = sums
    chars = max(held, 1.0)
    named = [0.0] * len(PAGE_KINDS)
    for kind in kinds:
        if (number := _KIND_NUMBERS.get(kind.lower())) is not None:
            named[number] = 1.0
    mask = word_mask(names) >> len(ELEMENT_GROUPS)
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
