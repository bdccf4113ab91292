"""Letters in the colour of what is behind them: an element's own background, or an ancestor's.

A colour and a background are known from `style`, from the attributes `bgcolor`, `color` and `text`, and from rules of
the page's own sheets for one element. What is not known looks different from everything: an element that another rule,
an external style sheet or an image may give a background stops the search above it. Each element is judged once.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from streams.pages.parse.hiding.colours import Colour, read_attribute
from streams.pages.parse.hiding.rules import Attributes, Rule, Selector, last_part, names_in, names_of, read_selector
from streams.pages.parse.hiding.styles import (
    COLOURS,
    Declarations,
    background,
    is_drawn_otherwise,
    may_colour,
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
_READ = frozenset({*COLOURS, "position"})
_DRAWING_NAMES = re.compile(r"clip|gradient|shadow|stroke|outline", re.IGNORECASE)
"""Words in a class that draws letters without a colour, by the background inside them or around them."""
_WITH_COLOURS = frozenset({"style", "bgcolor", "background", "color", "text"})
"""Attributes that may give an element a colour."""
_PLACED = ("absolute", "fixed", "sticky", "relative")


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The colour of an element's letters, and the one behind them. None: not known."""

    letters: Colour | None = None
    behind: Colour | None = None


@dataclass(frozen=True, slots=True)
class _Style:
    """An element's colours, as its declarations say them."""

    is_read: bool = False
    """True if any of them is about colours, or about the place of the element."""
    letters: Colour | None = None
    inherits_letters: bool = True
    behind: Colour | bool = False
    is_placed: bool = False
    is_drawn_otherwise: bool = False


_NOTHING_KNOWN = _Drawn()
_NO_STYLE = _Style()


class LostColours:
    """The elements of a page whose letters have the colour of what is behind them.

    `rules` come from the page's own sheets; None if it has other sheets, too. `names` are the classes and ids of the
    page's elements.
    """

    def __init__(self, rules: Iterable[Rule] | None, names: frozenset[str]) -> None:
        self._rules = _ColourRules(rules or (), names)
        self._sees_all = rules is not None and self._rules.are_all_read
        self._drawn: dict[int, _Drawn] = {}
        self._styles: dict[tuple[str, str | None, str | None], _Style] = {}
        """By name, class and id, for elements that have their colours of rules only: pages repeat these."""

    @property
    def names(self) -> bool:
        """True if classes and ids have colours."""
        return self._sees_all and bool(self._rules)

    @staticmethod
    def may_hide(style: str) -> bool:
        """Return False for a style that surely changes no colour: a quick test."""
        return "\\" in style or may_colour(style) or "position" in style.lower()

    def are_drawn_otherwise(self, node: LexborNode) -> bool:
        """Return whether the element's letters are seen without their colour, as far as its classes tell."""
        attributes = node.attributes
        style = self._style_of(node.tag or "", attributes)
        return style.is_drawn_otherwise or any(map(_DRAWING_NAMES.search, names_of(attributes)))

    def has(self, node: LexborNode, attributes: Attributes) -> bool:
        """Return whether the element declares a colour or a background, with which its letters are not seen."""
        written = attributes.get("style")
        is_coloured = (written and self.may_hide(written)) or "bgcolor" in attributes or "color" in attributes
        if not is_coloured and not self._sees_all:
            return False
        style = self._style_of(node.tag or "", attributes)
        if not style.is_read or style.is_drawn_otherwise:
            return False
        drawn = self._drawn_at(node)
        return drawn.letters is not None and drawn.behind is not None and drawn.letters.is_lost_on(drawn.behind)

    def _drawn_at(self, node: LexborNode) -> _Drawn:
        above = _NOTHING_KNOWN
        path: list[tuple[LexborNode, _Style, bool]] = []
        element: LexborNode | None = node
        while element is not None:
            if (drawn := self._drawn.get(element.mem_id)) is not None:
                above = drawn
                break
            attributes, tag = element.attributes, element.tag or ""
            is_known = not self._is_coloured_elsewhere(tag, attributes)
            path.append((element, self._style_of(tag, attributes), is_known))
            element = element.parent if is_known else None  # it takes nothing from above that is sure
        for element, style, is_known in reversed(path):
            above = self._drawn[element.mem_id] = _draw(element.tag or "", style, above, is_known)
        return above

    def _is_coloured_elsewhere(self, tag: str, attributes: Attributes) -> bool:
        """Return whether something that isn't known may give the element a colour."""
        if self._sees_all:
            return self._rules.may_colour(tag, names_of(attributes))
        return tag in _STYLED_ELEMENTS or bool(names_of(attributes))

    def _style_of(self, tag: str, attributes: Attributes) -> _Style:
        if not _WITH_COLOURS.isdisjoint(attributes):
            return _judge(self._declared(tag, attributes))
        if not self._sees_all:
            return _NO_STYLE
        key = tag, attributes.get("class"), attributes.get("id")
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = _judge(self._rules.declared(tag, names_of(attributes)))
        return style

    def _declared(self, tag: str, attributes: Attributes) -> Declarations:
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
        return {**declared, **read_declarations(style)} if self.may_hide(style) else declared


