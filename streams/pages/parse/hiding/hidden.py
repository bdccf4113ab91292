"""Finds the elements that no reader sees: by the attribute `hidden`, by their style, by the page's own style sheets.

Hidden text would be searched and quoted although no reader finds it, so it would be free space for every word that a
page wants to be found for. Text that the reader opens with a click stays: tabs, accordions, `<details>`,
`hidden="until-found"`. `aria-hidden` hides nothing from eyes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import outermost
from streams.pages.parse.hiding.lost_colours import LostColours
from streams.pages.parse.hiding.rules import HidingRules, names_of, read_rules
from streams.pages.parse.hiding.styles import INHERITED, how_hidden, may_hide, read_declarations
from streams.pages.parse.navigation import raw_link
from streams.pages.parse.segments import RawLink

MAX_LOOKS_INSIDE = 200
"""Maximum number of elements whose content is searched for what undoes their style. Others count as shown."""
_OPENED_NAMES = re.compile(
    r"(?<![a-z])tabs?(?![a-z])|tab-?_?(?:pane|panel|content)|accordion|collaps|toggle|expand|(?<![a-z])faq|spoiler|"
    r"(?:read|show|view|see)-?_?more|slide|carousel|swiper|animat|fade|reveal|(?<![a-z])(?:aos|wow|lazy)(?![a-z])",
    re.IGNORECASE,
)
"""Words in the class or id of a part that the reader opens, or that is shown in turn."""
_OPENED_ROLES = frozenset({"tabpanel", "region"})
_REFERENCES = "[aria-controls], [data-target], [data-bs-target], [href^='#'], [aria-owns]"
_OPENERS = "button, summary, label, svg, [aria-expanded], [role=button], input[type=checkbox], input[type=radio]"
_UNDOING = {"visibility": '[style*="visible" i]'}
_STYLED = "[style], [class], [id], a, font[color]"
_STREAMED_ID = re.compile(r"S:[0-9a-f]+")
"""Id of a part that React's script puts into its place while the page loads."""
_PASSED = frozenset({"-text", "-comment", "style", "script"})


@dataclass(slots=True)
class Hidden:
    """The elements that are hidden by themselves, the outermost only, and how each is hidden."""

    nodes: list[LexborNode] = field(default_factory=list)
    ways: dict[int, str] = field(default_factory=dict)
    """For each node's identity: `hidden`, or a key of `styles.HIDING`."""


def find_hidden(tree: LexborHTMLParser) -> Hidden:
    """Return the page's hidden elements. Their contents are hidden as well."""
    finder = _Finder(tree)
    found = {node.mem_id: (node, way) for node, way in finder.candidates() if finder.stays_hidden(node, way)}
    nodes = list(outermost(node for node, _ in found.values()))
    return Hidden(nodes, {node.mem_id: found[node.mem_id][1] for node in nodes})


def hidden_links(hidden: Hidden) -> list[RawLink]:
    """Return the links in hidden elements: many are menus, and the crawl follows them."""
    links = (link for node in hidden.nodes for link in node.css("a[href]"))
    return [raw_link(link, " ".join((link.text() or "").split())) for link in links]


class _Finder:
    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._looks = 0
        self._referenced: frozenset[str] | None = None

    def candidates(self) -> Iterator[tuple[LexborNode, str]]:
        """Yield each element that an attribute or a style hides, with the way."""
        read = tuple(read_rules([*_sheets(self._tree)]))
        rules, colours = HidingRules(read), LostColours(self._tree, read)
        has_names = bool(rules) or colours.names
        selector = "[hidden], [style], [class], [id]" if has_names else "[hidden], [style], font[color], [bgcolor]"
        for node in self._tree.css(selector):
            attributes = node.attributes
            style = attributes.get("style") or ""
            if (
                not has_names
                and style
                and "hidden" not in attributes
                and not (may_hide(style) or colours.may_hide(style))
            ):
                continue
            way = _way_of(node.tag or "", attributes, style, rules)
            if way and (way != "color" or not colours.are_drawn_otherwise(node)):
                yield node, way
            elif not way and colours.has(node, attributes):
                yield node, "color"

    def stays_hidden(self, node: LexborNode, way: str) -> bool:
        """Return False for an element that the reader opens, that shows its contents again, or that is drawn."""
        if node.tag in ("html", "head", "script", "style", "link", "meta", "noscript", "template", "math", "iframe"):
            return False
        if way in INHERITED and self._is_undone_inside(node, way):
            return False
        return not _is_formula(node) and not self._is_opened(node)

    def _is_undone_inside(self, node: LexborNode, way: str) -> bool:
        self._looks += 1
        if self._looks > MAX_LOOKS_INSIDE:
            return True
        inside = node.css(_UNDOING.get(way, _STYLED))
        return any(each.mem_id != node.mem_id for each in inside)

    def _is_opened(self, node: LexborNode) -> bool:
        """Return whether the page offers the element to its reader: a tab, a part that unfolds, a slide."""
        attributes = node.attributes
        if attributes.get("role") in _OPENED_ROLES or attributes.get("aria-labelledby"):
            return True
        if (name := attributes.get("id")) and (_STREAMED_ID.fullmatch(name) or name in self._references()):
            return True
        above = node.parent.attributes if node.parent is not None and node.parent.tag != "body" else {}
        names = ((each.get(name) or "")[:500] for each in (attributes, above) for name in ("class", "id"))
        return any(map(_OPENED_NAMES.search, names)) or self._follows_opener(node)

    def _references(self) -> frozenset[str]:
        """Return the ids that a control or link of the page refers to."""
        if self._referenced is None:
            names = ("aria-controls", "data-target", "data-bs-target", "href", "aria-owns")
            self._referenced = frozenset(
                each.removeprefix("#")
                for node in self._tree.css(_REFERENCES)
                for name in names
                for each in (node.attributes.get(name) or "").split()
            )
        return self._referenced

    def _follows_opener(self, node: LexborNode) -> bool:
        before = node.prev
        while before is not None and before.tag in _PASSED:
            before = before.prev
        if before is None:
            return False
        self._looks += 1
        return self._looks <= MAX_LOOKS_INSIDE and before.css_first(_OPENERS) is not None


def _sheets(tree: LexborHTMLParser) -> Iterator[str]:
    for node in tree.css("style"):
        attributes = node.attributes
        is_for_screens = (attributes.get("media") or "all").strip().lower() in ("all", "screen")
        if is_for_screens and (node.parent is None or node.parent.tag != "noscript"):
            yield node.text()


def _way_of(tag: str, attributes: dict[str, str | None], style: str, rules: HidingRules) -> str:
    """Return how an element is hidden: by its style first, which also undoes what the attribute or a rule does."""
    declared = read_declarations(style) if style else {}
    if way := how_hidden(declared):
        return way
    if "hidden" in attributes:
        value = (attributes["hidden"] or "").strip().lower()
        return "hidden" if value != "until-found" and "display" not in declared else ""
    if not rules:
        return ""
    way = rules.how_hidden(tag, names_of(attributes))
    return "" if way in declared else way


def _is_formula(node: LexborNode) -> bool:
    """Return whether an element has only the source of a formula, which another element draws."""
    inside = [
        child for child in node.iter(include_text=True) if child.tag != "-text" or (child.text_content or "").strip()
    ]
    return len(inside) == 1 and inside[0].tag == "math"
