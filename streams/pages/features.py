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

from streams.pages.lexicon import BITS, ELEMENT_GROUPS, WORD_GROUPS
from streams.pages.measures import word_mask
from streams.pages.walk import Measured, Walk

Matrix = NDArray[np.float32]

_LEVELS = (0, 1, 2, 3, 5, 7)
_TAGS = tuple("p li td th div pre dd dt button section article body h1 h2 h3 h4 other".split())  # noqa: SIM905
_TAG_NUMBERS = {tag: number for number, tag in enumerate(_TAGS[:-1])}
_ONE_HOT = np.eye(len(_TAGS), dtype=np.float32)
_OTHER_TAG = len(_TAGS) - 1
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


def features(page: Walk, of: Measured, kinds: Iterable[str] = (), names: str = "") -> Matrix:
    """Shape (segments, features), float32.

    `of`: what was counted on the page; `kinds`: the types that its metadata names; `names`: the classes of its body.
    """
    count = len(page.segments)
    elements, parents = of.elements, of.parents
    text, length = _text_features(page, of)
    chars, link_share, heading = text[:, 0], text[:, 2], text[:, 5]
    good = np.where((length > 80) & (link_share < 0.3), length, 0).astype(np.float32)

    sums = _subtree_sums(
        page.parents, elements, np.stack([length, length * link_share, good, np.ones_like(length)], axis=1)
    )
    total = np.maximum(sums[0], 1.0)
    near, inherited, depth = _masks_of(page, of, sums)

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
    whole = _page_features(page, sums[0], count, good, text, kinds, names)
    columns = [
        text,
        near,
        inherited,
        *around,
        np.stack(position, axis=1),
        _window(basis[:, [0, 1, 6]], 3),
        _window(basis[:, [0, 1, 6]], 10),
        *_shifted(basis[:, :6]),
        _group_features(of.groups, length, link_share),
        np.broadcast_to(whole, (count, len(whole))),
    ]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _text_features(page: Walk, of: Measured) -> tuple[Matrix, Matrix]:
    """What each text is like, and its length. Columns: five measures, flags, then the kind of its element."""
    numbers = np.array([_TAG_NUMBERS.get(tag, _OTHER_TAG) for tag in page.tags], np.int64)
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
        [np.stack(made, axis=1), unpacked, rest, _ONE_HOT[numbers[of.elements]]], axis=1, dtype=np.float32
    ), length


def _subtree_sums(parents: list[int], elements: NDArray[np.int32], values: Matrix) -> Matrix:
    """Per element, the sums of `values` over the segments in it and below it. Shape (elements, 4)."""
    # Elements are numbered in document order, so what is below one is the run of numbers behind it.
    sizes = [1] * len(parents)
    for index in range(len(parents) - 1, 0, -1):
        sizes[parents[index]] += sizes[index]
    running = np.zeros((len(parents) + 1, values.shape[1]))
    for column in range(values.shape[1]):
        np.cumsum(np.bincount(elements, values[:, column], len(parents)), out=running[1:, column])
    at = np.arange(len(parents))
    sums: Matrix = (running[at + np.array(sizes)] - running[at]).astype(np.float32)
    return sums


def _masks_of(page: Walk, of: Measured, sums: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Groups of the three nearest elements, groups of any element around, and the depth; all per segment.

    An element around nearly the whole page says nothing of a part of it (`class="with-sidebar"`).
    """
    held = sums[:, 0]
    own = np.where((held > 0) & (held <= held[0] * 0.75), of.masks, np.uint64(0))
    own[0] = 0
    inherited, depths = [0], [0]
    for mask, parent in zip(own.tolist()[1:], page.parents[1:], strict=True):
        inherited.append(mask | inherited[parent])
        depths.append(depths[parent] + 1)
    above = np.maximum(of.parents, 0)
    at = of.elements
    first, second = above[at], above[above[at]]
    return (
        _unpacked(own[at] | own[first] | own[second]),
        _unpacked(np.array(inherited, np.uint64)[at]),
        np.array(depths, np.float32)[at],
    )


def _unpacked(masks: NDArray[np.uint64]) -> Matrix:
    bits = np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return bits[:, :BITS].astype(np.float32)


def _window(values: Matrix, reach: int) -> Matrix:
    """The mean over the segments at most `reach` away."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])
    at = np.arange(len(values))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    means: Matrix = ((sums[high] - sums[low]) / (high - low)[:, None]).astype(np.float32)
    return means


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


def _page_features(
    page: Walk, total: Matrix, count: int, good: Matrix, text: Matrix, kinds: Iterable[str], names: str
) -> Matrix:
    tags = Counter(page.tags)
    chars = max(float(total[0]), 1.0)
    named = [0.0] * len(PAGE_KINDS)
    for kind in kinds:
        if (number := _KIND_NUMBERS.get(kind.lower())) is not None:
            named[number] = 1.0
    mask = word_mask(names) >> len(ELEMENT_GROUPS)
    return np.array(
        [
            math.log1p(chars) * 0.1,
            math.log1p(count) * 0.2,
            float(total[1]) / chars,
            float(total[2]) / chars,
            math.log1p(float(np.count_nonzero(good))) * 0.2,
            float("main" in tags),
            min(tags["article"], 10) * 0.1,
            min(tags["h1"], 4) * 0.25,
            min(tags["table"], 5) * 0.2,
            min(tags["form"], 5) * 0.2,
            min(tags["pre"], 5) * 0.2,
            math.log1p(tags["li"]) * 0.2,
            math.log1p(tags["p"]) * 0.2,
            *text[:, 14:19].mean(axis=0).tolist(),
            *named,
            *((mask >> bit) & 1 for bit in range(len(WORD_GROUPS))),
        ],
        np.float32,
    )
