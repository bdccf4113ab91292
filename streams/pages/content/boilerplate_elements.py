"""Elements that declare themselves to be boilerplate: by element name, ARIA role, class or id.

On pages with too little text for the content model only these elements count. On other pages they check the model.
"""

import re
from functools import lru_cache

import numpy as np

from streams.pages.content.segment_stats import SegmentStats
from streams.pages.content.tree_sums import subtree_sums
from streams.pages.parse.pairs import pairs_of
from streams.pages.parse.segments import Walk

MAX_SHARE = 0.6
"""Maximum share of the page's characters in a boilerplate element. A class like `with-sidebar` around more of them
describes the whole page, and some sites put everything into one form."""
MIN_PARAGRAPH_WORDS = 4
"""Minimum words of a paragraph in a form that is text of the page: forms also have addresses and opening hours."""
NEIGHBOURS = frozenset({"next", "prev", "previous", "up"})
"""Link types (HTML's, and Texinfo's `up`) of the pages before, after and above a page."""
MAX_NEIGHBOUR_CHARS = 60
"""Maximum length (characters, outside of links) of a text that is navigation by such a link: labels, no prose."""
MAX_CACHED_NAME_CHARS = 100
"""Maximum length of a class or id with a cached answer: short names repeat, and long names could fill the memory."""

_MENU_TAGS = frozenset({"nav", "menu", "button"})
_BOILERPLATE_TAGS = frozenset({"footer", "aside", "form", "dialog", "noscript"})
_BOILERPLATE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar"}
)
_OF_DEFINITIONS = frozenset({"dt", "dd"})
"""Parts of a list of definitions: their classes say how they look or open, and the list says what they are."""
_PARTS = (
    "area banner bar block box btn button card container content cta form grid group header icon inner item label link "
    "list module nav network panel post row section side slot title toggle top unit widget wrap wrapper"
)
_BOILERPLATE_NAMES = re.compile(
    r"(?<![a-z])(?:(?:nav(?:bar|igation|header|footer)?|breadcrumbs?|sidebar|side-bar|cookies?|consent|gdpr|"
    r"newsletter|subscribe|signup|sign-up|recommended|recommendations|disqus|advert|adverts|advertisement|sponsored|popup|modal|footer|"
    r"masthead|skip-link|skip-to-content|pagination)(?![a-z])|"
    r"(?:menu|share|sharing|social|related|comments?|ads?|promo)(?![a-z])"
    rf"(?!-(?!(?:{_PARTS.replace(' ', '|')})s?(?![a-z]))[a-z]))",
    re.IGNORECASE,
)
"""Names that authors give to boilerplate. Words that begin other names, too (share-price, social-sciences, ad-hoc),
count there only before a word for a part of a page."""


def boilerplate_elements(page: Walk, stats: SegmentStats) -> list[bool]:
    """Return whether each element, or an element around it, declares itself to be boilerplate."""
    own_chars = np.bincount(stats.elements, stats.counts[:, 0], len(page.tags)).astype(np.float64)
    chars = subtree_sums(stats.ends, own_chars).tolist()
    limit = MAX_SHARE * max(chars[0], 1)
    names = pairs_of(page)  # a button that names what it opens is no menu
    marked = [
        (tag in _MENU_TAGS and element not in names) or (tag in _BOILERPLATE_TAGS and chars[element] < limit)
        for element, tag in enumerate(page.tags)
    ]
    for element, role in page.named("role").items():
        marked[element] = marked[element] or role in _BOILERPLATE_ROLES
    for attribute in ("class", "id"):
        for element, name in page.named(attribute).items():
            if element and not marked[element] and chars[element] < limit and page.tags[element] not in _OF_DEFINITIONS:
                marked[element] = _names_boilerplate(name)
    for element, parent in enumerate(page.parents):
        if parent >= 0 and marked[parent]:
            marked[element] = True
    return marked


def segments_outside_boilerplate(page: Walk, stats: SegmentStats) -> list[int]:
    """Return the segments outside of boilerplate elements, and paragraphs in forms; without any, all but buttons.

    Lines of links to neighbouring pages are no content either, whatever element they are in.
    """
    marked = boilerplate_elements(page, stats)
    elements = page.elements()
    lines = _links_to_neighbours(page)
    found = [
        index
        for index, element in enumerate(elements)
        if index not in lines and (not marked[element] or _is_paragraph_in_form(page, index, element))
    ]
    return found or [index for index, element in enumerate(elements) if page.tags[element] != "button"]


def _links_to_neighbours(page: Walk) -> set[int]:
    """Return the segments that are little more than links to the pages before, after and above this one."""
    linking = {
        segment
        for _, text, rel, segment, _ in page.links
        if text and rel and not NEIGHBOURS.isdisjoint(rel.lower().split())
    }
    return {
        index
        for index in linking.intersection(range(len(page.segments)))
        if len(page.segments[index].text) - page.segments[index].link_chars <= MAX_NEIGHBOUR_CHARS
    }


def _names_boilerplate(name: str) -> bool:
    return _cached_search(name) if len(name) <= MAX_CACHED_NAME_CHARS else _search(name)


def _search(name: str) -> bool:
    return _BOILERPLATE_NAMES.search(name) is not None


_cached_search = lru_cache(maxsize=10_000)(_search)


def _is_paragraph_in_form(page: Walk, index: int, element: int) -> bool:
    return (
        page.tags[element] == "p"
        and page.tags[page.parents[element]] == "form"
        and len(page.segments[index].text.split()) >= MIN_PARAGRAPH_WORDS
    )
