"""Finds the elements that no reader sees: by the attribute `hidden`, by their style, by the page's own style sheets.

Hidden text would be searched and quoted although no reader finds it, so it would be free space for every word that a
page wants to be found for. Text that the reader opens with a click stays: tabs, accordions, `<details>`,
`hidden="until-found"`, what a control names (`aria-controls`) or has right behind it. Menus, dialogs and popovers that
a control opens over the page are none of its text. `aria-hidden` hides nothing from eyes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import outermost
from streams.pages.parse.hiding.lost_colours import LostColours
from streams.pages.parse.hiding.rules import HidingRules, NamedElements, Rule, names_of, read_rules, rules_on_page
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
_OVERLAY_TAGS = frozenset({"dialog"})
_OVERLAY_ROLES = frozenset({"alertdialog", "dialog", "listbox", "menu", "menubar", "tooltip"})
"""Roles of parts that lie over the page for a moment: what a control opens there is no text of the page."""
_TOGGLES_OF_OVERLAYS = frozenset({"dropdown", "modal", "offcanvas", "popover", "tooltip"})
"""Values of the attribute with which Bootstrap's controls say what they open."""
_OPENERS = "button, summary, label, svg, [aria-expanded], [role=button], input[type=checkbox], input[type=radio]"
_SELECTOR = "[hidden], [style], font[color], [bgcolor], dialog, [popover]"
_MARKING = frozenset({"hidden", "popover"})
"""Attributes that hide without a style."""
_UNDOING = {"visibility": '[style*="visible" i]'}
_STYLED = "[style], [class], [id], a, font[color]"
_STREAMED_ID = re.compile(r"S:[0-9a-f]+")
"""Id of a part that React's script puts into its place while the page loads."""
_DRAWN = frozenset({"html", "head", "script", "style", "link", "meta", "noscript", "template", "math", "iframe"})
"""Elements without a text of their own, and those that are read in another way."""
_PASSED = frozenset({"-text", "-comment", "style", "script"})


@dataclass(slots=True)
class Hidden:
    """The elements that are hidden by themselves, the outermost only, and how each is hidden."""

    nodes: list[LexborNode] = field(default_factory=list)
    ways: dict[int, str] = field(default_factory=dict)
    """For each node's identity: `hidden`, or a key of `styles.HIDING`."""
    kept: list[LexborNode] = field(default_factory=list)
    """Elements that a style or attribute hides, but the reader may open, or a style inside shows again."""
    rules: Sequence[Rule] = ()
    """The rules of the page's own style sheets that may be of elements on it."""
    named: NamedElements | None = None
    """The elements with a class or an id, if the page has such rules."""


def find_hidden(tree: LexborHTMLParser) -> Hidden:
    """Return the page's hidden elements. Their contents are hidden as well."""
    finder = _Finder(tree)
    found: dict[int, tuple[LexborNode, str]] = {}
    kept = list[LexborNode]()
    for node, way in finder.candidates():
        if finder.stays_hidden(node, way):
            found[node.mem_id] = node, way
        elif node.tag not in _DRAWN and way not in INHERITED and not _is_formula(node):
            kept.append(node)
    nodes = list(outermost(node for node, _ in found.values()))
    return Hidden(nodes, {node.mem_id: found[node.mem_id][1] for node in nodes}, kept, finder.rules, finder.named)


def hidden_links(hidden: Hidden) -> list[RawLink]:
    """Return the links in hidden elements: many are menus, and the crawl follows them."""
    links = (link for node in hidden.nodes for link in node.css("a[href]"))
    return [raw_link(link, " ".join((link.text() or "").split())) for link in links]


