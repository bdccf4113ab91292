"""Workbooks of Excel (SpreadsheetML, ISO/IEC 29500-1, 18) -> HTML. Pure.

A sheet is a page of the file: its name, then its cells as one table, with the values as they were computed last. Hidden
sheets, rows and columns are left out, and so are formulas, comments and charts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import Any

from streams.pages.formats.converted import MAX_CHARS, clean, element, estimate_rest, page
from streams.pages.formats.office.cell_values import NumberFormats, Value
from streams.pages.formats.office.package import Package, child, relation_id
from streams.pages.formats.office.tables import Cell, table
from streams.pages.formats.zipped import attribute, local_name, number

MAX_SHEETS = 500
"""Maximum number of sheets that are read."""
MAX_COLUMNS = 16_384
"""The last column that a sheet can have (18.3.1.13)."""
MAX_GAP = 20
"""Maximum number of empty cells between two cells. Sheets have cells far apart, which no reader sees together."""
MAX_MERGED = 10_000
"""Maximum number of merged cells of a sheet."""
_PLACE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_HIDDEN = frozenset({"hidden", "veryHidden"})
_ON = frozenset({"1", "true"})


@dataclass(slots=True)
class _Marks:
    """The marks of a sheet about its cells, by row and column from 1."""

    hidden_columns: set[int] = field(default_factory=set)
    header_rows: set[int] = field(default_factory=set)
    spans: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Rows and columns of merged cells, by their first cell."""
    covered: list[tuple[int, int, int, int]] = field(default_factory=list)


class SheetsWriter:
    """Writes a workbook as HTML."""

    def __init__(self, package: Package) -> None:
        self.parts: list[str] = []
        self.chars = 0
        self.unread = 0
        self.title = ""
        self._package = package
        self._texts = _shared_texts(package.read_related(package.main, "sharedStrings"))
        self._formats = NumberFormats(
            package.read_related(package.main, "styles"),
            begins_1904=attribute(child(package.read(package.main), "workbookPr"), "date1904") in _ON,
        )

    def write(self, root: Any) -> None:
        relations = self._package.relations(self._package.main)
        listed = child(root, "sheets")
        for position, node in enumerate(listed if listed is not None else (), 1):
            relation = relations.get(relation_id(node))
            if position > MAX_SHEETS or self.chars > MAX_CHARS:
                self.unread += estimate_rest(self.chars, position - 1, len(listed))
                return
            if relation and relation.kind == "worksheet" and attribute(node, "state") not in _HIDDEN:
                self._sheet(position, attribute(node, "name"), relation.target)

    def _sheet(self, position: int, name: str, part: str) -> None:
        root = self._package.read(part)
        if root is None:
            return
        marks = self._marks(root, part)
        rows = self._rows(child(root, "sheetData"), marks)
        if rows:
            is_named = name.rstrip("0123456789") + str(position) != name  # `Tabelle3` says nothing of the third sheet
            heading = [element("h2", name)] if is_named else []
            self.title = self.title or (name if is_named else "")
            self.parts.append(page(position, [*heading, table(rows)]))

    def _marks(self, root: Any, part: str) -> _Marks:
        marks = _Marks()
        columns = child(root, "cols")
        for node in columns if columns is not None else ():
            if attribute(node, "hidden") in _ON:
                first = number(node, "min", 1)
                marks.hidden_columns |= set(range(first, min(number(node, "max", first), MAX_COLUMNS) + 1))
        merges = child(root, "mergeCells")
        for node in merges if merges is not None else ():
            if (area := _area(attribute(node, "ref"))) and len(marks.covered) < MAX_MERGED:
                top, left, bottom, right = area
                marks.spans[top, left] = (bottom - top + 1, right - left + 1)
                marks.covered.append(area)
        for relation in self._package.relations(part).values():
            grid = self._package.read(relation.target) if relation.kind == "table" else None
            if grid is not None and number(grid, "headerRowCount", 1) and (area := _area(attribute(grid, "ref"))):
                marks.header_rows.add(area[0])
        filtered = child(root, "autoFilter")
        if area := _area(attribute(filtered, "ref")):
            marks.header_rows.add(area[0])
        views = child(root, "sheetViews", "sheetView", "pane")
        if attribute(views, "state").startswith("frozen"):
            marks.header_rows |= set(range(1, min(number(views, "ySplit"), 5) + 1))
        return marks

    def _rows(self, data: Any, marks: _Marks) -> list[list[Cell]]:
        """Return the rows that have text. Empty cells between others stay."""
        rows: list[list[Cell]] = []
        at, before = 0, self.chars
        merged = _Merged(marks.covered)
        for seen, row in enumerate(data if data is not None else (), 1):
            at = number(row, "r", at + 1)
            if attribute(row, "hidden") in _ON:
                continue
            cells = self._cells(row, at, marks, merged)
            if any(cell.html for cell in cells):
                rows.append(cells)
            if self.chars > MAX_CHARS:
                self.unread += estimate_rest(self.chars - before, seen, len(data))
                break
        width = min((_leading(row) for row in rows), default=0)
        return [row[width:] for row in rows]

    def _cells(self, row: Any, at: int, marks: _Marks, merged: "_Merged") -> list[Cell]:
        cells: list[Cell] = []
        next_column = 1
        covered = merged.columns(at)
        for node in row:
            place = _PLACE.fullmatch(attribute(node, "r"))
            column = _column(place[1]) if place else next_column
            if column < next_column or column > MAX_COLUMNS:
                continue
            gap = (one for one in range(next_column, column) if one not in covered and one not in marks.hidden_columns)
            cells += [Cell("") for _ in islice(gap, MAX_GAP)]
            next_column = column + 1
            if column in marks.hidden_columns or column in covered:
                continue
            value = self._value(node)
            down, across = marks.spans.get((at, column), (1, 1))
            html = escape(clean(value.text), quote=False).replace("\n", "<br>")
            self.chars += len(value.text)
            cells.append(Cell(html, across, down, is_header=at in marks.header_rows, is_bold=value.is_bold))
        while cells and not cells[-1].html:
            cells.pop()
        return cells

    def _value(self, node: Any) -> Value:
        kind, style = attribute(node, "t", "n"), number(node, "s")
        text = "".join(child(node, "v").itertext()) if child(node, "v") is not None else ""
        is_bold = self._formats.is_bold(style)
        match kind:
            case "s":
                at = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1
                return Value(self._texts[at] if 0 <= at < len(self._texts) else "", is_bold)
            case "inlineStr":
                return Value(_text(child(node, "is")), is_bold)
            case "str" | "d":
                return Value(text.strip(), is_bold)
            case "b":
                return Value({"1": "TRUE", "0": "FALSE"}.get(text, ""), is_bold)
            case "e":
                return Value("", is_bold)
        return Value(self._formats.show(text, style), is_bold)


