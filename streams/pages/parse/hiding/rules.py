"""The rules of a page's own style sheets: the classes and ids that they hide, and the elements that selectors match.

For what is surely hidden only rules with a selector of one element (`.note`, `p.note`, `#note.old`) are read, outside
of conditions or inside of those that hold on every screen (`@media screen`, `@supports (display: grid)`, `@layer`). A
rule hides nothing if another rule of the page names one of its classes or ids and shows the element again
(`.tab.active`, `.js .menu`).
External style sheets are not read. Everything takes linear time, and has a limit: the author of a page may be hostile.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from streams.pages.parse.hiding.styles import (
    HIDING,
    declares,
    how_hidden,
    may_hide,
    read_declarations,
    remove_syntax,
    unescape,
)

MAX_SHEET_CHARS = 1_000_000
"""Maximum length of a page's style sheets that are read (characters). Rules behind it hide nothing."""
MAX_SELECTORS = 500
"""Maximum number of selectors that hide elements. The first of a page count."""
MAX_SELECTORS_OF_NAME = 8
"""Maximum number of hiding selectors with the same first class or id: each is compared with each such element."""
MAX_SEARCHED_NAMES = 16
"""Maximum number of hidden classes and ids that are searched for in each selector, before the selector is taken apart.
"""
MAX_DEPTH = 32
"""Maximum number of blocks around a rule that is read."""
MAX_OUTER_CHARS = 300
"""Maximum characters of a selector that count for the rules inside its rule."""
_SIMPLE = re.compile(r"([a-z][a-z0-9]*+)?((?:[.#](?:[\w-]++|\\.)++)++)?", re.IGNORECASE)
_COMBINATORS = re.compile(r"[\s>+~]++")
_PLAIN_NAME = re.compile(r"[.#][A-Za-z][A-Za-z0-9_-]*+")
_NAME = re.compile(r"[.#](?:[\w-]++|\\[0-9a-fA-F]{1,6}\s?|\\.)++")
SMALLEST_PIXELS, LARGEST_PIXELS = 360.0, 3_840.0
"""Sizes that each screen has at least, and that none has more of (pixels)."""
MAX_CHARS = 500
"""Maximum length of a condition that is read (characters). A longer one is not known to hold."""
_FEATURE = re.compile(
    r"\( ?(?:color|(?P<bound>min|max)-(?:device-)?(?:width|height) ?: ?"
    r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?)(?P<unit>px|em|rem)?) ?\)"
)
_MEDIA = frozenset({"all", "screen", "only all", "only screen", "not print"})
_SUPPORTED = re.compile(r"\( ?[a-z][a-z-]*+ ?:[^()]*+(?:\([^()]*+\)[^()]*+)?\)")
MAX_QUERIED = 100
"""Maximum number of selectors of a page that are matched with its elements, each in about the time of a small page."""
MAX_SELECTOR_CHARS = 300
MAX_STEPS = 400_000_000
"""Maximum number of steps of selectors whose time grows with the square of the number of elements."""
_COSTLY = re.compile(r":nth-|of-type|:has\(|:not\([^()]*[\s>+~]")
_MOMENTARY = re.compile(
    r"(?<!\\):(?:[:-]|hover|active|focus|target|visited|checked|before|after|first-letter|first-line)"
)
"""Pseudo-classes and -elements of a moment, such as `:hover`: what they do is no style of the page at rest."""
_LASTING = re.compile(r"(?<!\\):(?:(?:defined|read-only)(?![\w-])|(?:lang|dir)\([^()]*\))")
_SIMPLE_LASTING = ("link", "defined", "read-only")
"""Words of which a selector without brackets that _LASTING or _LINKS are found in has one."""
_LINKS = re.compile(r"(?<!\\):(?:any-)?link(?![\w-])")
_ALWAYS, _NEVER = ":not(_)", ":hover"
_CHOICE = re.compile(r":(not|is|where|has)\(([^()]*)\)")
_MAX_NESTED = 3
_ATTRIBUTE = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector of one element: its element name (or empty), and its classes (`.name`) and id (`#name`)."""

    tag: str
    names: frozenset[str]

    def matches(self, tag: str, names: frozenset[str]) -> bool:
        """Return whether an element with this name, and with these classes and id, is selected."""
        return self.names <= names and self.tag in ("", tag)


Attributes = Mapping[str, str | None]
Rule = tuple[str, str, int]
"""Selector, declarations, and whether conditions are around it: 0 for none, else ON_SOME_SCREENS or IN_CONTAINERS."""
ON_SOME_SCREENS, IN_CONTAINERS = 1, 2
"""A condition that some screen does not meet, and one that each part of a page meets which is a container."""


class NamedElements:
    """The elements of a page with a class or an id. Those with the same ones are kept together: pages repeat them."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._alike: dict[tuple[str | None, str | None], list[LexborNode]] = {}
        self._by_name: dict[str, list[tuple[str | None, str | None]]] = {}
        for node in tree.css("[class], [id]:not([class])"):
            attributes = node.attributes
            key = attributes.get("class"), attributes.get("id")
            if (alike := self._alike.get(key)) is not None:
                alike.append(node)
                continue
            self._alike[key] = [node]
            for name in names_of(attributes):
                self._by_name.setdefault(name, []).append(key)
        self.names = frozenset(self._by_name)

    def matching(self, simple: Mapping[str, Sequence["Selector"]]) -> Iterator[LexborNode]:
        """Yield the elements that match any of the selectors, which are by their first class or id."""
        keys = dict.fromkeys(key for name in simple for key in self._by_name.get(name, ()))
        for key in keys:
            names = names_of({"class": key[0], "id": key[1]})
            tags = {each.tag for name in names for each in simple.get(name, ()) if each.names <= names}
            yield from self._alike[key] if "" in tags else (node for node in self._alike[key] if node.tag in tags)


