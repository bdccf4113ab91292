"""Makes the containers and blocks of a document from kept segments, by the grammar of docs/reference/document.md.

The result is valid for any page: a list has only items, a table sections, rows and cells, a definition list terms and
definitions. An element in a place that the grammar does not allow gets the missing element around it, or is left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from streams.pages.document.model import Block, Container, Span
from streams.pages.parse.elements import HEADINGS
from streams.pages.parse.pairs import pairs_of
from streams.pages.parse.segments import Part, Segment, Walk
from streams.pages.text.language import language_tag

FLOW = frozenset({"", "blockquote", "li", "dt", "dd", "th", "td", "caption", "figure", "figcaption"})
OPENERS = frozenset({"blockquote", "ul", "ol", "dl", "table", "figure"})
ALIASES = {"menu": "ul", "dir": "ul"}
_SECTIONS = frozenset({"thead", "tbody", "tfoot"})
CHILDREN = {
    "ul": frozenset({"li"}),
    "ol": frozenset({"li"}),
    "dl": frozenset({"dt", "dd"}),
    "table": _SECTIONS | {"caption"},
    "thead": frozenset({"tr"}),
    "tbody": frozenset({"tr"}),
    "tfoot": frozenset({"tr"}),
    "tr": frozenset({"th", "td"}),
}
MISSING = {
    "ul": "li", "ol": "li", "dl": "dd", "table": "tbody", "thead": "tr", "tbody": "tr", "tfoot": "tr", "tr": "td",
}  # fmt: skip
_INNER = {*MISSING, *OPENERS, *HEADINGS, "pre", "li", "dt", "dd", "th", "td", "caption", "figcaption"}
MAX_SPAN = 50
"""Maximum columns of one cell. A larger colspan is a mistake, or an attempt to make the document huge."""
MAX_ROWS, MAX_COLUMNS, MAX_HUNG = 1_000, 200, 10_000
"""Maximum rows of one cell, maximum columns with cells that span rows, and maximum empty cells added for them."""

_CODE_LANGUAGE = re.compile(
    r"(?:^|[\s_-])(?:"
    r"(?:(?:lang(?:uage)?|brush:?|sourceCode)[-\s:]+|src\s+src-)([A-Za-z0-9+#.]{1,30}(?:-[A-Za-z0-9+#.]{1,30}){0,2})"
    r"|highlight-(?:(?:source|text|lang)-)?([A-Za-z0-9+#.]{1,30}))(?![A-Za-z0-9+#.])"
)
_NO_LANGUAGE_TEXT = """
    none txt auto plain text plaintext default notranslate pre code block box source container wrap wrapper lines line
    area content copy header title toolbar theme
"""
_NO_LANGUAGE = frozenset(_NO_LANGUAGE_TEXT.split())
_CODE_LANGUAGES_TEXT = """
    actionscript ada apache applescript arduino asm assembly awk bash bat batch c c# c++ clojure cmake cobol
    coffeescript console cpp crystal cs csharp css csv cuda cython dart delphi diff django docker dockerfile dos
    elixir elm emacs-lisp erlang f# fortran fsharp glsl go golang gradle graphql groovy haml handlebars haskell hcl
    html http ini java javascript jinja jinja2 js json json5 jsonc jsx julia kotlin latex less lisp lua makefile
    markdown mathematica matlab ml mysql nginx nim nix objc objective-c objectivec ocaml pascal perl php pl postgresql
    powershell prolog protobuf puppet py pycon python python3 racket rb rst ruby rust sass scala scheme scss sh shell
    smalltalk solidity sql svelte swift tcl terraform tex toml ts tsx twig typescript vb vbnet verilog vhdl vim vue
    wasm xml xquery yaml yml zig zsh
