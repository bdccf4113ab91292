"""Runs of prose: several long paragraphs without links that have one parent. Mostly they are an article. Pure."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.segment_stats import SegmentStats
from streams.pages.parse.head import Head

MIN_WORDS = 40
"""Minimum words of a paragraph in a run of prose."""
MIN_PARAGRAPHS = 5
LINKS = 5
"""The column of `SegmentStats.counts` with the number of links."""
_ARTICLES = ("article", "posting")
"""The ends of schema.org's and OpenGraph's names of articles: `NewsArticle`, `BlogPosting`, `article`."""


def prose_runs(stats: SegmentStats) -> Iterator[NDArray[np.int64]]:
    """Yield the segments of each run, in the order of the page."""
    found = np.flatnonzero((stats.words >= MIN_WORDS) & (stats.counts[:, LINKS] == 0))
    parents = stats.parents[stats.elements[found]]
    order = np.argsort(parents, kind="stable")
    runs = np.split(found[order], np.flatnonzero(np.diff(parents[order])) + 1)
    yield from sorted((run for run in runs if len(run) >= MIN_PARAGRAPHS), key=lambda run: int(run[0]))


def is_article(head: Head) -> bool:
    """Return False if the page declares kinds, and none of them is an article's."""
    return not head.kinds or any(kind.lower().endswith(_ARTICLES) for kind in head.kinds)