class HidingRules:
    """The classes and ids that a page's own style sheets hide. `names` are those that the page's elements have."""

    def __init__(self, rules: Sequence[Rule], names: frozenset[str]) -> None:
        hiding = dict(_hiding_selectors(rules, names))
        shown = _shown_again(rules, hiding) if hiding else set()
        self._by_name: dict[str, list[tuple[Selector, str]]] = {}
        for selector, way in hiding.items():
            of_name = self._by_name.setdefault(min(selector.names), [])
            if len(of_name) < MAX_SELECTORS_OF_NAME and shown.isdisjoint((name, way) for name in selector.names):
                of_name.append((selector, way))

    def __bool__(self) -> bool:
        return any(self._by_name.values())

    def selector(self) -> str:
        """Return a selector of all elements that the rules may hide: fewer than have a class or an id, if possible."""
        names = [name for name, selectors in self._by_name.items() if selectors]
        are_few = len(names) <= MAX_SEARCHED_NAMES and all(map(_PLAIN_NAME.fullmatch, names))
        return ", ".join(names) if are_few else "[class], [id]"

    def how_hidden(self, tag: str, names: frozenset[str], declared: Collection[str] = ()) -> str:
        """Return how the rules hide an element with these classes and this id; empty if they don't.

        A property of its own style, in `declared`, decides instead of the rules. Of several ways the first counts.
        """
        ways = {
            way
            for name in names
            for selector, way in self._by_name.get(name, ())
            if way not in declared and selector.matches(tag, names)
        }
        return next((way for way in HIDING if way in ways), "") if ways else ""


def read_rules(sheets: Iterable[str]) -> Iterator[Rule]:
    """Yield the rules of the sheets, without rules for paper and without the steps of animations."""
    left = MAX_SHEET_CHARS
    for sheet in sheets:
        yield from _rules_of_sheet(sheet[:left])
        left -= len(sheet)
        if left <= 0:
            return


def rules_on_page(rules: Iterable[Rule], names: frozenset[str]) -> Iterator[Rule]:
    """Leave out the rules of one selector whose classes and ids no element of the page has.

    Sheets are written for whole sites, so most rules are for other pages.
    """
    for rule in rules:
        begin = rule[0]
        if "," in begin or "(" in begin or not (own := _list_names(begin)) or not names.isdisjoint(own):
            yield rule


def _rules_of_sheet(sheet: str) -> Iterator[Rule]:
    """Yield a sheet's rules, each when it ends. At the end of the sheet all open ones end, as in browsers."""
    # The texts between the braces. Those behind a closing one begin with it.
    parts = remove_syntax(sheet).replace("}", "{}").split("{")
    blocks: list[_Block] = []
    text, index, count = parts[0], 1, len(parts)
    while index < count:
        inner = parts[index]
        index += 1
        if inner[:1] == "}":
            if blocks:
                yield from _end_block(blocks.pop(), text)
            text = inner[1:]
            continue
        around = blocks[-1] if blocks else None
        if not blocks and index < count and parts[index][:1] == "}" and ";" not in text:
            begin = text.strip()
            if begin[:1] != "@":  # a rule within nothing, as most are
                if begin:
                    yield begin, inner, 0
                text = parts[index][1:]
                index += 1
                continue
        declarations, _, begin = text.rpartition(";")
        begin = begin.strip()
        is_too_deep = len(blocks) >= MAX_DEPTH
        if index < count and parts[index][:1] == "}" and begin[:1] != "@" and not (around and around.selector):
            if begin and not is_too_deep and not (around and around.is_left_out):
                yield begin, inner, around.is_conditional if around else 0
            text = parts[index][1:]
            index += 1
            continue
        if around and around is not _TOO_DEEP:
            around.texts.append(declarations)
        blocks.append(_TOO_DEEP if is_too_deep else _begin_block(begin, around))
        text = inner
    while blocks:
        yield from _end_block(blocks.pop(), text)
        text = ""


