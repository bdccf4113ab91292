"""Which text is the page's own, and which is chrome: the model's word, within rules that it can't overrule.

Removing content by accident is worse than keeping noise. So small pages are judged by their elements alone, and where
the model finds nothing at all, everything stands that is not chrome by its element or role.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.classifier import Neighbours, content_model, neighbours
from streams.pages.content.features import Matrix, features
from streams.pages.content.segment_stats import SegmentStats, segment_stats
from streams.pages.content.tree_sums import subtree_sums
from streams.pages.parse.elements import BLOCK_TAGS, HEADINGS
from streams.pages.parse.head import Head
from streams.pages.parse.page import Parsed
from streams.pages.parse.segments import Walk

SURE = 0.5
"""Never dropped from here on, within the page's run of text."""
DOUBTFUL = 0.2
"""Never kept below; code is always kept above, as menus have none, and a short listing at an end is often doubted."""
NEAR_SURE = 0.65
"""Of texts beside others that DOUBTFUL ones among them are kept with."""
CERTAIN = 0.9
"""Texts that make a page's run of text: from the first to the last of them, but for EDGE of their words each side."""
EDGE = 0.02
CERTAIN_SHARE = 0.8
"""Of the words that were judged content: where as many are CERTAIN, the page's text has a beginning and an end."""
OUTSIDE = 0.7
"""Never kept below, before and behind that run; but for the page's title, and headings of what is kept."""
FEW_SHARE = 0.25
"""If less of what is not chrome by its element would stay, the model is doubted: all stays that is BARELY likely. Not
where most of it is CERTAIN, and enough for a short text among much else."""
BARELY = 0.05
OWN_SHARE = 0.5
"""Of the words that are judged content: where the page's only article, or main element, holds as much, it holds all."""
SMALL_WORDS = 120
"""A page with fewer words is too small to be judged by statistics."""

MAX_TABLES = 200
"""That are looked at whole."""
MAX_JUDGED = 20_000
"""Segments; a page with more is a data dump, and the model's inputs would take hundreds of megabytes."""

_LISTS = frozenset({"ul", "ol", "dl", "table"})
_CODE, _TABLE, _HEADER_CELL = map(BLOCK_TAGS.index, ("pre", "table", "th"))
_RANKS = np.array([HEADINGS.index(tag) + 1 if tag in HEADINGS else 0 for tag in BLOCK_TAGS], np.int32)
_MENU_TAGS = frozenset({"nav", "menu", "button"})
_CHROME_TAGS = frozenset({"footer", "aside", "form", "dialog", "noscript"})
"""Chrome, unless they hold most of the page: some sites put everything into one form."""
_CHROME_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar"}
)


def page_features(page: Walk, of: SegmentStats, head: Head) -> tuple[Matrix, Neighbours]:
    """The model's inputs for a page that has text."""
    names = page.attributes[0].get("class") or ""
    return features(page, of, head.kinds, names), neighbours(of)


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


