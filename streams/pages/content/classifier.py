"""The content model: the probability that each segment is main content.

The model is a small network over `features`. Between its two layers it takes means of the first layer: over the page,
the siblings, the section, the segments in similar elements, and two windows of neighbours. So a list of teasers is
judged as a list, and a forum page as a forum page. `benchmarks/documents/content_model.py` trains the weights, and
measures them on held-out pages.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from streams.pages.content import tree_sums
from streams.pages.content.features import Matrix
from streams.pages.content.segment_stats import SegmentStats

Indices = NDArray[np.int64]
WEIGHTS_FILE = Path(__file__).with_name("content_model.json")
REACHES = (2, 8)
"""Sizes of the two windows: segments to either side."""
SECTION_SHARE = 0.4
"""Maximum share of the page's text in a section: a section is the widest element below it."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The groups of segments that get means, and the weight of each segment in a mean."""

    groups: tuple[Indices, Indices, Indices]
    """The number of each segment's group: of siblings, of sections, of similar elements."""
    weights: Matrix
    """Shape (segments, 1)."""


def group_neighbours(stats: SegmentStats) -> Neighbours:
    elements, words = stats.elements, stats.words
    parents = np.maximum(stats.parents, 0).astype(np.int64)
    words_below = tree_sums.subtree_sums(stats.ends, np.bincount(elements, words, len(parents)).astype(np.float64))
    section = tree_sums.sections(stats.parents, words_below, SECTION_SHARE * max(float(words_below[0]), 1.0))
    return Neighbours(
        (parents[parents[elements]], section[elements], stats.groups), np.log1p(words)[:, None] + np.float32(0.1)
    )


@dataclass(frozen=True, slots=True)
class ContentModel:
    """The network: two layers with the means between them."""

    first: Matrix
    first_bias: Matrix
    second: Matrix
    second_bias: Matrix
    last: Matrix
    last_bias: Matrix

    @classmethod
    def load(cls, path: Path = WEIGHTS_FILE) -> Self:
        """Read the weights from a file."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{name: np.array(stored[name], np.float32) for name in cls.__slots__})

    def probabilities(self, features: Matrix, near: Neighbours) -> Matrix:
        """Return the probability of each segment. Shape (segments,)."""
        hidden = np.maximum(features @ self.first + self.first_bias, 0)
        means = tree_sums.apply_to_means(self.second, hidden, near.weights, near.groups, REACHES)
        second = np.maximum(means + self.second_bias, 0)
        scores = (second @ self.last + self.last_bias)[:, 0]
        probabilities: Matrix = (1.0 / (1.0 + np.exp(-np.clip(scores, -30, 30)))).astype(np.float32)
        return probabilities


@cache
def content_model() -> ContentModel:
    """Return the model that ships with the package."""
    return ContentModel.load()
