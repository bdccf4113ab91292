"""Which text is the page's own, and which is chrome: the model's word, within rules that it can't overrule.

Removing content by accident is worse than keeping noise. So small pages are judged by their elements alone, and where the
model finds nothing at all, everything stands that is not chrome by its element or role.
"""

import numpy as np
from numpy.typing import NDArray

from streams.pages.facts import Head
from streams.pages.features import Matrix, features, group_numbers
from streams.pages.model import Neighbours, content_model, neighbours
from streams.pages.walk import Walk

SURE = 0.5
"""Never dropped from here on."""
DOUBTFUL = 0.2
"""Never kept below."""
SMALL_WORDS = 120
"""A page with fewer words is too small to be judged by statistics."""

_CHROME_TAGS = frozenset({"nav", "footer", "aside", "form", "dialog", "menu", "noscript", "button"})
_CHROME_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar"}
)


def page_features(page: Walk, head: Head) -> tuple[Matrix, Neighbours]:
    """The model's inputs for a page that has text."""
    names = page.attributes[0].get("class") or ""
    groups = group_numbers(page)
    return features(page, groups, head.title, head.kinds, names), neighbours(page, groups)


def decide(probabilities: Matrix, words: Matrix) -> NDArray[np.int64]:
    """Indices to keep: those that make the expected F1 of the page's words the highest, between the two bounds.

    The set that maximizes the expected F1 holds all above half of that maximum (Ye et al. 2012, theorem 1).
    """
    order = np.argsort(-probabilities, kind="stable")
    sizes = words[order]
    expected = probabilities[order] * sizes
    best = 2 * np.cumsum(expected) / np.maximum(np.cumsum(sizes) + expected.sum(), 1e-9)
    threshold = min(max(float(best.max()) / 2, DOUBTFUL), SURE)
    return np.flatnonzero(probabilities >= threshold)


def label(page: Walk, head: Head) -> list[int]:
    """Indices of the segments that are content, in order."""
    if not page.segments:
        return []
    if head.clean:
        return list(range(len(page.segments)))
    words = np.array([segment.text.count(" ") + 1 for segment in page.segments], np.float32)
    kept: list[int] = []
    if words.sum() >= SMALL_WORDS:
        kept = decide(content_model().probabilities(*page_features(page, head)), words).tolist()
    return kept or _by_element(page)


def chrome_elements(page: Walk) -> list[bool]:
    """For each element whether it, or one around it, says of itself that it is chrome."""
    chrome: list[bool] = []
    for index, tag in enumerate(page.tags):
        parent = page.parents[index]
        own = tag in _CHROME_TAGS or page.attributes[index].get("role") in _CHROME_ROLES
        chrome.append(own or (parent >= 0 and chrome[parent]))
    return chrome


def _by_element(page: Walk) -> list[int]:
    """All text outside of chrome; all text, if there is none outside."""
    chrome = chrome_elements(page)
    found = [index for index, segment in enumerate(page.segments) if not chrome[segment.element]]
    return found or [index for index, segment in enumerate(page.segments) if page.tags[segment.element] != "button"]
