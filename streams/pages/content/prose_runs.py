"""Runs of prose: several long paragraphs with few links that have one parent. Mostly they are an article. Pure."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.segment_stats import SegmentStats
from streams.pages.parse.head import Head

MIN_WORDS = 40
"""Minimum words of a paragraph in a run of prose."""
MIN_PARAGRAPHS = 5
MAX_LINK_SHARE = 0.3
"""Maximum share of the characters of such a paragraph that are in links: a teaser has more."""
CHARS, LINK_CHARS = 0, 1
"""The columns of `SegmentStats.counts` with all characters, and with those in links."""
MAX_KEPT_SHARE = 0.3
"""Maximum share of a run that is kept where the run counts as dropped."""
MAIN_RUN_SHARE = 0.8
"""Minimum share of one run in the words of all runs of the page that makes it the page's text: nothing of it is
dropped."""
MIN_MAIN_RUN = 0.5
"""Minimum size of the page's text, as a share of all that is kept."""
LARGE_RUN = 0.5
"""Minimum size of the run that is chosen, as a share of the largest run that was lost."""
MIN_BESIDE_WORDS = 25
"""Minimum words of a paragraph that is kept because its parent has most of the page's text."""
MIN_BESIDE_PROBABILITY = 0.1
"""Minimum probability of such a paragraph. The content model gives less to notes and to requests to subscribe."""
MIN_PARENT_SHARE = 0.5
"""Minimum share of one parent's texts in all that is kept that makes its paragraphs the page's text."""
MIN_ALIKE_WORDS = 10
"""Minimum words of a paragraph that is kept because most paragraphs of its kind are."""
MIN_ALIKE_SHARE = 0.7
"""Minimum share of kept words in the paragraphs of a kind."""
MIN_ALIKE = 2
"""Minimum frames of a kind of paragraphs."""
MIN_FRAMES_SHARE = 0.8
"""Minimum share of frames in the paragraphs of a kind: each post has one, the paragraphs of an article share one."""
MIN_THREAD_SHARE = 0.6
"""Minimum share of the posts in all that is kept of a thread."""
MIN_INSIDE_PROBABILITY = 0.35
"""Minimum probability of a paragraph that is kept because the text around it is."""
MIN_ALIKE_PROBABILITY = 0.2
"""Minimum probability of a paragraph that is kept because most paragraphs of its kind are."""
_ARTICLES = ("article", "posting")
"""The ends of schema.org's and OpenGraph's names of articles: `NewsArticle`, `BlogPosting`, `article`."""
_OF_ANY_PAGE_TEXT = """
    breadcrumblist contactpoint corporation entrypoint imageobject listitem organization page person postaladdress
    propertyvaluespecification readaction searchaction sitenavigationelement thing webpage website wpfooter wpheader
    wpsidebar
"""
_OF_ANY_PAGE = frozenset(_OF_ANY_PAGE_TEXT.split())
"""Kinds that pages of all types declare: parts of a page, its publisher, and the kinds that content management systems
write where nobody chose one."""


def prose_runs(stats: SegmentStats) -> Iterator[NDArray[np.int64]]:
    """Yield the segments of each run, in the order of the page."""
    has_few_links = stats.counts[:, LINK_CHARS] <= MAX_LINK_SHARE * stats.counts[:, CHARS]
    found = np.flatnonzero((stats.words >= MIN_WORDS) & has_few_links)
    parents = stats.parents[stats.elements[found]]
    order = np.argsort(parents, kind="stable")
    runs = np.split(found[order], np.flatnonzero(np.diff(parents[order])) + 1)
    yield from sorted((run for run in runs if len(run) >= MIN_PARAGRAPHS), key=lambda run: int(run[0]))


def choose_lost_run(stats: SegmentStats, kept: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the run that is an article, and of which too much is dropped; None if there is no such run."""
    words = stats.words
    runs = list(prose_runs(stats))
    sizes = [float(words[run].sum()) for run in runs]
    all_kept = float(words[kept].sum())

    def is_lost(run: NDArray[np.int64], size: float) -> bool:
        own_kept = float(words[np.intersect1d(run, kept)].sum())
        is_dropped = own_kept <= MAX_KEPT_SHARE * size and size >= all_kept
        return is_dropped or (size >= MAIN_RUN_SHARE * sum(sizes) and size >= MIN_MAIN_RUN * all_kept)

    lost = [(run, size) for run, size in zip(runs, sizes, strict=True) if is_lost(run, size)]
    largest = max((size for _, size in lost), default=0.0)
    return next((run for run, size in lost if size >= LARGE_RUN * largest), None)


def find_paragraphs_beside(
    stats: SegmentStats, scores: NDArray[np.float32], kept: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the paragraphs with few links whose parent has most of the text that is kept."""
    parents = np.maximum(stats.parents[stats.elements], 0)
    sizes = np.bincount(parents[kept], stats.words[kept])
    if not len(kept) or sizes.max() < MIN_PARENT_SHARE * float(stats.words[kept].sum()):
        return kept[:0]
    has_few_links = stats.counts[:, LINK_CHARS] <= MAX_LINK_SHARE * stats.counts[:, CHARS]
    is_paragraph = (stats.words >= MIN_BESIDE_WORDS) & has_few_links & (scores >= MIN_BESIDE_PROBABILITY)
    return np.flatnonzero(is_paragraph & (parents == sizes.argmax()))


def is_article(head: Head) -> bool:
    """Return False if the page declares a kind that not all pages have, and none of its kinds is an article's."""
    kinds = [kind.lower() for kind in head.kinds]
    return _OF_ANY_PAGE.issuperset(kinds) or any(kind.endswith(_ARTICLES) for kind in kinds)


def find_paragraphs_alike(
    stats: SegmentStats, scores: NDArray[np.float32], kept: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return doubtful paragraphs that are written as most of a page's kept text: each post of a thread in its frame.

    A paragraph is also written as the kept text around it, as in `<div>text<p>text</div>`.
    """
    words, groups = stats.words.astype(np.float64), stats.groups
    is_kept = np.zeros(len(words), np.bool_)
    is_kept[kept] = True
    parents = np.maximum(stats.parents[stats.elements], 0)
    size, held = np.bincount(groups, words), np.bincount(groups, words * is_kept)
    count = len(stats.parents)
    frames = np.bincount(np.unique(groups * count + parents) // count, minlength=len(size))
    is_thread = (held >= MIN_ALIKE_SHARE * size) & (held >= MIN_THREAD_SHARE * held.sum())
    is_thread &= (frames >= MIN_ALIKE) & (frames >= MIN_FRAMES_SHARE * np.bincount(groups))
    has_kept_text = np.zeros(len(stats.parents), np.bool_)
    has_kept_text[stats.elements[kept]] = True
    is_inside = has_kept_text[parents] & (parents > 0) & (scores >= MIN_INSIDE_PROBABILITY)
    has_few_links = stats.counts[:, LINK_CHARS] <= MAX_LINK_SHARE * stats.counts[:, CHARS]
    is_prose = (stats.words >= MIN_ALIKE_WORDS) & has_few_links & (scores >= MIN_ALIKE_PROBABILITY)
    return np.flatnonzero(is_prose & ~is_kept & (is_thread[groups] | is_inside))
