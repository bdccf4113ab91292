"""Anchors: the names by which an address leads to a heading or a term of a page (`#checkpoints`).

Generators write the name in four places: on the heading itself, on a link or mark inside of it, on an empty element
just before it, or on the section that begins with it.
"""

from selectolax.lexbor import LexborNode

MAX_LEVELS = 6
"""Maximum number of elements around a heading that are looked at. DocBook writes four from a section to its title."""
MAX_CHARS = 200
"""Maximum length of an anchor (characters)."""
_NAMES = ("id", "name")
_WHOLE_PAGE = frozenset(("html", "body", "main"))
"""Elements around the whole content. Around the title of a page, this is any element but a section."""
_EMPTY = frozenset(("a", "span", "p", "div"))
"""Elements before a heading that may be only a name."""


def anchor_of(node: LexborNode) -> str:
    """Return the name of a heading's or a term's place, as it is written; empty if it has none."""
    if name := _name_of(node) or _name_in(node):
        return name
    around: LexborNode | None = node
    for _ in range(MAX_LEVELS):
        if around is None:
            break
        before = _element_before(around)
        if before is not None:
            return _name_of_empty(before)
        around = around.parent
        if around is None or around.tag in _WHOLE_PAGE or (node.tag == "h1" and around.tag != "section"):
            break
        if name := _name_of(around):
            return name
    return ""


def _name_of(node: LexborNode) -> str:
    attributes = node.attributes
    names = _NAMES if node.tag == "a" else _NAMES[:1]
    return next((name for key in names if _is_anchor(name := attributes.get(key) or "")), "")


def _name_in(node: LexborNode) -> str:
    if _has_no_elements(node):
        return ""
    inside = node.css_first("[id], a[name]")
    return _name_of(inside) if inside is not None else ""


def _has_no_elements(node: LexborNode) -> bool:
    """Return whether an element has only one text, as most headings have: a query takes longer than this look."""
    child = node.first_child
    return child is None or (child.tag == "-text" and child.next is None)


def _name_of_empty(node: LexborNode) -> str:
    """Return the name of an element without text; empty for all others."""
    if node.tag not in _EMPTY or node.text(strip=True):
        return ""
    return _name_of(node) or _name_in(node)


def _element_before(node: LexborNode) -> LexborNode | None:
    """Return the element or text directly before a node, below the same parent."""
    before = node.prev
    while before is not None and (before.tag == "-comment" or _is_space(before)):
        before = before.prev
    return before


def _is_space(node: LexborNode) -> bool:
    return node.tag == "-text" and not (node.text_content or "").strip()


def _is_anchor(name: str) -> bool:
    return 0 < len(name) <= MAX_CHARS and name.isprintable() and ":~:" not in name and not any(map(str.isspace, name))
