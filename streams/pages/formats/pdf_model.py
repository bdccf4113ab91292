"""The parts of a page of a PDF: words, lines and tables, and lines that are drawn.

Lengths are points, from the lower left corner of the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from streams.pages.formats.office.tables import Cell


class Word(NamedTuple):
    """Letters between two spaces."""

    text: str
    left: float
    right: float


class Box(NamedTuple):
    """A rectangle whose sides are parallel to the page's."""

    left: float
    bottom: float
    right: float
    top: float

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.bottom <= y <= self.top


class Rule(NamedTuple):
    """A straight line that is drawn across or down the page."""

    at: float
    """Its height if it goes across; its distance from the left if it goes down."""
    begin: float
    end: float


@dataclass(slots=True)
class Rules:
    """The straight lines of a page."""

    across: list[Rule] = field(default_factory=list)
    down: list[Rule] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, a part of a line that a wide gap ends, or a whole table."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float
    """Size of the font of the first letter."""
    bold: bool = False
    fixed: bool = False
    """True if the font is one of fixed width, as for code."""
    source: int = 0
    """Number of the line in the file. Parts of a line have the same number."""
    order: int = 0
    """Place of the line or part in the file."""
    words: tuple[Word, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    """The rows of a table."""

    @property
    def middle(self) -> float:
        return (self.bottom + self.top) / 2


def join_parts(lines: Sequence[Line]) -> list[Line]:
    """Join neighbours that are parts of one line."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last is None or not _is_part(last, line):
            joined.append(line)
            continue
        joined[-1] = replace(
            last,
            text=f"{last.text} {line.text}",
            right=line.right,
            bottom=min(last.bottom, line.bottom),
            top=max(last.top, line.top),
            fixed=last.fixed and line.fixed,
            words=(*last.words, *line.words),
        )
    return joined


def _is_part(line: Line, other: Line) -> bool:
    """Return whether the second line goes on with the first at the same height."""
    if line.source != other.source or line.rows or other.rows or other.left < line.left:
        return False
    return abs(line.middle - other.middle) <= OTHER_LINE * line.size


def group_rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Return lines that stand beside each other as rows from top to bottom, each from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (-line.middle, line.left)):
        if rows and rows[-1][0].middle - line.middle <= SAME_ROW * min(line.size, rows[-1][0].size):
            rows[-1].append(line)
        else:
            rows.append([line])
    for row in rows:
        row.sort(key=lambda line: line.left)
    return rows


OTHER_LINE = 0.7
"""Minimum distance of the middles of two lines, as a multiple of the size. Indices are nearer."""
SAME_ROW = 0.35
"""Maximum distance of the middles of two lines in one row, as a multiple of the smaller font's size."""
