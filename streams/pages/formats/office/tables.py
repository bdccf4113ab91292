"""The tables of Office files, as HTML. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

MAX_SPAN = 1_000
"""Maximum number of columns or rows of one cell, as in HTML."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    html: str
    columns: int = 1
    rows: int = 1
    is_header: bool = False
    is_bold: bool = False
    continues_above: bool = False
    """It is a part of the cell above it, and has no content of its own."""


def table(rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table; nothing for one without text.

    Its first row has the headers if no others are declared, and only it is bold.
    """
    if not any(cell.html for row in rows for cell in row):
        return ""
    parts = ["<table>"]
    declared = any(cell.is_header for row in rows for cell in row)
    first = not declared and len(rows) > 1 and _is_bold(rows[0]) and not any(map(_is_bold, rows[1:]))
    for number, row in enumerate(rows):
        parts.append("<tr>")
        for cell in row:
            tag = "th" if cell.is_header or (first and not number) else "td"
            spans = "".join(
                f' {name}="{min(count, MAX_SPAN)}"'
                for name, count in (("colspan", cell.columns), ("rowspan", cell.rows))
                if count > 1
            )
            parts.append(f"<{tag}{spans}>{cell.html}</{tag}>")
        parts.append("</tr>")
    return "".join((*parts, "</table>"))


def _is_bold(row: Iterable[Cell]) -> bool:
    """Return whether all cells of a row that have text are bold."""
    filled = [cell.is_bold for cell in row if cell.html]
    return bool(filled) and all(filled)


def merge_down(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return rows in which a cell that goes on below has a number of rows, and the cells below it are gone."""
    merged: list[list[Cell]] = []
    above: dict[int, tuple[int, int]] = {}
    """The cell of each column that may go on: its row, and its place there."""
    for row in rows:
        kept: list[Cell] = []
        column = 0
        for cell in row:
            if cell.continues_above and column in above:
                at, place = above[column]
                merged[at][place] = replace(merged[at][place], rows=merged[at][place].rows + 1)
            else:
                above[column] = (len(merged), len(kept))
                kept.append(replace(cell, continues_above=False))
            column += cell.columns
        merged.append(kept)
    return merged
