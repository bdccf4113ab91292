"""The cells of a PDF's tables, and which of them are headings."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape, unescape

from streams.pages.formats.converted import clean
from streams.pages.formats.office.tables import Cell
from streams.pages.formats.pdf_model import Line

_Rows = Sequence[Sequence[Cell]]


def cell_of(text: str, *, is_bold: bool, columns: int = 1, rows: int = 1) -> Cell:
    return Cell(escape(clean(text), quote=False), columns=columns, rows=rows, is_bold=is_bold and bool(text))


def table_line(rows: tuple[tuple[Cell, ...], ...], lines: Sequence[Line]) -> Line:
    """Return one line that has a table in place of these lines."""
    return Line(
        text=" ".join(unescape(cell.html) for row in rows for cell in row if cell.html),
        left=min(line.left for line in lines),
        right=max(line.right for line in lines),
        bottom=min(line.bottom for line in lines),
        top=max(line.top for line in lines),
        size=lines[0].size,
        source=min(line.source for line in lines),
        order=min(line.order for line in lines),
        rows=rows,
    )


def join_headings(rows: _Rows, count: int) -> list[Sequence[Cell]]:
    """Join the first rows of headings, column by column, unless they have numbers: then they are data."""
    if count < 2 or any(cell.html and _is_number(cell.html) for row in rows[:count] for cell in row):
        return list(rows)
    joined = [
        replace(cells[0], html=" ".join(cell.html for cell in cells if cell.html))
        for cells in zip(*rows[:count], strict=True)
    ]
    return [joined, *rows[count:]]


def mark_headings(rows: _Rows, *, first_has_line: bool = False) -> tuple[tuple[Cell, ...], ...]:
    """Mark the headings of a table's first row, and the second row below a heading of several columns.

    The first row has headings if only it is bold, if a line divides it from the others (`first_has_line`), or if it
    has no digits and a column below it has only numbers.
    """
    marked = [tuple(row) for row in rows]
    if len(marked) < 2:
        return tuple(marked)
    is_bold = _is_bold(marked[0]) and not all(map(_is_bold, marked[1:]))
    if not (is_bold or first_has_line or _names_numbers(marked)):
        return tuple(marked)
    count = 2 if len(marked) > 2 and any(cell.columns > 1 for cell in marked[0]) and len(marked[0]) > 1 else 1
    for place in range(count):
        marked[place] = tuple(replace(cell, is_header=True) for cell in marked[place])
    return tuple(marked)


def _is_bold(row: Sequence[Cell]) -> bool:
    filled = [cell.is_bold for cell in row if cell.html]
    return bool(filled) and all(filled)


def _names_numbers(rows: _Rows) -> bool:
    """Return whether the first row has no digits, and a column below it has only numbers."""
    first, rest = rows[0], rows[1:]
    if any(letter.isdigit() for cell in first for letter in cell.html) or sum(bool(cell.html) for cell in first) < 2:
        return False
    width = len(first)
    return any(
        first[column].html
        and all(_is_number(row[column].html) for row in rest if len(row) == width)
        and sum(len(row) == width and bool(row[column].html) for row in rest) >= max(1, len(rest) // 2)
        for column in range(1, width)
    )


def _is_number(text: str) -> bool:
    """Return whether at least half of a text is digits; true for an empty one."""
    shown = [letter for letter in text if not letter.isspace()]
    return 2 * sum(letter.isdigit() or letter in "-–−.,%" for letter in shown) >= len(shown)
