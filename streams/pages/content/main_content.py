"""The choice of the segments that are main content: the content model's probabilities, corrected by a few named passes.

Dropping content by accident is worse than keeping boilerplate. So a page with little text is judged only by its
elements, and if the model finds nothing, the page keeps all text outside of boilerplate elements. Each pass is
justified by held-out pages: decision 0012 has the loss without it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streams.pages.content.boilerplate_elements import segments_outside_boilerplate
from streams.pages.content.classifier import Neighbours, content_model, group_neighbours
from streams.pages.content.copies import find_copies
from streams.pages.content.features import Matrix, features
from streams.pages.content.names import find_names, find_tables_of_contents
from streams.pages.content.prose_runs import choose_lost_run, find_paragraphs_alike, find_paragraphs_beside, is_article
from streams.pages.content.segment_stats import SegmentStats, segment_stats
from streams.pages.content.units import find_menus, find_rest_of_units, find_units
from streams.pages.parse.elements import DIVIDING_TAGS, HEADINGS
from streams.pages.parse.head import Head
from streams.pages.parse.page import Parsed
from streams.pages.parse.pairs import pairs_of
from streams.pages.parse.segments import Removal, Walk

Kept = NDArray[np.int64]
"""Indices of the segments that are kept, in order."""
_SECTIONS = [DIVIDING_TAGS.index(tag) for tag in HEADINGS if tag != "h1"]
_CODE, _TITLE = DIVIDING_TAGS.index("pre"), DIVIDING_TAGS.index("h1")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The limits of the passes. Probabilities are the content model's, shares are of words."""

    max_cutoff: float = 0.5
    """Maximum of the page's cutoff. A segment with this probability is kept on every page."""
    min_cutoff: float = 0.2
    """Minimum of the page's cutoff."""
    code: float = 0.02
    """Minimum probability of code that is kept."""
    certain: float = 0.9
    """Minimum probability of a certain segment. The certain segments show where the page's text begins and ends."""
    min_certain_share: float = 0.8
    """Minimum share of certain segments in the kept ones. With less, the text has no known beginning and end."""
    edge_share: float = 0.02
    """Share of the certain segments that may be before the text's beginning, and after its end: lone outliers."""
    outside: float = 0.7
    """Minimum probability of a segment before the text's beginning or after its end."""
    min_kept_share: float = 0.25
    """Minimum share of the kept segments in those outside of boilerplate elements. With less, the model is doubted."""
    doubted: float = 0.05
    """Minimum probability of a kept segment where the model is doubted."""
    trusted_words: int = 60
    """Minimum certain words of a page with a trusted model, however much other text the page has: short news followed
    by many headlines."""
    trusted_share: float = 0.6
    """Minimum share of certain segments in the kept ones of a page with a trusted model."""
    min_main_share: float = 0.5
    """Minimum share of the kept segments in the page's only article (or main element) that makes it hold all."""
    min_words: int = 120
    """Minimum words of a page that the model judges. A smaller page gives no statistics."""
    max_segments: int = 20_000
    """Maximum segments of a page that the model judges. A page with more is a data dump, and the model's input would
    take hundreds of megabytes."""


LIMITS = Thresholds()


@dataclass(frozen=True)
class JudgedPage:
    """The page, as the passes read it."""

    walk: Walk
    stats: SegmentStats
    is_article: bool = True
    """False if the page declares to be of another kind than an article: a product, a collection."""

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """The unit of each segment, or -1."""
        return find_units(self.stats, pairs_of(self.walk))[self.stats.elements]


Pass = Callable[[Matrix, JudgedPage, Kept], Kept]
"""Takes the probability of each segment, the page, and the segments kept so far. Returns the segments to keep."""


