"""The classes and ids that a page's own style sheets hide.

Only rules with a selector of one element (`.note`, `p.note`, `#note.old`) are read, outside of conditions or inside of
those that hold on every screen (`@media screen`, `@supports (display: grid)`, `@layer`). A rule hides nothing if
another rule of the page names one of its classes or ids and shows the element again (`.tab.active`, `.js .menu`).
External style sheets are not read. Everything takes linear time, and has a limit: the author of a page may be hostile.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams.pages.parse.hiding.styles import (
    HIDING,
    declares,
    how_hidden,
    may_hide,
    read_declarations,
    remove_literals,
    unescape,
)

MAX_SHEET_CHARS = 1_000_000
"""Maximum length of a page's style sheets that are read (characters). Rules behind it hide nothing."""
MAX_SELECTORS = 500
"""Maximum number of selectors that hide elements. The first of a page count."""
MAX_SELECTORS_OF_NAME = 8
"""Maximum number of hiding selectors with the same first class or id: each is compared with each such element."""
MAX_DEPTH = 32
"""Maximum number of blocks around a rule that is read."""
MAX_OUTER_CHARS = 300
"""Maximum characters of a selector that count for the rules inside its rule."""
_BRACES = re.compile(r"([{}])")
_SIMPLE = re.compile(r"([a-z][a-z0-9]*+)?((?:[.#](?:[\w-]|\\.)++)++)?", re.IGNORECASE)
_NAME = re.compile(r"[.#](?:[\w-]|\\[0-9a-f]{1,6}\s?|\\.)++", re.IGNORECASE)
SMALLEST_PIXELS, LARGEST_PIXELS = 320.0, 3_840.0
"""Sizes that each screen has at least, and that none has more of (pixels)."""
MAX_CHARS = 500
"""Maximum length of a condition that is read (characters). A longer one is not known to hold."""
_FEATURE = re.compile(
    r"\( ?(?:color|(?P<bound>min|max)-(?:device-)?(?:width|height) ?: ?"
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?)(?P<unit>px|em|rem)?) ?\)"
)
_MEDIA = frozenset({"all", "screen", "only all", "only screen", "not print"})
_SUPPORTED = re.compile(r"\( ?[a-z][a-z-]*+ ?:[^()]*+(?:\([^()]*+\)[^()]*+)?\)")


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of one element: its element name (or empty), and its classes (`.name`) and id (`#name`)."""

    tag: str
    names: frozenset[str]


Rule = tuple[str, str, bool]
"""Selector, declarations, and whether a condition (`@media`) is around it."""


class HidingRules:
    """The classes and ids that a page's own style sheets hide."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        hiding = dict(_hiding_selectors(rules))
        shown = _shown_again(rules, hiding)
        self._by_name: dict[str, list[tuple[Selector, str]]] = {}
        for selector, way in hiding.items():
            of_name = self._by_name.setdefault(min(selector.names), [])
            if len(of_name) < MAX_SELECTORS_OF_NAME and shown.isdisjoint((name, way) for name in selector.names):
                of_name.append((selector, way))

    def __bool__(self) -> bool:
        return any(self._by_name.values())

    def how_hidden(self, tag: str, names: frozenset[str]) -> str:
        """Return how the rules hide an element with these classes and this id; empty if they don't."""
        for name in names & self._by_name.keys():
            for selector, way in self._by_name[name]:
                if selector.names <= names and selector.tag in ("", tag):
                    return way
        return ""


def read_rules(sheets: Iterable[str]) -> Iterator[Rule]:
    """Yield the rules of the sheets, without rules for paper and without the steps of animations."""
    left = MAX_SHEET_CHARS
    for sheet in sheets:
        yield from _rules_of_sheet(sheet[:left])
        left -= len(sheet)
        if left <= 0:
            return


def _rules_of_sheet(sheet: str) -> Iterator[Rule]:
    """Yield a sheet's rules, each when it ends. At the end of the sheet all open ones end, as in browsers."""
    blocks: list[_Block] = []
    text = ""
    for part in _BRACES.split(remove_literals(sheet)):
        if part == "{":
            declarations, _, begin = text.rpartition(";")
            if blocks and blocks[-1] is not _TOO_DEEP:
                blocks[-1].texts.append(declarations)
            is_too_deep = len(blocks) >= MAX_DEPTH
            blocks.append(_TOO_DEEP if is_too_deep else _begin_block(begin.strip(), blocks[-1] if blocks else None))
        elif part == "}":
            if blocks:
                yield from _end_block(blocks.pop(), text)
        else:
            text = part
            continue
        text = ""
    while blocks:
        yield from _end_block(blocks.pop(), text)
        text = ""


