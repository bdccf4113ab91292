"""Texts that a reader may not see: their markup or their style can hide them, and what a browser does is not known.

What surely nobody sees is left out (`hidden`). All else that can hide a text is a doubt: it stays searchable, with less
weight, and is not quoted (`docs/reference/document.md`). So it is enough to know which properties can hide, and which
of their values surely hide nothing. The attribute on an element is read after the walk, and belongs to this process.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import BLOCK, HEADING, KINDS, PRE, state_above, unknown_ancestors
from streams.pages.parse.hiding.colours import Colour, contrast, read_colour
from streams.pages.parse.hiding.hidden import Hidden
from streams.pages.parse.hiding.risks import INITIAL, cuts, has_risks, may_hide, may_need_room
from streams.pages.parse.hiding.rules import (
    MAX_QUERIED,
    ON_SOME_SCREENS,
    NamedElements,
    Rule,
    is_costly,
    matching,
    selected,
    selectors_on_page,
)
from streams.pages.parse.hiding.styles import (
    Declarations,
    background,
    is_drawn_otherwise,
    may_colour,
    read_declarations,
    written_colour,
)
from streams.pages.parse.segments import Walk

MARK, OWN, SHOWN = "data-riffle-doubt", "own", "shown"
"""The attribute of a doubtful element, and its values for an element of which only its own text is doubtful, and for
one that is shown within a doubtful one. Else it is empty."""
STAMP = "data-riffle-judged"
"""The attribute of the root of a document whose texts our own browser judged, and marked if no reader sees them."""
_SELECTOR = f"[{MARK}], [style], font[color], template[shadowrootmode]"
_SURE, _BY_SIZE, _BY_OTHERS = range(3)
_OWN_SIZE = re.compile(r"[0-9.]{1,9}(?:px|pt|pc|cm|mm|in|rem|vw|vh|vmin|vmax)|(?:xx?-)?(?:small|large)|medium")
"""Sizes of letters that are not shares of the size around them."""
MAX_MATCHES = 200_000
"""Maximum number of elements, each once for each selector, of which the strongest rule for the colour is searched."""
_MIN_CONTRAST = 1.4
"""Minimum contrast of letters and paper (WCAG 2.2, 1.4.3) that is surely seen. Texts for all readers have 4.5."""
_LIGHTNESS = re.compile(r"(ok)?(?:lch|lab)\( ?([0-9]{1,3}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(%?) ")
_MIN_LIGHTNESS = 0.85
_Strength = tuple[bool, int, int, int]
_COLOUR_FUNCTION = re.compile(r"[a-z-]{1,20}\(")
_PALE_NAMES = """
    aliceblue antiquewhite azure beige blanchedalmond cornsilk floralwhite gainsboro ghostwhite honeydew ivory lavender
    lavenderblush lemonchiffon lightcyan lightgoldenrodyellow lightyellow linen mintcream mistyrose oldlace papayawhip
    seashell snow white whitesmoke