def add_above_cutoff(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep the segments with the highest expected F1 of words: a page of doubtful segments gets a lower cutoff.

    The set with the highest expected F1 has all segments above half of this F1 (Ye et al. 2012, theorem 1).
    """
    return _union(len(scores), kept, choose_above_cutoff(scores, page.stats.words))


def _union(count: int, kept: Kept, others: Kept) -> Kept:
    """Return the segments of both, in order. `count`: of all segments."""
    either = np.zeros(count, np.bool_)
    either[kept] = either[others] = True
    return np.flatnonzero(either)


def choose_above_cutoff(scores: Matrix, words: Matrix) -> Kept:
    """Return the segments with the highest expected F1, within the bounds of the cutoff."""
    order = np.argsort(-scores, kind="stable")
    sizes = words[order]
    expected = scores[order] * sizes
    best = 2 * np.cumsum(expected) / np.maximum(np.cumsum(sizes) + expected.sum(), 1e-9)
    cutoff = min(max(float(best.max()) / 2, LIMITS.min_cutoff), LIMITS.max_cutoff)
    return np.flatnonzero(scores >= cutoff)


def drop_doubtful_ends(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Drop doubtful segments before and after the text: other headlines, tags, comments.

    The model gives these a higher probability on pages unlike its training pages. The page's title (`h1`) stays: it is
    short, often doubted, and dates are searched near it. A section below the title is text, too: a manual page begins
    with a name and a line on what it does.
    """
    certain = page.stats.words * (scores >= LIMITS.certain)
    total = float(certain.sum())
    if not total or total < LIMITS.min_certain_share * float(page.stats.words[kept].sum()):
        return kept
    bounds = [LIMITS.edge_share * total, (1 - LIMITS.edge_share) * total]
    first, last = np.searchsorted(np.cumsum(certain), bounds).tolist()
    tags = page.stats.tags[page.stats.elements]
    is_title = tags[kept] == _TITLE
    titles = kept[is_title & (kept < first)]
    if len(titles):
        sections = titles[-1] + np.flatnonzero(np.isin(tags[titles[-1] : first], _SECTIONS))
        first = min([first, *sections.tolist()])
    chosen: Kept = kept[((first <= kept) & (kept <= last)) | (scores[kept] >= LIMITS.outside) | is_title]
    return chosen


def add_code(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep code, however doubtful: boilerplate has none, and some manuals write their text as code."""
    is_code = page.stats.tags[page.stats.elements] == _CODE
    return _union(len(scores), kept, np.flatnonzero(is_code & (scores >= LIMITS.code)))


def keep_more_if_little(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep more segments if the model keeps little of the text outside of boilerplate elements and is not certain."""
    words = page.stats.words
    kept_words = words[kept].sum()
    certain_words = words[kept[scores[kept] >= LIMITS.certain]].sum()
    if certain_words >= max(LIMITS.trusted_words, LIMITS.trusted_share * kept_words):
        return kept
    most = kept_words / LIMITS.min_kept_share
    if most < words.sum() and most < words[segments_outside_boilerplate(page.walk, page.stats)].sum():
        return np.flatnonzero(scores >= LIMITS.doubted)
    return kept


def keep_main_element(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Drop segments outside of the page's only article, then of its only main element, if most are inside."""
    words = page.stats.words
    for tag in ("article", "main"):
        first, end = _only_element(page, tag)
        elements = page.stats.elements[kept]
        inside = kept[(first <= elements) & (elements < end)]
        if first < end and words[inside].sum() >= LIMITS.min_main_share * words[kept].sum():
            kept = inside
    return kept


def drop_copies(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Drop blocks that are on the page a second time. The model doesn't compare texts, so both get one probability."""
    repeated = find_copies(page.walk, page.stats, kept.tolist())
    chosen: Kept = np.array([index for index in kept.tolist() if index not in repeated], np.int64)
    return chosen


def keep_dropped_prose(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep a run of long paragraphs that the model drops, or drops a part of, if it is the page's text.

    Paragraphs with few links that have one parent are an article, whatever stands around them: headings that look like
    a list of other stories mislead the model. Of several such runs the first large one is kept, since articles below
    it are other ones. A product's or a collection's page has such prose beside its content, so it is left as it is.
    """
    run = choose_lost_run(page.stats, kept) if page.is_article else None
    return kept if run is None else _union(len(scores), kept, run)


def keep_paragraphs_beside(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep doubtful paragraphs that have the same parent as most of an article's text."""
    return _union(len(scores), kept, find_paragraphs_beside(page.stats, scores, kept)) if page.is_article else kept


def keep_paragraphs_alike(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep doubtful paragraphs that are written as kept ones are: the posts of a thread, a post's second paragraph."""
    return _union(len(scores), kept, find_paragraphs_alike(page.stats, scores, kept))


def keep_units(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep the rest of a list or table of which most is kept, and lists and tables amid kept text."""
    return _union(len(scores), kept, find_rest_of_units(page.stats, scores, kept, page.units))


def drop_menus(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Drop the items that are kept of a list of links of which most are not: it is a menu."""
    return np.setdiff1d(kept, find_menus(page.stats, kept, page.units))


def keep_names(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Keep the headings above kept texts, and the names of kept descriptions."""
    return _union(len(scores), kept, find_names(page.walk, page.stats, scores, kept))


def drop_contents(scores: Matrix, page: JudgedPage, kept: Kept) -> Kept:
    """Drop tables of contents: lists of links to headings of the page that are kept."""
    return np.setdiff1d(kept, find_tables_of_contents(page.walk, page.stats, kept))


PASSES: tuple[Pass, ...] = (
    add_above_cutoff,
    drop_doubtful_ends,
    add_code,
    keep_more_if_little,
    keep_main_element,
    keep_dropped_prose,
    keep_paragraphs_beside,
    keep_paragraphs_alike,
    keep_units,
    drop_menus,
    keep_names,
    drop_contents,
    drop_copies,
)
"""All passes, in order."""


def _only_element(page: JudgedPage, tag: str) -> tuple[int, int]:
    """Return the page's only outermost `tag` (or element of role main), and the first element after its contents.

    Both are 0 if there is no such element, or more than one. Elements are numbered in document order.
    """
    found = np.flatnonzero(page.stats.tags == DIVIDING_TAGS.index(tag)).tolist()
    if tag == "main":
        found = sorted({*found, *(element for element, role in page.walk.named("role").items() if role == tag)})
    if not found:
        return 0, 0
    first = found[0]
    end = int(page.stats.ends[first])
    return (first, end) if found[-1] < end else (0, 0)


IN_BOILERPLATE = Removal("element", "it, or one around it, is boilerplate")
NEIGHBOUR_LINKS = Removal("element", "links to the pages before, after and above it")
OUTSIDE_MAIN = Removal("element", "outside of the page's main one")
CONTENTS = Removal("element", "links to headings of the page")
COPY = Removal("element", "a copy of texts before it")
REASONS: dict[Pass, Removal] = {keep_main_element: OUTSIDE_MAIN, drop_contents: CONTENTS, drop_copies: COPY}
"""The reason for the segments that a pass drops, if it is not the model's probability."""
DROPPED_SECTION = Removal("quirk", "a section that is dropped")


@dataclass(slots=True)
class Labels:
    """The segments that are main content."""

    kept: list[int]
    reasons: dict[int, Removal] = field(default_factory=dict)
    """The reason for each dropped segment. Only given if asked for."""


def label(parsed: Parsed, *, explaining: bool = False) -> Labels:
    """Choose the main content of a page.

    A document of Riffle's own format is all content. A quirk knows its site. Else the content model decides.
    """
    page = parsed.walk
    everything = range(len(page.segments))
    if parsed.head.clean or not everything:
        return Labels(list(everything))
    if parsed.quirk is not None:
        kept = drop_sections(page, parsed.quirk.drop_sections)
        dropped = sorted(set(everything) - set(kept)) if explaining else []
        return Labels(kept, dict.fromkeys(dropped, DROPPED_SECTION))
    stats = segment_stats(page, parsed.head.title)
    if stats.words.sum() >= LIMITS.min_words and len(stats.words) <= LIMITS.max_segments:
        scores = content_model().probabilities(*page_features(page, stats, parsed.head))
        labels = run_passes(scores, JudgedPage(page, stats, is_article(parsed.head)), explaining=explaining)
        if labels.kept:
            return labels
    kept = segments_outside_boilerplate(page, stats)
    return Labels(kept, dict.fromkeys(sorted(set(everything) - set(kept)) if explaining else [], IN_BOILERPLATE))


def run_passes(
    scores: Matrix, page: JudgedPage, *, passes: tuple[Pass, ...] = PASSES, explaining: bool = False
) -> Labels:
    """Choose the segments to keep by the model's probabilities."""
    kept: Kept = np.array([], np.int64)
    reasons: dict[int, Removal] = {}
    for step in passes:
        before, kept = kept, step(scores, page, kept)
        if step in REASONS:
            reasons |= dict.fromkeys({*before.tolist()}.difference(kept.tolist()), REASONS[step])
    chosen: list[int] = kept.tolist()
    dropped = sorted(set(range(len(scores))).difference(chosen)) if explaining else []
    return Labels(
        chosen,
        {
            index: reasons.get(index) or Removal("model", probability=round(float(scores[index]), 2))
            for index in dropped
        },
    )


def page_features(page: Walk, stats: SegmentStats, head: Head) -> tuple[Matrix, Neighbours]:
    """Compute the model's input for a page with text."""
    body_class = page.attributes[0].get("class") or ""
    title = head.meta("og:title") or head.title
    return features(page, stats, head.kinds, body_class, title), group_neighbours(stats)


def drop_sections(page: Walk, headings: tuple[str, ...]) -> list[int]:
    """Return all segments except the sections of these headings, each up to the next heading of its rank or above."""
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