@dataclass(slots=True)
class _Block:
    """A block that is open: of a rule, or of an at-rule around rules, or around declarations of the rule around it."""

    selector: str
    """The selector of the declarations in it; empty if they are of no element."""
    is_conditional: bool
    is_left_out: bool
    texts: list[str]
    """Its declarations so far, before and between the blocks inside."""


_TOO_DEEP = _Block("", True, True, [])


def _begin_block(begin: str, around: _Block | None) -> _Block:
    selector, is_conditional, is_left_out = ("", False, False)
    if around:
        selector, is_conditional, is_left_out = around.selector, around.is_conditional, around.is_left_out
    if begin.startswith("@"):
        is_conditional = is_conditional or not holds_on_each_screen(begin)
        return _Block(selector, is_conditional, is_left_out or is_never_on_screen(begin), [])
    if selector and begin != "&":  # a rule in a rule is of other elements, or of some of these only
        return _Block(f"{selector[-MAX_OUTER_CHARS:]} {begin}", True, is_left_out, [])
    return _Block(selector or begin, is_conditional, is_left_out, [])


def _end_block(block: _Block, text: str) -> Iterator[Rule]:
    if block.selector and not block.is_left_out:
        yield block.selector, ";".join([*block.texts, text]), block.is_conditional


def _hiding_selectors(rules: Iterable[Rule]) -> Iterator[tuple[Selector, str]]:
    """Yield each simple selector that hides its elements unconditionally, with the way; at most MAX_SELECTORS."""
    count = 0
    for begin, body, is_conditional in rules:
        if is_conditional or not may_hide(body) or not (way := how_hidden(read_declarations(body))):
            continue
        for written in begin.split(","):
            if (selector := read_selector(written.strip())) and selector.names:
                yield selector, way
                count += 1
                if count == MAX_SELECTORS:
                    return


def read_selector(written: str) -> Selector | None:
    """Return a selector of one element, by its name, classes and id; None for another one."""
    found = _SIMPLE.fullmatch(written)
    return Selector((found[1] or "").lower(), names_in(found[2] or "")) if found and written else None


def names_of(attributes: Mapping[str, str | None]) -> frozenset[str]:
    """Return the classes and the id of an element, as selectors have them."""
    names = frozenset("." + name for name in (attributes.get("class") or "").split())
    return names | {f"#{name}"} if (name := attributes.get("id")) else names


def names_in(selector: str) -> frozenset[str]:
    """Return the classes and ids of a selector, as elements have them."""
    return frozenset(map(unescape, _NAME.findall(selector)))


def _shown_again(rules: Iterable[Rule], hiding: Mapping[Selector, str]) -> set[tuple[str, str]]:
    """Return each class and id with the way to hide it that another rule takes back."""
    ways: dict[str, set[str]] = {}
    for selector, way in hiding.items():
        for name in selector.names:
            ways.setdefault(name, set()).add(way)
    shown: set[tuple[str, str]] = set()
    for begin, body, _ in rules:
        if not (named := names_in(begin) & ways.keys()):
            continue
        declared = read_declarations(body)
        for name in named:
            shown.update((name, way) for way in ways[name] if declares(declared, way) and not HIDING[way](declared))
    return shown


def holds_on_each_screen(begin: str) -> bool:
    """Return whether an at-rule's block is used on every screen, in each browser of today."""
    name, _, condition = " ".join(begin[:MAX_CHARS].lower().split()).partition(" ")
    if "(" in name:
        name, _, condition = f"{name} {condition}".partition("(")
        condition = f"({condition.strip()}"
    if len(begin) > MAX_CHARS:
        return False
    if name == "@layer":
        return True
    if name == "@supports":
        return all(map(_SUPPORTED.fullmatch, condition.replace(" or ", " and ").split(" and ")))
    return name == "@media" and any(map(_is_each_screen, condition.split(",")))


def _is_each_screen(query: str) -> bool:
    first, *others = query.strip().split(" and ")
    return all(map(_always_holds, others)) and (first in _MEDIA or _always_holds(first))


def _always_holds(feature: str) -> bool:
    found = _FEATURE.fullmatch(feature)
    if not found or found["bound"] is None:
        return bool(found)
    pixels = float(found["number"]) * (1 if found["unit"] in (None, "px") else 16)
    return pixels <= SMALLEST_PIXELS if found["bound"] == "min" else pixels >= LARGEST_PIXELS


def is_never_on_screen(begin: str) -> bool:
    """Return whether an at-rule's block is for paper, or has the steps of an animation."""
    begin = begin.lower()
    return "keyframes" in begin[:MAX_CHARS] or begin.split() == ["@media", "print"]