@dataclass(slots=True)
class _Block:
    """A block that is open: of a rule, or of an at-rule around rules, or around declarations of the rule around it."""

    selector: str
    """The selector of the declarations in it; empty if they are of no element."""
    is_conditional: int
    is_left_out: bool
    texts: list[str]
    """Its declarations so far, before and between the blocks inside."""


_TOO_DEEP = _Block("", ON_SOME_SCREENS, True, [])


def _begin_block(begin: str, around: _Block | None) -> _Block:
    selector, is_conditional, is_left_out = ("", 0, False)
    if around:
        selector, is_conditional, is_left_out = around.selector, around.is_conditional, around.is_left_out
    if begin.startswith("@"):
        if not holds_on_each_screen(begin):
            is_likely = begin.startswith("@container") and holds_on_each_screen(f"@media{begin[10:]}")
            is_conditional = IN_CONTAINERS if is_likely and is_conditional != ON_SOME_SCREENS else ON_SOME_SCREENS
        return _Block(selector, is_conditional, is_left_out or is_never_on_screen(begin), [])
    if selector and begin != "&":  # a rule in a rule is of other elements, or of some of these only
        outer = selector[-MAX_OUTER_CHARS:]
        inner = begin.replace("&", outer, 1) if "&" in begin else f"{outer} {begin}"
        return _Block(inner, is_conditional, is_left_out, [])
    return _Block(selector or begin, is_conditional, is_left_out, [])


def _end_block(block: _Block, text: str) -> Iterator[Rule]:
    if block.selector and not block.is_left_out:
        yield block.selector, ";".join([*block.texts, text]), block.is_conditional


def _hiding_selectors(rules: Iterable[Rule], names: frozenset[str]) -> Iterator[tuple[Selector, str]]:
    """Yield each simple selector that hides elements of the page unconditionally, with the way.

    At most MAX_SELECTORS. Sheets are written for whole sites: most rules are for elements that the page doesn't have.
    """
    count = 0
    for begin, body, is_conditional in rules:
        if is_conditional or (" " in begin and "," not in begin) or not may_hide(body):
            continue
        found = [selector for written in begin.split(",") if (selector := read_selector(written.strip()))]
        found = [selector for selector in found if selector.names and selector.names <= names]
        if not found or not (way := how_hidden(read_declarations(body))):
            continue
        for selector in found:
            yield selector, way
            count += 1
            if count == MAX_SELECTORS:
                return


def read_selector(written: str) -> Selector | None:
    """Return a selector of one element, by its name, classes and id; None for another one."""
    found = _SIMPLE.fullmatch(written)
    return Selector((found[1] or "").lower(), names_in(found[2] or "")) if found and written else None


def names_of(attributes: Attributes) -> frozenset[str]:
    """Return the classes and the id of an element, as selectors have them."""
    classes, own = attributes.get("class"), attributes.get("id")
    names = ["." + name for name in classes.split()] if classes else []
    return frozenset([*names, "#" + own] if own else names)


def names_in(selector: str) -> frozenset[str]:
    """Return the classes and ids of a selector, as elements have them."""
    return frozenset(_list_names(selector))


def _list_names(selector: str) -> list[str]:
    found: list[str] = _NAME.findall(selector)
    return [*map(unescape, found)] if "\\" in selector else found


def last_part(selector: str) -> str:
    """Return the part of a selector for the element itself, behind those for the elements around it."""
    return _COMBINATORS.split(selector)[-1]


def _shown_again(rules: Iterable[Rule], hiding: Mapping[Selector, str]) -> set[tuple[str, str]]:
    """Return each class and id with the way to hide it that another rule takes back."""
    ways: dict[str, set[str]] = {}
    for selector, way in hiding.items():
        for name in selector.names:
            ways.setdefault(name, set()).add(way)
    shown: set[tuple[str, str]] = set()
    are_few = len(ways) <= MAX_SEARCHED_NAMES
    for begin, body, _ in rules:
        if are_few and "\\" not in begin and not any(map(begin.__contains__, ways)):
            continue
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


