"""Letters in the colour of what is behind them: an element's own background, or an ancestor's.

A colour and a background are known from `style`, from the attributes `bgcolor`, `color` and `text`, and from rules of
the page's own sheets for one element. What is not known looks different from everything: an element that another rule,
an external style sheet or an image may give a background stops the search above it. Each element is judged once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import state_above, unknown_ancestors
from streams.pages.parse.hiding.colours import Colour, read_attribute
from streams.pages.parse.hiding.rules import Rule, Selector, names_in, names_of, read_selector
from streams.pages.parse.hiding.styles import (
    COLOURS,
    background,
    is_drawn_otherwise,
    read_declarations,
    text_colour,
)

MAX_SELECTORS = 2_000
"""Maximum number of selectors with colours that are read. With more of them only `style` and attributes are known."""
MAX_SELECTORS_OF_NAME = 8
"""Maximum number of such selectors with the same first name: each is compared with each element of this name."""
_STYLED_ELEMENTS = frozenset({"section", "header", "footer", "main", "nav", "aside", "article", "button", "a", "mark"})
"""Elements that a style sheet often colours without a class."""
_OWN_COLOURS = frozenset({"a", "button", "input", "mark", "select", "textarea"})
"""Elements to which browsers give a colour."""
_SPLIT = re.compile(r"[\s>+~]++")
_HINT = re.compile(r"color|background|position", re.IGNORECASE)
_READ = frozenset({*COLOURS, "position"})
_DRAWING_NAMES = re.compile(r"clip|gradient|shadow|stroke|outline", re.IGNORECASE)
"""Words in a class that draws letters without a colour, by the background inside them or around them."""
_PLACED = ("absolute", "fixed", "sticky", "relative")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The colour of an element's letters, and the one behind them. None: not known."""

    letters: Colour | None = None
    behind: Colour | None = None


class LostColours:
    """The elements of a page whose letters have the colour of what is behind them."""

    def __init__(self, tree: LexborHTMLParser, rules: Iterable[Rule]) -> None:
        links = tree.css("link[rel~=stylesheet i]")
        has_others = any(link.attributes.get("media") != "print" for link in links)
        self._rules = _ColourRules(() if has_others else rules)
        self._sees_all = not has_others and self._rules.are_all_read
        self._drawn: dict[int, _Drawn] = {}

    @property
    def names(self) -> bool:
        """True if classes and ids have colours."""
        return self._sees_all and bool(self._rules)

    @staticmethod
    def may_hide(style: str) -> bool:
        """Return False for a style that surely changes no colour: a quick test."""
        return "\\" in style or _HINT.search(style) is not None

    def are_drawn_otherwise(self, node: LexborNode) -> bool:
        """Return whether the element's letters are seen without their colour, as far as its classes tell."""
        return is_drawn_otherwise(self._declared(node)) or any(map(_DRAWING_NAMES.search, names_of(node.attributes)))

    def has(self, node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
        """Return whether the element declares a colour or a background, with which its letters are not seen."""
        style = attributes.get("style")
        is_coloured = (style and self.may_hide(style)) or "bgcolor" in attributes or "color" in attributes
        if not is_coloured and not self._sees_all:
            return False
        declared = self._declared(node)
        if not declared or _READ.isdisjoint(declared) or is_drawn_otherwise(declared):
            return False
        drawn = self._drawn_at(node)
        return drawn.letters is not None and drawn.behind is not None and drawn.letters.is_lost_on(drawn.behind)

    def _drawn_at(self, node: LexborNode) -> _Drawn:
        for element in (*unknown_ancestors(node, self._drawn), node):
            above = state_above(element, self._drawn, _Drawn())
            self._drawn[element.mem_id] = self._draw(element, above)
        return self._drawn[node.mem_id]

    def _draw(self, node: LexborNode, above: _Drawn) -> _Drawn:
        declared = self._declared(node)
        is_known = not self._is_coloured_elsewhere(node)
        inherits = is_known and "color" not in declared and node.tag not in _OWN_COLOURS
        letters = text_colour(declared) or (above.letters if inherits else None)
        found = background(declared)
        if isinstance(found, Colour):
            return _Drawn(letters, found)
        is_elsewhere = found or not is_known or declared.get("position") in _PLACED or is_drawn_otherwise(declared)
        return _Drawn(letters, None if is_elsewhere else above.behind)

    def _is_coloured_elsewhere(self, node: LexborNode) -> bool:
        """Return whether something that isn't known may give the element a colour."""
        names, tag = names_of(node.attributes), node.tag or ""
        if self._sees_all:
            return self._rules.may_colour(tag, names)
        return bool(names) or tag in _STYLED_ELEMENTS

    def _declared(self, node: LexborNode) -> Mapping[str, str]:
        attributes, tag = node.attributes, node.tag or ""
        declared: dict[str, str] = {}
        if value := attributes.get("bgcolor"):
            declared["background-color"] = _as_css(value)
        if attributes.get("background"):
            declared["background-image"] = "url()"
        if value := attributes.get("color" if tag == "font" else "text" if tag == "body" else ""):
            declared["color"] = _as_css(value)
        if self._sees_all:
            declared |= self._rules.declared(tag, names_of(attributes))
        style = attributes.get("style") or ""
        return declared | read_declarations(style) if self.may_hide(style) else declared


def _as_css(value: str) -> str:
    colour = read_attribute(value)
    return f"rgb({colour.red} {colour.green} {colour.blue})" if colour else "unknown"


class _ColourRules:
    """The colours that a page's own rules give to classes, ids and elements."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_name: dict[str, list[tuple[Selector, Mapping[str, str]]]] = {}
        self._unread: set[str] = set()
        """The classes, ids and elements that other rules may colour."""
        self.are_all_read = True
        count = 0
        for begin, body, is_conditional in rules:
            if not _HINT.search(body):
                continue
            declared = {name: value for name, value in read_declarations(body).items() if name in _READ}
            if not declared:
                continue
            for written in begin.split(","):
                count += 1
                if count > MAX_SELECTORS:
                    self.are_all_read = False
                    return
                self._add(written.strip(), declared, is_conditional)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def _add(self, written: str, declared: Mapping[str, str], is_conditional: bool) -> None:
        selector = read_selector(written)
        if selector is not None and not is_conditional:
            of_name = self._by_name.setdefault(min(selector.names, default=selector.tag), [])
            if len(of_name) < MAX_SELECTORS_OF_NAME:
                of_name.append((selector, declared))
                return
        last = _SPLIT.split(written)[-1]
        if "::" in last or ":hover" in last:
            return
        self._unread |= names_in(last) or {last.partition(":")[0].partition("[")[0].lower() or "*"}

    def declared(self, tag: str, names: frozenset[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in (tag, *sorted(names & self._by_name.keys(), reverse=True)):  # ids (`#`) after classes (`.`)
            for selector, declared in self._by_name.get(name, ()):
                if selector.names <= names and selector.tag in ("", tag):
                    found |= declared
        return found

    def may_colour(self, tag: str, names: frozenset[str]) -> bool:
        return not self._unread.isdisjoint(names) or tag in self._unread or "*" in self._unread