class _Merged:
    """The cells of a row that a merged cell covers. Rows are asked for in their order."""

    def __init__(self, areas: Sequence[tuple[int, int, int, int]]) -> None:
        self._waiting = sorted(areas, reverse=True)
        self._open: list[tuple[int, int, int, int]] = []

    def columns(self, row: int) -> set[int]:
        while self._waiting and self._waiting[-1][0] <= row:
            self._open.append(self._waiting.pop())
        self._open = [area for area in self._open if area[2] >= row]
        found: set[int] = set()
        for top, left, _, right in self._open:
            found |= set(range(left + (top == row), right + 1))
        return found


def _leading(row: Sequence[Cell]) -> int:
    """Return the number of empty cells that a row begins with."""
    return next((at for at, cell in enumerate(row) if cell.html), len(row))


def _shared_texts(root: Any) -> list[str]:
    return [_text(node) for node in (root if root is not None else ()) if local_name(node) == "si"]


def _text(node: Any) -> str:
    """Return the text of a string, without its phonetic hints (18.4.6)."""
    if node is None:
        return ""
    parts: list[str] = []
    for below in node:
        match local_name(below):
            case "t":
                parts.append(below.text or "")
            case "r":
                text = child(below, "t")
                parts.append((text.text if text is not None else "") or "")
    return "".join(parts).strip()


def _area(text: str) -> tuple[int, int, int, int] | None:
    """Return the first and the last row and column of an area: `A1:C3` -> (1, 1, 3, 3)."""
    first, _, last = text.partition(":")
    begin, end = _PLACE.fullmatch(first), _PLACE.fullmatch(last or first)
    if not begin or not end:
        return None
    top, left, bottom, right = int(begin[2]), _column(begin[1]), int(end[2]), _column(end[1])
    return (top, left, bottom, right) if top <= bottom and left <= right <= MAX_COLUMNS else None


def _column(letters: str) -> int:
    found = 0
    for letter in letters:
        found = found * 26 + ord(letter) - 64
    return found