"""
_PALE = frozenset(_PALE_NAMES.split())
"""Names of colours that are hardly seen on white (CSS Color 4)."""
_WHITE = Colour(255, 255, 255)


def mark_doubts(tree: LexborHTMLParser, hidden: Hidden) -> bool:
    """Mark the doubtful elements of a page; return whether there are any."""
    # One query for all, because the time of each query grows with the tree.
    queried = {node.mem_id: node for node in tree.css(_SELECTOR)}.values()
    for node in queried:
        if MARK in node.attributes:
            del node.attrs[MARK]
    by_style = {node.mem_id: (node, is_by_size) for node, is_by_size in _by_style(queried)}
    by_rules = list[LexborNode]()
    if named := hidden.named:
        by_rules += (*_by_rules(tree, hidden.rules, named), *_pale_by_rules(tree, hidden.rules, named))
        hidden.rules, hidden.named = (), None  # not needed any more, and large on a large page
    others = (*hidden.kept, *_without_slot(queried), *by_rules)
    found = {node.mem_id: node for node in (*(node for node, _ in by_style.values()), *others)}
    by_size = {each for each, (_, is_by_size) in by_style.items() if is_by_size}.difference(
        node.mem_id for node in others
    )
    marked = [
        node for node in found.values() if node.mem_id not in hidden.ways and node.tag not in ("html", "body", "head")
    ]
    for node in marked:
        node.attrs[MARK] = ""
    if by_size:
        _mark_sized_again(tree, found, by_size)
    _mark_blocks(marked)
    return bool(found)


def is_judged(tree: LexborHTMLParser) -> bool:
    """Return whether a document has the stamp of our own browser, if that made the document."""
    return tree.root is not None and STAMP in tree.root.attributes


def keep_marks(tree: LexborHTMLParser, hidden: Hidden) -> bool:
    """Prepare the marks of a page that a browser judged by its computed style; return whether there are any.

    They decide: what the page's own style seems to hide is shown if the browser showed its text.
    """
    marked = tree.css(f"[{MARK}]")
    _mark_blocks(marked)
    hidden.nodes = [node for node in hidden.nodes if MARK in node.attributes or node.css_first(f"[{MARK}]")]
    hidden.ways = {node.mem_id: hidden.ways[node.mem_id] for node in hidden.nodes}
    return bool(marked)


def _mark_sized_again(tree: LexborHTMLParser, doubtful: Collection[int], by_size: Collection[int]) -> None:
    """Mark as shown what has a size of its own within elements that only the size of their letters may hide.

    Spaces between boxes are closed in this way.
    """
    causes: dict[int, int] = {}

    def cause_of(node: LexborNode) -> int:
        above = state_above(node, causes, _SURE)
        if node.mem_id in doubtful:
            return max(above, _BY_SIZE if node.mem_id in by_size else _BY_OTHERS)
        return _SURE if above == _BY_SIZE and _has_own_size(node) else above

    for node in tree.css('[style*="font-size" i]'):
        for element in (*unknown_ancestors(node, causes), node):
            causes[element.mem_id] = cause_of(element)
        if causes[node.mem_id] == _SURE and state_above(node, causes, _SURE) != _SURE:
            node.attrs[MARK] = SHOWN


def _has_own_size(node: LexborNode) -> bool:
    """Return whether a style sets the size of letters, whatever the size around it, and hides nothing."""
    declared = read_declarations(node.attributes.get("style") or "")
    return _OWN_SIZE.fullmatch(declared.get("font-size", "")) is not None and not may_hide(declared)


def _mark_blocks(nodes: Iterable[LexborNode]) -> None:
    """Mark the blocks around the doubtful elements of lines, and the headings and listings around those blocks.

    In a heading and in a listing, a block is no element of the walk: its text is theirs.
    """
    passed: set[int] = set()
    nearest = [block for node in nodes if (block := _mark_above(node, (BLOCK, HEADING, PRE), passed, with_itself=True))]
    passed = set()
    for block in nearest:
        whole: LexborNode | None = block
        while whole is not None:
            whole = _mark_above(whole, (HEADING, PRE), passed)


def _mark_above(
    node: LexborNode, kinds: Collection[int], passed: set[int], *, with_itself: bool = False
) -> LexborNode | None:
    """Mark the nearest element of some kinds above a node, and return it; None if the way to it was passed."""
    above = node if with_itself else node.parent
    while above is not None and above.mem_id not in passed:
        passed.add(above.mem_id)
        if KINDS.get(above.tag_id) in kinds:
            if above.mem_id != node.mem_id and above.attributes.get(MARK, SHOWN) == SHOWN:
                above.attrs[MARK] = "" if MARK in above.attributes else OWN
            return above
        above = above.parent
    return None


def doubtful_elements(page: Walk) -> frozenset[int]:
    """Return the elements of a walk whose text is doubtful: those with a mark, and those below them."""
    ends, found = page.ends(), bytearray(len(page.tags))
    for element, attributes in enumerate(page.attributes):
        if not attributes or MARK not in attributes:
            continue
        mark = attributes[MARK]
        if mark == OWN:
            found[element] = True
        else:
            is_doubtful = mark is not None and mark != SHOWN
            found[element : ends[element]] = bytes([is_doubtful]) * (ends[element] - element)
    return frozenset(compress(range(len(found)), found))


def _without_slot(nodes: Iterable[LexborNode]) -> Iterator[LexborNode]:
    """Yield the elements whose place in the page is taken by a shadow tree without a place for them."""
    for node in nodes:
        is_shadow = node.tag == "template" and "shadowrootmode" in node.attributes
        if is_shadow and node.parent is not None and "<slot" not in (node.html or ""):
            yield node.parent


def _by_style(nodes: Iterable[LexborNode]) -> Iterator[tuple[LexborNode, bool]]:
    """Yield the elements that their own style may hide, each with whether only the size of its letters does so."""
    papers = _Papers()
    for node in nodes:
        attributes = node.attributes
        if "style" not in attributes and not (node.tag == "font" and "color" in attributes):
            continue
        style = attributes.get("style") or ""
        if node.tag not in ("font", "marquee") and "color" not in style.lower() and not has_risks(style):
            continue
        declared = read_declarations(style)
        if node.tag == "font" and attributes.get("color"):
            declared = {"color": (attributes["color"] or "").lower(), **declared}
        if node.tag == "marquee":
            declared = {"overflow": "hidden", **declared}
        has_pale = _is_pale(node, declared, papers)
        if has_pale or may_hide(declared):
            others = {name: value for name, value in declared.items() if name not in ("font", "font-size")}
            yield node, not has_pale and not may_hide(others)


def _by_rules(tree: LexborHTMLParser, rules: Sequence[Rule], named: NamedElements) -> Iterator[LexborNode]:
    """Yield the elements that a rule of the page's own style sheets may hide, whatever its selector is."""
    found: list[str] = []
    small: list[str] = []
    for begin, body, is_conditional in rules:
        if is_conditional == ON_SOME_SCREENS or not (has_risks(body) or may_need_room(body)):
            continue
        selectors = list(selectors_on_page(begin, named.names))
        declared = read_declarations(body) if selectors else {}
        if may_hide(declared):
            found += selectors
        elif may_hide({"overflow": "hidden", **declared}):
            small += selectors
    yield from selected(tree, found, named)
    if small:
        yield from _cut_off(tree, small, rules, named)


