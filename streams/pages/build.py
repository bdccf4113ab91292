"""Kept segments -> the containers and blocks of a document, by the grammar of docs/reference/document.md.

Whatever elements a page used, what comes out is valid: a list holds items alone, a table sections, rows and cells, a
definition list terms and definitions; what stands where the grammar has no place for it gets the element that is
missing around it, or loses the one that is too many.
"""

import re
from collections.abc import Callable, Iterable

from streams.pages.document import Block, Container, Span
from streams.pages.walk import Segment, Walk

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_FLOW = frozenset({"", "blockquote", "li", "dt", "dd", "th", "td", "caption", "figure", "figcaption"})
_OPENERS = frozenset({"blockquote", "ul", "ol", "dl", "table", "figure"})
_ALIASES = {"menu": "ul", "dir": "ul"}
_SECTIONS = frozenset({"thead", "tbody", "tfoot"})
_CHILDREN = {
    "ul": frozenset({"li"}),
    "ol": frozenset({"li"}),
    "dl": frozenset({"dt", "dd"}),
    "table": _SECTIONS | {"caption"},
    "thead": frozenset({"tr"}),
    "tbody": frozenset({"tr"}),
    "tfoot": frozenset({"tr"}),
    "tr": frozenset({"th", "td"}),
}
_MISSING = {
    "ul": "li",
    "ol": "li",
    "dl": "dd",
    "table": "tbody",
    "thead": "tr",
    "tbody": "tr",
    "tfoot": "tr",
    "tr": "td",
}
_INNER = frozenset(_MISSING) | _OPENERS | _HEADINGS | {"pre", "li", "dt", "dd", "th", "td", "caption", "figcaption"}
MAX_SPAN = 50
"""Columns that one cell may span: more are a mistake, and would be a way to blow a page up."""

_CODE_LANGUAGE = re.compile(
    r"(?:^|[\s_-])(?:lang(?:uage)?|highlight(?:-source)?|brush:?|sourceCode)[-\s:]+([A-Za-z0-9+#.]+)"
)
_NO_LANGUAGE = frozenset(
    {"none", "plain", "text", "plaintext", "default", "notranslate", "pre", "code", "block", "box"}
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]+")

Resolve = Callable[[str], str]
"""A link as written -> absolute, or empty when it leads nowhere."""


class Builder:
    """Gathers containers and blocks; one instance per page."""

    def __init__(self, walk: Walk, resolve: Resolve, kept: Iterable[Segment]) -> None:
        self._walk = walk
        self._resolve = resolve
        self._containers: list[Container] = []
        self._blocks: list[Block] = []
        self._places: dict[int, tuple[int, str]] = {}
        self._made: dict[tuple[int, str, int], int] = {}
        self._layout = _layout_tables(walk)
        self._rows: dict[int, list[int]] = {}
        for segment in kept:
            self._add(segment)

    def result(self) -> tuple[tuple[Container, ...], tuple[Block, ...]]:
        return tuple(self._containers), tuple(self._blocks)

    def _add(self, segment: Segment) -> None:
        place, tag = self._place(segment.element)
        text, spans = segment.text, segment.spans
        if not text.isprintable() and tag != "pre" and _CONTROL.search(text):
            text, spans = " ".join(_CONTROL.sub(" ", text).split()), []
            if not text:
                return
        place = self._completed(place, segment)
        language = self._code_language(segment.element) if tag == "pre" else ""
        self._blocks.append(Block(tag, text, place, self._spans(spans, len(text), tag), language))

    def _place(self, element: int) -> tuple[int, str]:
        """The container of an element's text, and the tag of its blocks. Known for each element once."""
        known = self._places.get(element)
        if known is not None:
            return known
        if element < 0:
            return -1, "p"
        tag = self._walk.tags[element]
        tag = _ALIASES.get(tag, tag)
        place, block = self._place(self._walk.parents[element])
        if tag in _HEADINGS or tag == "pre":
            block = tag
        elif tag in _INNER and element not in self._layout:
            place = self._entered(place, tag, element)
            if tag in _OPENERS:
                block = "p"
        self._places[element] = place, block
        return place, block

    def _entered(self, place: int, tag: str, element: int) -> int:
        """Where `tag` leads from `place`: a new container, with those that are missing between, or nowhere new."""
        current = self._containers[place].tag if place >= 0 else ""
        while current in _MISSING and tag not in _CHILDREN[current]:
            if tag not in _OPENERS and not self._reaches(current, tag):
                return place
            place = self._new(place, _MISSING[current], -element - 2)
            current = self._containers[place].tag
        if current in _FLOW and tag not in _OPENERS and not (tag == "figcaption" and current == "figure"):
            return place
        return self._new(place, tag, element)

    @staticmethod
    def _reaches(current: str, tag: str) -> bool:
        while current in _MISSING:
            if tag in _CHILDREN[current]:
                return True
            current = _MISSING[current]
        return False

    def _completed(self, place: int, segment: Segment) -> int:
        """Text straight in a list or row gets the item or cell that is missing."""
        while place >= 0 and (missing := _MISSING.get(self._containers[place].tag)):
            place = self._new(place, missing, -id(segment) - 2)
        return place

    def _new(self, parent: int, tag: str, key: int) -> int:
        made = self._made.get((parent, tag, key))
        if made is None:
            made = len(self._containers)
            self._containers.append(Container(tag, parent))
            self._made[parent, tag, key] = made
        return made

    def _spans(self, spans: list[tuple[int, int, str, str, str]], length: int, tag: str) -> tuple[Span, ...]:
        found = []
        for start, end, kind, target, label in spans:
            if kind == "link" or kind == "image":
                target = self._resolve(target)
                if not target:
                    continue
            elif tag in _HEADINGS and kind in ("strong", "em") and start == 0 and end == length:
                continue
            found.append(Span(start, end, kind, target, label))
        # Outer before inner: what starts first, then what ends last.
        found.sort(key=lambda span: (span.start, -span.end))
        return tuple(dict.fromkeys(found))

    def _code_language(self, element: int) -> str:
        for _ in range(3):
            if element < 0:
                break
            found = _CODE_LANGUAGE.search(self._walk.attributes[element].get("class") or "")
            if found and found[1].lower() not in _NO_LANGUAGE:
                return found[1].lower()
            element = self._walk.parents[element]
        return ""


def _layout_tables(walk: Walk) -> frozenset[int]:
    """Elements of tables that only lay a page out: the table says so, or holds another table and no heading cell."""
    if "table" not in walk.tags:
        return frozenset()
    tags, parents = walk.tags, walk.parents
    owner: list[int] = []
    nested, headed = set(), set()
    for index, tag in enumerate(tags):
        above = owner[parents[index]] if parents[index] >= 0 else -1
        if tag == "table":
            if above >= 0:
                nested.add(above)
            above = index
        elif tag in ("th", "caption", "thead") and above >= 0:
            headed.add(above)
        owner.append(above)
    layout = {
        index
        for index, tag in enumerate(tags)
        if tag == "table"
        and (
            walk.attributes[index].get("role") in ("presentation", "none") or (index in nested and index not in headed)
        )
    }
    table_parts = _SECTIONS | {"table", "caption", "tr", "th", "td"}
    return frozenset(index for index, tag in enumerate(tags) if tag in table_parts and owner[index] in layout)