"""
_CODE_LANGUAGES = frozenset(_CODE_LANGUAGES_TEXT.split())
"""Names of highlight.js and Pygments that are languages even without a prefix: they hardly have another meaning."""
_HIGHLIGHTED = frozenset({"highlight", "hljs", "codehilite", "prettyprint", "code", "sourcecode", "syntax", "source"})
"""Classes of an element around the text that make such a name beside them a language."""
_SPOKEN = frozenset({"cs", "ml", "pl"})
"""Names that are Czech, Malayalam and Polish in `lang`."""
_LETTERING = frozenset({"strong", "em", "code"})
"""Spans that highlighters make. They have no meaning in preformatted text."""
_KIND_ORDER = {"link": 0, "strong": 1, "em": 2, "code": 3, "math": 4, "image": 5, "footnote": 6}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]+")

Resolve = Callable[[str], str]
"""Makes a link absolute. Returns an empty text for a link that leads nowhere."""


class Builder:
    """Collects the containers and blocks of one page."""

    def __init__(self, walk: Walk, resolve: Resolve, kept: Iterable[Segment], *, clean: bool = False) -> None:
        self._walk = walk
        self._resolve = resolve
        self._containers: list[Container] = []
        self._blocks: list[Block] = []
        self.elements: list[int] = []
        """The element of the walk that each block was made from."""
        self._places: dict[int, tuple[int, str]] = {}
        self._made: dict[tuple[int, str, int], int] = {}
        self._layout = frozenset() if clean else layout_tables(walk)
        self._parts: Mapping[int, Part] = {} if clean else pairs_of(walk)
        self._cells = _cells(walk)
        self._implied = self._hung = 0
        self._hanging: dict[int, list[tuple[int, int]]] = {}
        """For each section of a table, the number of further rows that a cell of each column spans, and the cell."""
        self._languages = Languages(walk)
        for segment in kept:
            self._add(segment)

    def result(self) -> tuple[tuple[Container, ...], tuple[Block, ...]]:
        return tuple(self._containers), tuple(self._blocks)

    def _add(self, segment: Segment) -> None:
        text, spans = segment.text, segment.spans
        controls = not text.isprintable() and _CONTROL.search(text) is not None
        if controls and not _CONTROL.sub("", text).strip():
            return
        place, tag = self._place(segment.element)
        if controls and tag != "pre":
            lines = (" ".join(line.split()) for line in _CONTROL.sub(" ", text).split("\n"))
            text, spans = "\n".join(line for line in lines if line), []
        place = self._add_missing(place)
        language = self._languages.of(segment.element, tag)
        self._blocks.append(Block(tag, text, place, self._spans(spans, len(text), tag), language))
        self.elements.append(segment.element)

    def _place(self, element: int) -> tuple[int, str]:
        """Return the container of an element's text, and the tag of its blocks. Computed once for each element."""
        chain = []
        while element >= 0 and element not in self._places:
            chain.append(element)
            element = self._walk.parents[element]
        place, block = self._places[element] if element >= 0 else (-1, "p")
        chain.reverse()
        for inner, below in zip(chain, [*chain[1:], -1], strict=False):
            tag = self._walk.tags[inner]
            tag = ALIASES.get(tag, tag)
            if self._is_around_name(inner, below):
                continue
            if (part := self._parts.get(inner)) is not None:
                place, block = self._enter_part(part, inner), "p"
            elif tag in HEADINGS or tag == "pre":
                block = tag
            elif tag in _INNER and inner not in self._layout:
                place = self._enter(place, tag, inner)
                if tag in OPENERS:
                    block = "p"
            self._places[inner] = place, block
        return place, block

    def _is_around_name(self, element: int, below: int) -> bool:
        """Return whether an element is the description around its own name, which the document has before it."""
        around, name = self._parts.get(element), self._parts.get(below)
        if around is None or name is None or around.group != name.group:
            return False
        return (around.tag, name.tag) == ("dd", "dt")

    def _enter_part(self, part: Part, element: int) -> int:
        """Enter a name or a description that the page writes without a `dl`."""
        group = self._enter(self._places[part.above][0], "dl", part.group)
        return self._new(group, part.tag, element) if self._containers[group].tag == "dl" else group

    def _enter(self, place: int, tag: str, element: int) -> int:
        """Enter an element: add its container and the missing ones around it, or stay if no container is allowed."""
        current = self._containers[place].tag if place >= 0 else ""
        while current in MISSING and tag not in CHILDREN[current]:
            if tag not in OPENERS and not self._reaches(current, tag):
                return place
            place = self._new(place, MISSING[current], -1_000_000_000 - element)
            current = self._containers[place].tag
        if current in FLOW and tag not in OPENERS and not (tag == "figcaption" and current == "figure"):
            return place
        entered = self._new(place, tag, element)
        if tag == "tr":
            self._row(entered, element)
        return entered

    def _row(self, row: int, element: int) -> None:
        """Make all cells of a row, since a cell's position is its column.

        Cells without text are made, too, and empty cells below a cell that spans this row.
        """
        hanging = self._hanging.setdefault(self._containers[row].parent, [])
        column = 0
        for cell in self._cells.get(element, ()):
            column = self._hang(row, hanging, column)
            tag, attributes = self._walk.tags[cell], self._walk.attributes[cell]
            made = self._new(row, tag, cell)
            columns = columns_of(attributes.get("colspan") or "")
            for extra in range(columns - 1):
                self._new(row, tag, -2_000_000_000 - cell * MAX_SPAN - extra, made)
            below, end = rows_of(attributes.get("rowspan") or "") - 1, min(column + columns, MAX_COLUMNS)
            if column < end and (below or column < len(hanging)):
                hanging += [(0, -1)] * (end - len(hanging))
                hanging[column:end] = [(below, made)] * (end - column)
            column += columns
        while (column := self._hang(row, hanging, column)) < len(hanging):
            left, by = hanging[column]
            hanging[column] = max(left - 1, 0), by
            column += 1

    def _hang(self, row: int, hanging: list[tuple[int, int]], column: int) -> int:
        """Make the cells of a row from this column on that cells above span. Returns the first other column."""
        while column < len(hanging) and hanging[column][0] and self._hung < MAX_HUNG:
            left, by = hanging[column]
            hanging[column] = left - 1, by
            self._hung += 1
            self._implied += 1
            self._new(row, "td", -self._implied, by)
            column += 1
        return column

    @staticmethod
    def _reaches(current: str, tag: str) -> bool:
        while current in MISSING:
            if tag in CHILDREN[current]:
                return True
            current = MISSING[current]
        return False

    def _add_missing(self, place: int) -> int:
        """Add the missing item or cell around text that is directly in a list or row."""
        while place >= 0 and (missing := MISSING.get(self._containers[place].tag)):
            self._implied += 1
            place = self._new(place, missing, -self._implied)
        return place

    def _new(self, parent: int, tag: str, key: int, spanned_by: int = -1) -> int:
        made = self._made.get((parent, tag, key))
        if made is None:
            made = len(self._containers)
            self._containers.append(Container(tag, parent, spanned_by))
            self._made[parent, tag, key] = made
        return made

    def _spans(self, spans: list[tuple[int, int, str, str, str]], length: int, tag: str) -> tuple[Span, ...]:
        if not spans:
            return ()
        found = []
        for start, end, kind, target, label in spans:
            if kind == "link" or kind == "image":
                target = self._resolve(target)
                if not target:
                    continue
            elif is_idle(kind, tag, start == 0 and end == length):
                continue
            found.append(Span(start, end, kind, target, label))
        return sort_spans(found)