def _cut_off(
    tree: LexborHTMLParser, small: Sequence[str], rules: Sequence[Rule], named: NamedElements
) -> Iterator[LexborNode]:
    """Yield the elements without room of which another rule, or their own style, cuts off what is outside."""
    cutting = [
        selector
        for begin, body, is_conditional in rules
        if is_conditional != ON_SOME_SCREENS and "overflow" in body.lower() and cuts(read_declarations(body))
        for selector in selectors_on_page(begin, named.names)
    ]
    cut = {node.mem_id for node in selected(tree, ["[style*=overflow i]", *cutting], named)}
    yield from (node for node in selected(tree, small, named) if node.mem_id in cut)


# Letters that may have nearly the colour of the paper, which is white where nothing else is declared


def _is_pale(node: LexborNode, declared: Declarations, papers: "_Papers") -> bool:
    """Return whether letters may have nearly the colour of the paper, which is white where nothing else is declared."""
    if not _has_pale_letters(declared):
        return False
    return _colour_of_letters(declared) is None or background(declared) is not False or not papers.are_above(node)


def _has_pale_letters(declared: Declarations) -> bool:
    """Return whether letters may have nearly the colour of the background that they declare, or of white paper."""
    written = written_colour(declared)
    if written in INITIAL or "var(" in written or is_drawn_otherwise(declared):
        return False
    own = background(declared)
    if own is True:
        return False
    if (letters := _colour_of_letters(declared)) is not None:
        return contrast(letters, own if isinstance(own, Colour) else _WHITE) < _MIN_CONTRAST
    if own is False and "/" not in written and (found := _LIGHTNESS.match(written)):
        return float(found[2]) / (1 if found[1] and not found[3] else 100) >= _MIN_LIGHTNESS
    return _COLOUR_FUNCTION.match(written) is not None


