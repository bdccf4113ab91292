"""Links that may be marks of notes, and by which names they can be led back to: read from a page's tree.

A walk keeps the names of blocks alone. The name that a note leads back to is the mark's own, or that of an element
around it, in it or before it, so it is looked for where a page has links that may be marks at all.
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
"""How far around a link, or within it, the name may be that leads back to it."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What a page's elements say of links that may be marks."""

    back: dict[str, set[str]]
    """By where they lead: the names of the links themselves, or of what shows nothing but one of them."""
    notes: frozenset[str]
    """Where links lead that say to be marks, and the names of what says to be a note."""
    styled: frozenset[str]
    """Where links lead that are shown as marks: raised, or with brackets that a style puts around what docutils
    calls `footnote-reference`."""


def read_ways(tree: LexborHTMLParser, url: str) -> Ways:
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
    return Ways(back, frozenset(notes - {""}), frozenset(styled))


def _is_raised(link: LexborNode) -> bool:
    above = link.parent
    for _ in range(_LEVELS):
        if above is not None and above.tag == "sup":
            return True
        above = above and above.parent
    return link.css_first("sup") is not None


def _names_of(link: LexborNode) -> Iterable[str]:
    """The names by which a link may be led back to: its own, and those around it or in it that show nothing else."""
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
    """Whether nothing but brackets stands beside it."""
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
    """Where on the same page a link leads; empty for any other link."""
    before, _, name = href.partition("#")
    return name if before in ("", url) else ""
