"""The classes and ids that a page's own style sheets hide.

Only rules with a selector of one element (`.note`, `p.note`, `#note.old`) outside of conditions are read. A rule hides
nothing if another rule of the page names one of its classes or ids and shows the element again (`.tab.active`,
`.js .menu`). External style sheets are not read. Everything takes linear time, and has a limit: the author of a page
may be hostile.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from streams.pages.parse.hiding_styles import HIDING, declares, how_hidden, may_hide, read_declarations, remove_comments

MAX_SHEET_CHARS = 1_000_000
"""Maximum length of a page's style sheets that are read (characters). Rules behind it hide nothing."""
MAX_SELECTORS = 500
"""Maximum number of selectors that hide elements. The first of a page count."""
MAX_SELECTORS_OF_NAME = 8
"""Maximum number of hiding selectors with the same first class or id: each is compared with each such element."""
_BRACES = re.compile(r"([{}])")
_SIMPLE = re.compile(r"([a-z][a-z0-9]*+)?((?:[.#][\w-]++)++)", re.IGNORECASE)
_NAME = re.compile(r"[.#][\w-]++")
_SCREEN = re.compile(r"@media (?:only )?(?:all|screen)\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of one element: its element name (or empty), and its classes (`.name`) and id (`#name`)."""

    tag: str
    names: frozenset[str]


Rule = tuple[str, str, bool]
"""Selector, declarations, and whether a condition (`@media`) is around it."""


class HidingRules:
    """The classes and ids that a page's own style sheets hide."""

    def __init__(self, sheets: Iterable[str]) -> None:
        rules = list(_rules(sheets))
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


def _rules(sheets: Iterable[str]) -> Iterator[Rule]:
    """Yield the rules of the sheets, without rules for paper and without the steps of animations."""
    left = MAX_SHEET_CHARS
    for sheet in sheets:
        yield from _rules_of_sheet(sheet[:left])
        left -= len(sheet)
        if left <= 0:
            return


def _rules_of_sheet(sheet: str) -> Iterator[Rule]:
    around: list[str] = []
    """The beginnings of the blocks that are open: at-rules, or rules with rules inside."""
    text = ""
    for part in _BRACES.split(remove_comments(sheet)):
        if part == "{":
            around.append(text.rpartition(";")[2].strip())
            text = ""
        elif part == "}":
            begin = around.pop() if around else ""
            if begin and not begin.startswith("@") and not any(map(_is_never_on_screen, around)):
                yield begin, text, not all(map(_SCREEN.match, around))
            text = ""
        else:
            text = part


def _is_never_on_screen(begin: str) -> bool:
    begin = begin.lower()
    return begin.startswith("@") and ("keyframes" in begin or begin.split() == ["@media", "print"])


def _hiding_selectors(rules: Iterable[Rule]) -> Iterator[tuple[Selector, str]]:
    """Yield each simple selector that hides its elements unconditionally, with the way; at most MAX_SELECTORS."""
    count = 0
    for begin, body, is_conditional in rules:
        if is_conditional or not may_hide(body) or not (way := how_hidden(read_declarations(body))):
            continue
        for written in begin.split(","):
            if found := _SIMPLE.fullmatch(written.strip()):
                yield Selector((found[1] or "").lower(), frozenset(_NAME.findall(found[2]))), way
                count += 1
                if count == MAX_SELECTORS:
                    return


def _shown_again(rules: Iterable[Rule], hiding: Mapping[Selector, str]) -> set[tuple[str, str]]:
    """Return each class and id with the way to hide it that another rule takes back."""
    ways: dict[str, set[str]] = {}
    for selector, way in hiding.items():
        for name in selector.names:
            ways.setdefault(name, set()).add(way)
    shown: set[tuple[str, str]] = set()
    for begin, body, _ in rules:
        if not (named := {name for name in _NAME.findall(begin) if name in ways}):
            continue
        declared = read_declarations(body)
        for name in named:
            shown.update((name, way) for way in ways[name] if declares(declared, way) and not HIDING[way](declared))
    return shown