def _colour_of_letters(declared: Declarations) -> Colour | None:
    written = written_colour(declared)
    return _WHITE if written in _PALE else read_colour(written)


class _Papers:
    """The elements within a background that they, or elements above, declare. The backgrounds by rules are given."""

    def __init__(self, by_rules: Collection[int] = (), white: Collection[int] = ()) -> None:
        self._by_rules = by_rules
        self._white = white
        self._are_within: dict[int, bool] = {}

    def are_above(self, node: LexborNode) -> bool:
        for element in unknown_ancestors(node, self._are_within):
            self._are_within[element.mem_id] = self._is_within(element)
        return state_above(node, self._are_within, False)

    def are_behind(self, node: LexborNode) -> bool:
        self.are_above(node)
        return self._is_within(node)

    def _is_within(self, element: LexborNode) -> bool:
        attributes = element.attributes if element.tag not in ("html", "-document") else {}
        if "bgcolor" in attributes or "background" in (attributes.get("style") or "").lower():
            return background(read_declarations(attributes.get("style") or "")) != _WHITE
        if element.mem_id in self._by_rules or element.mem_id in self._white:
            return element.mem_id in self._by_rules
        return state_above(element, self._are_within, False)


def _pale_by_rules(tree: LexborHTMLParser, rules: Sequence[Rule], named: NamedElements) -> Iterator[LexborNode]:
    """Yield the elements whose letters may have nearly the colour of the paper by a rule, and no stronger one."""
    pale: dict[str, _Strength] = {}
    others: dict[str, _Strength] = {}
    papers: list[str] = []
    white: list[str] = []
    on_own: set[str] = set()
    for order, (begin, body, is_conditional) in enumerate(rules):
        if is_conditional == ON_SOME_SCREENS or not may_colour(body):
            continue
        selectors = list(selectors_on_page(begin, named.names))
        declared = read_declarations(body) if selectors else {}
        if paper := background(declared):
            (white if paper == _WHITE else papers).extend(selectors)
        if written_colour(declared):
            are_pale = _has_pale_letters(declared)
            for selector in selectors:
                (pale if are_pale else others)[selector] = _strength(selector, body, order)
            on_own.update(selectors if are_pale and paper else ())
    if not pale:
        return
    own, by_rules, by_white = (
        {node.mem_id for node in selected(tree, selectors, named)} for selectors in (on_own, papers, white)
    )
    behind = _Papers(by_rules, by_white)
    found = {
        node.mem_id: node
        for node in selected(tree, pale, named)
        if (node.mem_id in own or not behind.are_behind(node)) and "color:" not in (node.attributes.get("style") or "")
    }
    if found and others:
        strengths = _strengths(tree, pale, found)
        for each, strength in _strengths(tree, others, found).items():
            if strength > strengths.get(each, strength):
                del found[each]
    yield from found.values()


def _strength(selector: str, body: str, order: int) -> _Strength:
    """Return what decides between rules: whether it is important, its ids, its classes and the like, and its place."""
    ids, classes = selector.count("#"), sum(map(selector.count, ".[:"))
    return "!important" in body, ids, classes, order


def _strengths(
    tree: LexborHTMLParser, selectors: Mapping[str, _Strength], elements: Collection[int]
) -> dict[int, _Strength]:
    """Return the strength of the strongest of the selectors for each of the elements. The first selectors count."""
    most = min(MAX_QUERIED, MAX_MATCHES // (len(elements) + 1))
    some = [selector for selector in selectors if not is_costly(selector)][:most]
    found: dict[int, _Strength] = {}
    for selector in sorted(some, key=selectors.__getitem__):
        for node in matching(tree, [selector]):
            if node.mem_id in elements:
                found[node.mem_id] = selectors[selector]
    return found