class _Finder:
    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._looks = 0
        self._referenced: frozenset[str] | None = None
        self.rules: Sequence[Rule] = ()
        self.named: NamedElements | None = None

    def candidates(self) -> Iterator[tuple[LexborNode, str]]:
        """Yield each element that an attribute or a style hides, with the way."""
        sheets = self._tree.css("style, link[rel~=stylesheet i]")
        read = tuple(read_rules([*_texts_of(sheets)]))
        self.named = NamedElements(self._tree) if read else None
        names = self.named.names if self.named else frozenset[str]()
        self.rules = on_page = tuple(rules_on_page(read, names))
        has_others = any(sheet.tag == "link" and sheet.attributes.get("media") != "print" for sheet in sheets)
        rules, colours = HidingRules(on_page, names), LostColours(None if has_others else on_page, names)
        named = "[class], [id]" if colours.names else rules.selector() if rules else ""
        known: dict[tuple[str, str | None, str | None], str] = {}
        for node in self._tree.css(_SELECTOR + (f", {named}" if named else "")):
            attributes, tag = node.attributes, node.tag or ""
            style = attributes.get("style") or ""
            is_marked = tag in _OVERLAY_TAGS or not _MARKING.isdisjoint(attributes)
            if style or is_marked:
                if not (named or is_marked or may_hide(style) or colours.may_hide(style)):
                    continue
                way = _way_of(tag, attributes, style, rules)
            else:  # only the rules decide, and pages repeat their classes
                key = tag, attributes.get("class"), attributes.get("id")
                if (ruled := known.get(key)) is None:
                    ruled = known[key] = _way_of(tag, attributes, style, rules)
                way = ruled
            if way and (way != "color" or not colours.are_drawn_otherwise(node)):
                yield node, way
            elif not way and colours.has(node, attributes):
                yield node, "color"

    def stays_hidden(self, node: LexborNode, way: str) -> bool:
        """Return False for an element that the reader opens, that shows its contents again, or that is drawn."""
        if node.tag in _DRAWN:
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
        if _is_overlay(node.tag or "", attributes):
            return False
        if attributes.get("role") in _OPENED_ROLES or attributes.get("aria-labelledby"):
            return True
        if (name := attributes.get("id")) and (_STREAMED_ID.fullmatch(name) or name in self._references()):
            return True
        above = node.parent.attributes if node.parent is not None and node.parent.tag != "body" else {}
        names = ((each.get(name) or "")[:500] for each in (attributes, above) for name in ("class", "id"))
        return any(map(_OPENED_NAMES.search, names)) or self._follows_opener(node)

    def _references(self) -> frozenset[str]:
        """Return the ids that a control or link of the page refers to, except for controls that open overlays."""
        if self._referenced is None:
            names = ("aria-controls", "data-target", "data-bs-target", "href", "aria-owns")
            self._referenced = frozenset(
                each.removeprefix("#")
                for node in self._tree.css(_REFERENCES)
                if not _opens_overlay(node.attributes)
                for name in names
                for each in (node.attributes.get(name) or "").split()
            )
        return self._referenced

    def _follows_opener(self, node: LexborNode) -> bool:
        """Return whether a control, or the term that a hidden description belongs to, is right before an element."""
        if node.tag != "dd" and node.parent is not None and node.parent.tag == "dd":
            node = node.parent
        before = node.prev
        while before is not None and before.tag in _PASSED:
            before = before.prev
        if before is None:
            return False
        if (before.tag, node.tag) == ("dt", "dd"):
            return True
        self._looks += 1
        return self._looks <= MAX_LOOKS_INSIDE and before.css_first(_OPENERS) is not None


def _texts_of(sheets: Iterable[LexborNode]) -> Iterator[str]:
    """Yield the texts of the page's own sheets for screens."""
    for node in sheets:
        if node.tag == "link":
            continue
        is_for_screens = (node.attributes.get("media") or "all").strip().lower() in ("all", "screen")
        if is_for_screens and (node.parent is None or node.parent.tag != "noscript"):
            yield node.text()


def _way_of(tag: str, attributes: dict[str, str | None], style: str, rules: HidingRules) -> str:
    """Return how an element is hidden: by its style first, which also undoes what the attribute or a rule does."""
    declared = read_declarations(style) if style else {}
    if way := how_hidden(declared):
        return way
    if (tag in _OVERLAY_TAGS and "open" not in attributes) or "popover" in attributes:
        return "" if "display" in declared else "hidden"
    if "hidden" in attributes:
        value = (attributes["hidden"] or "").strip().lower()
        return "hidden" if value != "until-found" and "display" not in declared else ""
    return rules.how_hidden(tag, names_of(attributes), declared) if rules else ""


def _is_overlay(tag: str, attributes: dict[str, str | None]) -> bool:
    """Return whether a hidden element is a dialog, a menu or the like, which only lies over the page for a moment."""
    if tag in _OVERLAY_TAGS or attributes.get("role") in _OVERLAY_ROLES:
        return True
    return "popover" in attributes or attributes.get("aria-modal") == "true"


def _opens_overlay(attributes: dict[str, str | None]) -> bool:
    if attributes.get("aria-haspopup") not in (None, "", "false"):
        return True
    return any(attributes.get(name) in _TOGGLES_OF_OVERLAYS for name in ("data-toggle", "data-bs-toggle"))


def _is_formula(node: LexborNode) -> bool:
    """Return whether an element has only the source of a formula, which another element draws."""
    inside = [
        child for child in node.iter(include_text=True) if child.tag != "-text" or (child.text_content or "").strip()
    ]
    return len(inside) == 1 and inside[0].tag == "math"