def with_those_among(probabilities: Matrix, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """And what may be content where one of the two texts before it and one of the two behind it surely are: a gap in a
    text is worse than a line too many in it."""
    count = len(probabilities)
    sure = np.zeros(count + 4, bool)
    sure[2:-2] = probabilities >= NEAR_SURE
    before, behind = sure[:count] | sure[1 : count + 1], sure[3 : count + 3] | sure[4:]
    chosen = (probabilities >= DOUBTFUL) & before & behind
    chosen[kept] = True
    return np.flatnonzero(chosen)


def without_those_outside(
    probabilities: Matrix,
    words: Matrix,
    kept: NDArray[np.int64],
    ranks: NDArray[np.int32],
    together: Callable[[int], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """What is kept, without what is doubtful before and behind the run of text: lists of other headlines, of tags, of
    comments, which the model doubts more on pages unlike those that it learned from, and yet not enough.

    `ranks`: of headings, 1 to 6; 0 for all else. `together`: the segments of the list or table around a segment; these
    stay or go as one, since the model doubts the later items of a list a little more than those before.
    """
    certain = words * (probabilities >= CERTAIN)
    total = float(certain.sum())
    if not total or total < CERTAIN_SHARE * float(words[kept].sum()):
        return kept
    running = np.cumsum(certain)
    first, last = np.searchsorted(running, [EDGE * total, (1 - EDGE) * total]).tolist()
    index = np.arange(len(words))
    stays = np.zeros(len(words), np.bool_)
    stays[kept] = True
    allowed = stays & ((first <= index) & (index <= last) | (probabilities >= OUTSIDE) | (ranks == 1))
    judged = allowed.copy()
    for at in kept[~allowed[kept]].tolist():
        if not judged[at]:
            held = together(at)
            judged[held] = True
            if allowed[held].any():
                allowed[held] = stays[held]
    for at in kept[(ranks[kept] > 0) & ~allowed[kept]][::-1].tolist():
        allowed[at] = at + 1 < len(allowed) and allowed[at + 1]
    return np.flatnonzero(allowed)


def with_whole_tables(of: SegmentStats, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """What is kept, with all of each table of data (with header cells, and no table in it) of which something is: rows
    without their other cells say nothing, or something else."""
    headers = np.flatnonzero(of.tags == _HEADER_CELL)
    if not len(headers):
        return kept
    tables = np.flatnonzero(of.tags == _TABLE)
    chosen = np.zeros(len(of.words), np.bool_)
    chosen[kept] = True
    for table, behind in zip(tables[:MAX_TABLES].tolist(), [*tables[1:].tolist(), len(of.tags)], strict=False):
        end = _end_of(of, table)
        if behind >= end and np.searchsorted(headers, table) < np.searchsorted(headers, end):
            held = _held(of, table, end)
            chosen[held] |= chosen[held].any()
    return np.flatnonzero(chosen)


def _in_one_list(page: Walk, of: SegmentStats, index: int) -> NDArray[np.int64]:
    """The segments of the outermost list or table around one; without such, itself."""
    outer, element = -1, int(of.elements[index])
    while element >= 0:
        if page.tags[element] in _LISTS:
            outer = element
        element = page.parents[element]
    if outer < 0:
        return np.array([index])
    return _held(of, outer, _end_of(of, outer))


def _held(of: SegmentStats, first: int, end: int) -> NDArray[np.int64]:
    """The segments in the elements from one to that before another."""
    return np.flatnonzero((first <= of.elements) & (of.elements < end))


def _end_of(of: SegmentStats, element: int) -> int:
    """The element behind all that is in one: they are numbered in document order."""
    beside = np.flatnonzero(of.parents[element + 1 :] < element)
    return element + 1 + int(beside[0]) if len(beside) else len(of.parents)


_PARTS = (
    "area banner bar block box btn button card container content cta form grid group header icon inner item label link "
    "list module nav network panel post row section side slot title toggle top unit widget wrap wrapper"
)
_CHROME_NAMES = re.compile(
    r"(?<![a-z])(?:(?:nav|navbar|navigation|breadcrumbs?|sidebar|side-bar|cookies?|consent|gdpr|newsletter|subscribe|"
    r"signup|sign-up|recommended|recommendations|disqus|advert|adverts|advertisement|sponsored|popup|modal|footer|"
    r"masthead|skip-link|skip-to-content|pagination)(?![a-z])|"
    r"(?:menu|share|sharing|social|related|comments?|ads?|promo)(?![a-z])"
    rf"(?!-(?!(?:{_PARTS.replace(' ', '|')})s?(?![a-z]))[a-z]))",
    re.IGNORECASE,
)
"""What authors call chrome. Words that begin other names, too (share-price, social-sciences, ad-hoc), count there only
before a word for a part of a page."""
WIDE_SHARE = 0.6
TOLD_WORDS = 4
SHORT_NAME = 100


@dataclass(slots=True)
class Labels:
    """Which segments are content."""

    kept: list[int]
    reasons: dict[int, str] = field(default_factory=dict)
    """For each other segment why it isn't; only when asked for."""


def label(parsed: Parsed, *, explaining: bool = False) -> Labels:
    """Tell content from chrome: a document of ours is all content, a quirk knows its site, else the model is asked."""
    page = parsed.walk
    everything = range(len(page.segments))
    reasons: dict[int, str] = {}
    if parsed.head.clean:
        return Labels(list(everything))
    if parsed.quirk is not None:
        kept = without_sections(page, parsed.quirk.drop_sections)
        reasons = dict.fromkeys(everything, "quirk: a section that is dropped") if explaining else reasons
    else:
        kept = _judged(parsed, reasons if explaining else None)
    own = frozenset(kept)
    return Labels(kept, {index: why for index, why in reasons.items() if index not in own})


def _judged(parsed: Parsed, reasons: dict[int, str] | None) -> list[int]:
    page = parsed.walk
    if not page.segments:
        return []
    counted = segment_stats(page, parsed.head.title)
    words = counted.words
    if words.sum() >= SMALL_WORDS and len(words) <= MAX_JUDGED:
        likely = content_model().probabilities(*page_features(page, counted, parsed.head))
        kept = with_whole_tables(counted, with_those_among(likely, decide(likely, words)))
        tags = counted.tags[counted.elements]
        kept = without_those_outside(likely, words, kept, _RANKS[tags], partial(_in_one_list, page, counted))
        kept = np.union1d(kept, np.flatnonzero((tags == _CODE) & (likely >= DOUBTFUL)))
        share = words[kept].sum() / FEW_SHARE
        certain = words[kept[likely[kept] >= CERTAIN]].sum()
        is_told = certain >= max(SMALL_WORDS, CERTAIN_SHARE * words[kept].sum())
        if not is_told and share < words.sum() and share < words[_by_element(page, counted)].sum():
            kept = np.flatnonzero(likely >= BARELY)
        if len(kept):
            own = _within_its_own(page, counted, kept)
            if reasons is not None:
                reasons |= {index: f"model: content with probability {value:.2f}" for index, value in enumerate(likely)}
                outside = set(kept.tolist()) - set(own.tolist())
                reasons |= dict.fromkeys(outside, "element: outside of the page's main one")
            listed: list[int] = own.tolist()
            return listed
    if reasons is not None:
        reasons |= dict.fromkeys(range(len(page.segments)), "element: it, or one around it, is chrome")
    return _by_element(page, counted)


def _within_its_own(page: Walk, of: SegmentStats, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """What of it stands in the page's only article, and in its only main element, where these hold enough of it."""
    for tag in ("article", "main"):
        first, end = _only(page, of, tag)
        if first == end:
            continue
        elements = of.elements[kept]
        inside = kept[(first <= elements) & (elements < end)]
        if of.words[inside].sum() >= OWN_SHARE * of.words[kept].sum():
            kept = inside
    return kept


def _only(page: Walk, of: SegmentStats, tag: str) -> tuple[int, int]:
    """The only outermost `tag` (or main role) and the element behind all that is in it; without it, nothing."""
    found = np.flatnonzero(of.tags == BLOCK_TAGS.index(tag)).tolist()
    if tag == "main":
        found = sorted({*found, *(element for element, role in page.named("role").items() if role == tag)})
    if not found:
        return 0, 0
    first = found[0]
    end = _end_of(of, first)
    return (first, end) if found[-1] < end else (0, 0)


def without_sections(page: Walk, headings: tuple[str, ...]) -> list[int]:
    """All segments but those below such a heading, up to the next of its rank or above."""
    kept: list[int] = []
    dropping = ""
    for index, segment in enumerate(page.segments):
        tag = page.tags[segment.element]
        if tag in HEADINGS:
            if dropping and tag <= dropping:
                dropping = ""
            if not dropping and segment.text.lower().strip(" :") in headings:
                dropping = tag
        if not dropping:
            kept.append(index)
    return kept


def chrome_elements(page: Walk, of: SegmentStats) -> list[bool]:
    """For each element whether it, or one around it, says of itself that it is chrome: by element, role, class or id.

    A form, or a class (`class="with-sidebar"`), around most of the page's text says nothing.
    """
    sizes = np.bincount(of.elements, of.counts[:, 0], len(page.tags)).astype(np.float64)
    held = subtree_sums(of.parents, sizes).tolist()
    limit = WIDE_SHARE * max(held[0], 1)
    chrome = [
        tag in _MENU_TAGS or (tag in _CHROME_TAGS and held[element] < limit) for element, tag in enumerate(page.tags)
    ]
    for element, role in page.named("role").items():
        chrome[element] = chrome[element] or role in _CHROME_ROLES
    for name in ("class", "id"):
        for element, value in page.named(name).items():
            if element and not chrome[element] and held[element] < limit:
                chrome[element] = (_says_chrome if len(value) <= SHORT_NAME else _says_so)(value)
    for element, parent in enumerate(page.parents):
        if parent >= 0 and chrome[parent]:
            chrome[element] = True
    return chrome


def _says_so(name: str) -> bool:
    return _CHROME_NAMES.search(name) is not None


_says_chrome = lru_cache(maxsize=10_000)(_says_so)
"""For short names alone, most of which come again: a page may have names of megabytes, and they must not stay."""


def _is_told(page: Walk, index: int, element: int) -> bool:
    """Whether a text in a form is a paragraph of some words: forms tell addresses and hours, too."""
    return (
        page.tags[element] == "p"
        and page.tags[page.parents[element]] == "form"
        and len(page.segments[index].text.split()) >= TOLD_WORDS
    )


def _by_element(page: Walk, of: SegmentStats) -> list[int]:
    """All text outside of chrome, and what is told in whole sentences in a form; all text, if there is none of them."""
    chrome = chrome_elements(page, of)
    elements = page.elements()
    found = [index for index, element in enumerate(elements) if not chrome[element] or _is_told(page, index, element)]
    return found or [index for index, element in enumerate(elements) if page.tags[element] != "button"]