def selected(tree: LexborHTMLParser, selectors: Iterable[str], named: NamedElements) -> Iterator[LexborNode]:
    """Yield the elements that match any of the selectors.

    Those that the limits leave out are matched by the classes and ids of their last part.
    """
    queried: list[str] = []
    simple: dict[str, list[Selector]] = {}
    most_costly: int | None = None
    for written in dict.fromkeys(selectors):
        selector = read_selector(written)
        if selector is None:
            costs = is_costly(written)
            if costs and most_costly is None:
                most_costly = MAX_STEPS // (len(tree.css("*")) ** 2 + 1)
            if len(queried) < MAX_QUERIED and not (costs and most_costly == 0):
                most_costly = most_costly - 1 if costs and most_costly else most_costly
                queried.append(written)
                continue
            selector = Selector("", names_in(last_part(_ATTRIBUTE.sub("", _CHOICE.sub("", written)))))
        _add_simple(simple, selector)
    yield from matching(tree, queried)
    yield from _with_names(tree, simple, named)


def is_costly(selector: str) -> bool:
    """Return whether the time of a selector grows with the square of the number of elements."""
    return _COSTLY.search(selector) is not None


def _add_simple(simple: dict[str, list[Selector]], selector: Selector) -> None:
    if key := min(selector.names, default=selector.tag):
        of_key = simple.setdefault(key, [])
        of_key.append(selector)
        if len(of_key) > MAX_SELECTORS_OF_NAME:
            of_key[:] = [Selector("", frozenset({key}))]


def _with_names(
    tree: LexborHTMLParser, simple: Mapping[str, Sequence[Selector]], named: NamedElements
) -> Iterator[LexborNode]:
    """Yield the elements of simple selectors, which are by their first class or id, or by their element."""
    yield from named.matching(simple)
    if tags := [key for key in simple if key[0] not in ".#"]:
        # The parser compares each element with each selector.
        asked = ", ".join(tags) if len(tags) <= MAX_QUERIED else "*"
        yield from (node for node in tree.css(asked) if node.tag in simple)


def matching(tree: LexborHTMLParser, selectors: Sequence[str]) -> Iterator[LexborNode]:
    """Yield the elements that match any of the selectors: by one query of all, if the parser can read each of them."""
    try:
        yield from tree.css(", ".join(selectors)) if selectors else ()
    except (SelectolaxError, ValueError, RuntimeError):
        half = len(selectors) // 2
        for part in (selectors[:half], selectors[half:]) if half else ():
            yield from matching(tree, part)


def selectors_on_page(begin: str, names: frozenset[str]) -> Iterator[str]:
    """Yield the selectors of a rule whose classes and ids the page has, without those for a moment."""
    for written in _parts(begin) if "(" in begin else begin.split(","):
        selector = _at_rest(written.strip()) if len(written) <= MAX_SELECTOR_CHARS else ""
        if selector and names.issuperset(_list_names(_CHOICE.sub("", selector) if "(" in selector else selector)):
            yield selector


def _parts(begin: str) -> Iterator[str]:
    """Yield the selectors of a list: commas within brackets divide none."""
    open_parts: list[str] = []
    depth = 0
    for part in begin.split(","):
        depth += part.count("(") - part.count(")")
        open_parts.append(part)
        if depth <= 0:
            yield ",".join(open_parts)
            open_parts, depth = [], 0


def _at_rest(selector: str) -> str:
    """Return what a selector matches while nobody points at anything; empty if that is nothing."""
    if ":" not in selector:
        return selector
    if "(" not in selector and not any(name in selector for name in _SIMPLE_LASTING):
        return "" if _MOMENTARY.search(selector) else selector
    selector = _LINKS.sub("[href]", _LASTING.sub(_ALWAYS, selector))
    for _ in range(_MAX_NESTED):
        selector = _CHOICE.sub(_choose, selector)
    return "" if _MOMENTARY.search(selector) else selector


def _choose(found: re.Match[str]) -> str:
    """Return a choice of selectors without those for a moment, which match nothing at rest."""
    name, written = found.groups()
    kept = [part for part in written.split(",") if not _MOMENTARY.search(part)]
    if not kept:
        return _ALWAYS if name == "not" else _NEVER
    return f":{name}({','.join(kept)})"