def is_idle(kind: str, tag: str, is_whole: bool) -> bool:
    """Return whether emphasis or code has no meaning: in preformatted text, or around all of a heading."""
    return kind in _LETTERING if tag == "pre" else is_whole and tag in HEADINGS and kind in ("strong", "em")


def sort_spans(spans: list[Span]) -> tuple[Span, ...]:
    """Sort spans by start, empty spans first, outer before inner. Duplicates are removed."""
    if len(spans) < 2:
        return tuple(spans)
    spans.sort(key=lambda span: (span.start, span.end > span.start, -span.end, _KIND_ORDER[span.kind]))
    return tuple(dict.fromkeys(spans))


class Languages:
    """The languages of blocks, as the markup declares them."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._declared = {
            element: language.lower()
            for element, value in walk.named("lang").items()
            if element and (language := language_tag(value))
        }

    def of(self, element: int, tag: str) -> str:
        """Return the declared language of a block with this tag in this element; empty if none is declared."""
        return self._of_code(element) if tag == "pre" else self._of_text(element) if self._declared else ""

    def _of_text(self, element: int) -> str:
        """Return the language that the nearest declaring element declares."""
        while element > 0:
            language = self._declared.get(element)
            if language is not None:
                return language
            element = self._walk.parents[element]
        return ""

    def _of_code(self, element: int) -> str:
        """Return the programming language in the classes of the nearest three elements, or in the text's own `lang`."""
        for level in range(3):
            if element < 0:
                break
            attributes = self._walk.attributes[element]
            classes = attributes.get("class") or ""
            for found in _CODE_LANGUAGE.finditer(classes):
                language = (found[1] or found[2]).lower()
                if language not in _NO_LANGUAGE:
                    return language
            names = classes.lower().split()
            if level == 0:
                own = (attributes.get("lang") or "").strip().lower()
                if own in _CODE_LANGUAGES and own not in _SPOKEN:
                    return own
            elif _HIGHLIGHTED.isdisjoint(names):
                names = []
            for name in names:
                if name in _CODE_LANGUAGES:
                    return name
            element = self._walk.parents[element]
        return ""


