"""The content model: how likely each segment is the page's own text.

A small network over features (`features`). What sets it apart from judging segments one by one are the
means that it takes of its first layer: over the page, the siblings, the section, the segments in like elements, and
two windows of neighbours; so that a list of teasers is seen as a list, and a forum page as a forum page. The weights
are trained by `benchmarks/content_model.py`, which says on what, and how well it does on pages that it never saw.
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
"""Of the windows, in segments to either side."""
SECTION_SHARE = 0.4
"""A section is the widest element with less than this share of the page's text."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Which segments belong together, in four ways, and how much each counts in a mean."""

    groups: tuple[Indices, Indices, Indices]
    """Siblings, sections, like elements: for each segment the number of its group."""
    weights: Matrix
    """Shape (segments, 1)."""


def neighbours(of: SegmentStats) -> Neighbours:
    elements, words = of.elements, of.words
    parents = np.maximum(of.parents, 0).astype(np.int64)
    held = tree_sums.subtree_sums(of.parents, np.bincount(elements, words, len(parents)).astype(np.float64))
    section = tree_sums.sections(of.parents, held, SECTION_SHARE * max(float(held[0]), 1.0))
    return Neighbours(
        (parents[parents[elements]], section[elements], of.groups), np.log1p(words)[:, None] + np.float32(0.1)
    )


@dataclass(frozen=True, slots=True)
class ContentModel:
    """Two layers with the means between them."""

    first: Matrix
    first_bias: Matrix
    second: Matrix
    second_bias: Matrix
    last: Matrix
    last_bias: Matrix

    @classmethod
    def load(cls, path: Path = WEIGHTS_FILE) -> Self:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{name: np.array(stored[name], np.float32) for name in cls.__slots__})

    def probabilities(self, features: Matrix, near: Neighbours) -> Matrix:
        """Shape (segments,)."""
        hidden = np.maximum(features @ self.first + self.first_bias, 0)
        second = np.maximum(
            tree_sums.pooled(hidden, near.weights, near.groups, REACHES) @ self.second + self.second_bias, 0
        )
        scores = (second @ self.last + self.last_bias)[:, 0]
        likely: Matrix = (1.0 / (1.0 + np.exp(-np.clip(scores, -30, 30)))).astype(np.float32)
        return likely


@cache
def content_model() -> ContentModel:
    """The model that ships with the package."""
    return ContentModel.load()
