"""Finds links that may be footnote marks, and the names (ids) that notes use for links back to them.

The walk keeps only the ids of block elements. A note links back to the id of the mark itself, or of an element around
it, in it or before it. So the tree is searched, but only on pages with links that may be marks.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import INLINE, KINDS, SMALL, SPAN, SUBSCRIPT, SUPERSCRIPT, TEXT

MARK = re.compile(r"[\[(]?(?:[\d⁰¹²³⁴-⁹]{1,3}|[a-z]|[ivx]{1,4}|[*†‡§¶]{1,3}|note \d{1,3})[\])]?", re.IGNORECASE)
MAX_MARK_CHARS = 10
_NOTE_TYPES = frozenset({"footnote", "endnote", "rearnote"})
_LETTERING = frozenset({INLINE, SPAN, SMALL, SUPERSCRIPT, SUBSCRIPT})
_LEVELS = 2
"""Maximum number of levels between a link and the element that a note links back to."""


@dataclass(frozen=True, slots=True)
class MarkLinks:
    """Links of a page that may be marks, by the names of their targets."""

    back: dict[str, set[str]]
    """The names of the links to each target, and of elements with nothing else than such a link."""
    notes: frozenset[str]
    """Targets of links that are declared to be marks, and names of elements that are declared to be notes."""
    styled: frozenset[str]
    """Targets of links that look like marks: raised, or with a class of docutils (`footnote-reference`)."""


def read_mark_links(tree: LexborHTMLParser, url: str) -> MarkLinks:
    back: dict[str, set[str]] = {}
    notes: set[str] = set()
    styled: set[str] = set()
    for node in tree.css('a[href*="#"], [epub\\:type]'):
        attributes = node.attributes
        types = frozenset((attributes.get("epub:type") or "").split())
        if node.tag != "a":
            notes |= {attributes.get("id") or ""} if types & _NOTE_TYPES else set()
            continue
        name = fragment_of(attributes.get("href") or "", url)
        if not name or not may_be_mark(node.text()):
            continue
        if "noteref" in types or attributes.get("role") == "doc-noteref":
            notes.add(name)
        if "footnote" in (attributes.get("class") or "") or _is_raised(node):
            styled.add(name)
        back.setdefault(name, set()).update(_names_of(node))
    return MarkLinks(back, frozenset(notes - {""}), frozenset(styled))


def _is_raised(link: LexborNode) -> bool:
    above = link.parent
    for _ in range(_LEVELS):
        if above is not None and above.tag == "sup":
            return True
        above = above and above.parent
    return link.css_first("sup") is not None


def _names_of(link: LexborNode) -> Iterable[str]:
    """Yield the names for a link back from a note: the link's own, and of elements with nothing else than the link."""
    around: list[LexborNode] = [link]
    above = link.parent
    while above is not None and len(around) <= _LEVELS and KINDS.get(above.tag_id, INLINE) in _LETTERING:
        if not _is_alone(around[-1]):
            break
        around.append(above)
        above = above.parent
    before = link.prev
    if before is not None and before.tag == "a" and not before.attributes.get("href") and not before.text().strip():
        around.append(before)
    around += link.css("[id]")[:_LEVELS]
    for node in around:
        yield from filter(None, (node.attributes.get("id"), node.attributes.get("name")))


def _is_alone(node: LexborNode) -> bool:
    """Return whether only brackets are beside a node."""
    sides = ((node.prev, node.prev and node.prev.prev), (node.next, node.next and node.next.next))
    return all(
        side is None
        or (beyond is None and KINDS.get(side.tag_id) == TEXT and not any(map(str.isalnum, side.text_content or "")))
        for side, beyond in sides
    )


def may_be_mark(text: str) -> bool:
    text = text.strip()
    return len(text) <= MAX_MARK_CHARS and MARK.fullmatch(text) is not None


def fragment_of(href: str, url: str) -> str:
    """Return the target of a link on the same page; empty for any other link."""
    before, _, name = href.partition("#")
    return name if before in ("", url) else ""