def _draw(tag: str, style: _Style, above: _Drawn, is_known: bool) -> _Drawn:
    inherits = is_known and style.inherits_letters and tag not in _OWN_COLOURS
    letters = style.letters or (above.letters if inherits else None)
    if isinstance(style.behind, Colour):
        return _Drawn(letters, style.behind)
    is_elsewhere = style.behind or not is_known or style.is_placed or style.is_drawn_otherwise
    return _Drawn(letters, None if is_elsewhere else above.behind)


def _judge(declared: Declarations) -> _Style:
    if _READ.isdisjoint(declared):
        return _NO_STYLE
    return _Style(
        is_read=True,
        letters=text_colour(declared),
        inherits_letters="color" not in declared,
        behind=background(declared),
        is_placed=declared.get("position") in _PLACED,
        is_drawn_otherwise=is_drawn_otherwise(declared),
    )


def _as_css(value: str) -> str:
    colour = read_attribute(value)
    return f"rgb({colour.red} {colour.green} {colour.blue})" if colour else "unknown"


class _ColourRules:
    """The colours that a page's own rules give to the classes and ids on it (`names`), and to elements."""

    def __init__(self, rules: Iterable[Rule], names: frozenset[str]) -> None:
        self._names = names
        self._by_name: dict[str, list[tuple[Selector, Declarations]]] = {}
        self._unread: set[str] = set()
        """The classes, ids and elements that other rules may colour."""
        self.are_all_read = True
        count = 0
        for begin, body, is_conditional in rules:
            if not (may_colour(body) or "position" in body.lower()):
                continue
            selectors = [each for written in begin.split(",") if self._may_match(each := written.strip())]
            if not selectors or _READ.isdisjoint(declared := read_declarations(body)):
                continue
            read = {name: value for name, value in declared.items() if name in _READ}
            for written in selectors:
                count += 1
                if count > MAX_SELECTORS:
                    self.are_all_read = False
                    return
                self._add(written, read, is_conditional)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def _may_match(self, written: str) -> bool:
        """Return False for a selector of elements that the page doesn't have: sheets are written for whole sites."""
        names = names_in(last_part(written))
        return not names or not names.isdisjoint(self._names)

    def _add(self, written: str, declared: Declarations, is_conditional: int) -> None:
        selector = read_selector(written)
        if selector is not None and not is_conditional:
            of_name = self._by_name.setdefault(min(selector.names, default=selector.tag), [])
            if len(of_name) < MAX_SELECTORS_OF_NAME:
                of_name.append((selector, declared))
                return
        last = last_part(written)
        if "::" in last or ":hover" in last:
            return
        self._unread |= names_in(last) or {last.partition(":")[0].partition("[")[0].lower() or "*"}

    def declared(self, tag: str, names: frozenset[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in (tag, *sorted(names & self._by_name.keys(), reverse=True)):  # ids (`#`) after classes (`.`)
            for selector, declared in self._by_name.get(name, ()):
                if selector.matches(tag, names):
                    found |= declared
        return found

    def may_colour(self, tag: str, names: frozenset[str]) -> bool:
        return not self._unread.isdisjoint(names) or tag in self._unread or "*" in self._unread