def columns_of(colspan: str) -> int:
    """Return the number of columns of a cell, by its colspan."""
    return min(max(int(colspan[:9]), 1), MAX_SPAN) if colspan.isascii() and colspan.isdigit() else 1


def rows_of(rowspan: str) -> int:
    """Return the number of rows of a cell, by its rowspan. 0 means all other rows of its table section."""
    return min(int(rowspan[:9]) or MAX_ROWS, MAX_ROWS) if rowspan.isascii() and rowspan.isdigit() else 1


def _cells(walk: Walk) -> dict[int, list[int]]:
    """Return the cells of each row element."""
    found: dict[int, list[int]] = {}
    for index, tag in enumerate(walk.tags):
        if tag == "td" or tag == "th":
            found.setdefault(walk.parents[index], []).append(index)
    return found


def layout_tables(walk: Walk) -> frozenset[int]:
    """Return the elements of tables that only lay out the page.

    They have a role that says so, a table inside and no header cell, or one cell.
    """
    if "table" not in walk.tags:
        return frozenset()
    tags, parents = walk.tags, walk.parents
    owner: list[int] = []
    nested, headed = set(), set()
    cells: Counter[int] = Counter()
    for index, tag in enumerate(tags):
        above = owner[parents[index]] if parents[index] >= 0 else -1
        if tag == "table":
            if above >= 0:
                nested.add(above)
            above = index
        elif tag in ("th", "caption", "thead") and above >= 0:
            headed.add(above)
        elif tag == "td" and above >= 0:
            cells[above] += 1
        owner.append(above)
    layout = {
        index
        for index, tag in enumerate(tags)
        if tag == "table"
        and (
            walk.attributes[index].get("role") in ("presentation", "none")
            or (index not in headed and (index in nested or cells[index] == 1))
        )
    }
    table_parts = _SECTIONS | {"table", "caption", "tr", "th", "td"}
    return frozenset(index for index, tag in enumerate(tags) if tag in table_parts and owner[index] in layout)
