"""Finds the elements that describe a page, wherever they are in it: title, metadata, links and data scripts.

Also finds lines with a label (date or author), by class, role or Microdata.
"""

import re
from dataclasses import dataclass, field
from typing import Literal

from selectolax.lexbor import LexborHTMLParser, LexborNode

# One query for all, because the time of each query grows with the tree.
_SELECTOR = (
    'title, base, meta, link, script[type*="json" i], time[datetime], [itemprop], [typeof], '
    '.katex-html, .MathJax_Preview, mjx-container, script[type^="math/tex" i]'
)
_SPACES = re.compile(r"[ \t\n\f\r]++")
_DRAWN = frozenset({"katex-html", "MathJax_Preview"})
Label = Literal["dated", "named"]
LABELLED: dict[Label, str] = {
    "dated": '[class*="date"], [class*="published"], [class*="timestamp"], [class*="posted"], [class*="meta"]',
    "named": '[itemprop="author"], [rel="author" i], [class*="author"], [class*="byline"], [class*="username"]',
}


@dataclass(slots=True)
class HeadElements:
    """The head elements in the page's order, as written."""

    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    """The element's name and three values:

    - title: "", text, ""; only the first with more than spaces
    - base: href, "", ""
    - meta: the first of name, property and itemprop; content; http-equiv
    - link: rel, href, type
    - script with JSON: type, text, ""
    - time: datetime, "", ""
    """
    has_microdata: bool = False
    has_rdfa: bool = False
    has_drawn_math: bool = False
    """True if KaTeX or MathJax drew a formula anywhere in the page."""


def head_elements(tree: LexborHTMLParser) -> HeadElements:
    """Find all head elements of a page in one query."""
    found, has_title = HeadElements(), False
    for node in _each(tree, _SELECTOR):
        tag, attributes = node.tag or "", node.attributes
        found.has_microdata = found.has_microdata or "itemprop" in attributes
        found.has_rdfa = found.has_rdfa or "typeof" in attributes
        found.has_drawn_math = found.has_drawn_math or _is_drawn_math(tag, attributes)
        if tag == "title" and has_title:
            continue
        if row := _row(tag, attributes, node):
            has_title = has_title or tag == "title"
            found.rows.append((tag, *row))
    return found


def _each(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return each element once. The parser returns it once for each part of the selector that matches."""
    return list({node.mem_id: node for node in tree.css(selector)}.values())


def _is_drawn_math(tag: str, attributes: dict[str, str | None]) -> bool:
    if tag == "mjx-container" or (tag == "script" and (attributes.get("type") or "").lower().startswith("math/tex")):
        return True
    return not _DRAWN.isdisjoint(_SPACES.split(attributes.get("class") or ""))


def _row(tag: str, attributes: dict[str, str | None], node: LexborNode) -> tuple[str, str, str] | None:
    def value(*names: str) -> str:
        return next((found for name in names if (found := attributes.get(name))), "")

    match tag:
        case "title":
            drawn = node.parent is not None and node.parent.tag == "svg"
            return ("", text, "") if not drawn and (text := node.text()).strip() else None
        case "base":
            return value("href"), "", ""
        case "meta":
            return value("name", "property", "itemprop"), value("content"), value("http-equiv")
        case "link":
            return value("rel"), value("href"), value("type")
        case "script":
            return (value("type"), node.text(), "") if "json" in value("type").lower() else None
        case "time":
            return (value("datetime"), "", "") if "datetime" in attributes else None
    return None


_INLINE = frozenset({"a", "span", "b", "i", "em", "strong", "cite", "small", "abbr", "acronym", "-text"})
"""Elements within a line, and text."""
_MAX_DEPTH, _MAX_SIBLINGS = 4, 32
"""Maximum inline elements around a labelled one, and before each of them, whose text is looked at."""


def labelled_lines(tree: LexborHTMLParser, label: Label, count: int, max_chars: int) -> list[tuple[str, str]]:
    """Return the text of the first `count` elements with a label, and before it the text that begins their line.

    Elements with a text longer than `max_chars` are left out.
    """
    lines = ((node, " ".join(node.text(separator=" ").split())) for node in _each(tree, LABELLED[label])[:count])
    return [(_text_before(node), line) for node, line in lines if len(line) <= max_chars]


def _text_before(node: LexborNode) -> str:
    """Return the text before an element in its line, or its end if that is long. A block begins a line itself."""
    parts: list[str] = []
    for _ in range(_MAX_DEPTH):
        before = node.prev if node.tag in _INLINE else None
        while before is not None and before.tag in _INLINE and len(parts) < _MAX_SIBLINGS:
            parts.append(before.text(separator=" "))
            before = before.prev
        if before is not None or node.tag not in _INLINE or node.parent is None:
            break
        node = node.parent
    return " ".join(reversed(parts))
