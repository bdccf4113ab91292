"""Tables of a PDF whose cells are drawn with lines across and down.

A cell spans columns or rows where no line is between them. Rows without lines between them are told apart by their
text, if each of them has text in most columns.
"""

import itertools
from collections.abc import Iterator, Sequence

from streams.pages.formats.converted import join_lines
from streams.pages.formats.office.tables import Cell
from streams.pages.formats.pdf_cells import cell_of, mark_headings, table_line
from streams.pages.formats.pdf_model import Box, Line, Rule, Rules, Word, group_rows

MAX_RULES = 120
"""Maximum number of lines that are drawn in one direction, after parts of one line are joined. More are a drawing."""
NEAR = 3.0
"""Maximum distance of lines that meet (points)."""
MAX_CELLS = 4_000
"""Maximum number of cells of a table."""
MIN_FILLED = 0.4
"""Minimum share of cells with text. A drawing with lines has fewer."""
MAX_MEAN_CHARS = 300
"""Maximum mean length of cells (characters). Boxes around columns of a page have longer texts."""
ROWS_WITHOUT_LINES = 3
"""Minimum number of rows that are told apart by their text."""
FULL_ROW = 0.75
"""Minimum share of the columns that have text in such a row, on average."""

_Place = tuple[int, int]
"""Row and column of a cell, from the top left."""


def read_ruled(lines: Sequence[Line], rules: Rules) -> list[Line]:
    """Return the lines of a page, in which one line has each table that is drawn with lines across and down."""
    found = list(lines)
    for grid in _grids(rules):
        box = grid.box
        inside = [line for line in found if not line.rows and box.holds((line.left + line.right) / 2, line.middle)]
        rows = grid.fill(inside) if inside else ()
        if rows:
            gone = {id(line) for line in inside}
            place = next(index for index, line in enumerate(found) if id(line) in gone)
            rest = [line for line in found[place:] if id(line) not in gone]
            found = [*found[:place], table_line(rows, inside), *rest]
    return found


class _Grid:
    """Lines that meet each other."""

    def __init__(self, across: Sequence[Rule], down: Sequence[Rule]) -> None:
        self._across, self._down = across, down
        self.xs = _edges(down, across)
        """The edges of the columns, from the left."""
        self.ys = _edges(across, down)[::-1]
        """The edges of the rows, from the top."""

    @property
    def is_table(self) -> bool:
        columns, rows = len(self.xs) - 1, len(self.ys) - 1
        return columns >= 2 and rows >= 2 and columns * rows <= MAX_CELLS

    @property
    def box(self) -> Box:
        return Box(self.xs[0] - NEAR, self.ys[-1] - NEAR, self.xs[-1] + NEAR, self.ys[0] + NEAR)

    def fill(self, lines: Sequence[Line]) -> tuple[tuple[Cell, ...], ...]:
        """Return the rows of the table with these lines; nothing if they are no table."""
        text_rows = group_rows(lines)
        self._divide_rows(text_rows)
        texts: dict[_Place, list[str]] = {}
        bold: dict[_Place, bool] = {}
        for text_row in text_rows:
            own: dict[_Place, list[str]] = {}
            for line in text_row:
                row = _place(self.ys, line.middle, descending=True)
                for word in line.words or (Word(line.text, line.left, line.right),):
                    place = row, _place(self.xs, (word.left + word.right) / 2)
                    own.setdefault(place, []).append(word.text)
                    bold.setdefault(place, line.bold)
            for place, words in own.items():
                texts.setdefault(place, []).append(" ".join(words))
        return self._rows(texts, bold)

    def _divide_rows(self, text_rows: Sequence[Sequence[Line]]) -> None:
        """Add edges between rows of text that no lines divide."""
        for top, bottom in list(zip(self.ys, self.ys[1:], strict=False)):
            inside = [row for row in text_rows if bottom < row[0].middle < top]
            filled = [len({_place(self.xs, (line.left + line.right) / 2) for line in row}) for row in inside]
            if len(inside) < ROWS_WITHOUT_LINES or sum(filled) < FULL_ROW * (len(self.xs) - 1) * len(inside):
                continue
            if all(row[0].left < self.xs[1] for row in inside):
                edges = [(above[0].middle + below[0].middle) / 2 for above, below in itertools.pairwise(inside)]
                self.ys = sorted({*self.ys, *edges}, reverse=True)
                self._across = [*self._across, *(Rule(edge, self.xs[0], self.xs[-1]) for edge in edges)]

    def _rows(self, texts: dict[_Place, list[str]], bold: dict[_Place, bool]) -> tuple[tuple[Cell, ...], ...]:
        taken: set[_Place] = set()
        rows: list[tuple[Cell, ...]] = []
        filled = cells = chars = 0
        for row in range(len(self.ys) - 1):
            own: list[Cell] = []
            for column in range(len(self.xs) - 1):
                if (row, column) in taken:
                    continue
                width, height = self._span(row, column, taken)
                places = [(row + down, column + right) for down in range(height) for right in range(width)]
                taken.update(places)
                text = join_lines([part for place in places for part in texts.get(place, ())], divides_words=True)
                is_bold = any(bold.get(place, False) for place in places)
                own.append(cell_of(text, is_bold=is_bold, columns=width, rows=height))
                cells, filled, chars = cells + 1, filled + bool(text), chars + len(text)
            if any(cell.html for cell in own):
                rows.append(tuple(own))
        columns = {column for _, column in texts}
        is_table = filled >= MIN_FILLED * cells and chars <= MAX_MEAN_CHARS * filled
        return mark_headings(rows) if is_table and len(rows) >= 2 and len(columns) >= 2 else ()

    def _span(self, row: int, column: int, taken: set[_Place]) -> tuple[int, int]:
        """Return over how many columns and rows a cell goes."""
        width, height = 1, 1
        while (
            column + width < len(self.xs) - 1
            and (row, column + width) not in taken
            and not self._is_divided(self._down, self.xs[column + width], *self._heights(row))
        ):
            width += 1
        while row + height < len(self.ys) - 1 and not any(
            self._is_divided(self._across, self.ys[row + height], self.xs[one], self.xs[one + 1])
            for one in range(column, column + width)
        ):
            height += 1
        return width, height

    def _heights(self, row: int) -> tuple[float, float]:
        return self.ys[row + 1], self.ys[row]

    @staticmethod
    def _is_divided(rules: Sequence[Rule], at: float, begin: float, end: float) -> bool:
        middle = (begin + end) / 2
        return any(abs(rule.at - at) <= NEAR and rule.begin <= middle <= rule.end for rule in rules)


def _grids(rules: Rules) -> Iterator[_Grid]:
    """Yield the tables that lines draw: those that meet each other, directly or over others."""
    across, down = join_rules(rules.across), join_rules(rules.down)
    if not down or len(across) < 2 or max(len(across), len(down)) > MAX_RULES:
        return
    left = set(range(len(down)))
    free = set(range(len(across)))
    while free:
        rows, columns = [free.pop()], list[int]()
        waiting = [(True, rows[0])]
        while waiting:
            is_row, one = waiting.pop()
            others, found = (left, columns) if is_row else (free, rows)
            near = [
                other
                for other in others
                if (_meet(across[one], down[other]) if is_row else _meet(across[other], down[one]))
            ]
            others.difference_update(near)
            found += near
            waiting += [(not is_row, other) for other in near]
        if columns:
            grid = _Grid([across[one] for one in rows], [down[one] for one in columns])
            if grid.is_table:
                yield grid


def join_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Join the parts of a line, as cells have borders of their own."""
    groups: list[list[Rule]] = []
    for rule in sorted(rules):
        if groups and rule.at - groups[-1][0].at <= NEAR / 2:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    joined: list[Rule] = []
    for group in groups:
        group.sort(key=lambda rule: rule.begin)
        for place, rule in enumerate(group):
            if place and rule.begin <= joined[-1].end + NEAR:
                joined[-1] = joined[-1]._replace(end=max(joined[-1].end, rule.end))
            else:
                joined.append(rule._replace(at=group[0].at))
    return joined


def _meet(across: Rule, down: Rule) -> bool:
    return across.begin - NEAR <= down.at <= across.end + NEAR and down.begin - NEAR <= across.at <= down.end + NEAR


def _edges(rules: Sequence[Rule], others: Sequence[Rule]) -> list[float]:
    """Return the places of lines, and the ends of those that cross them, in ascending order."""
    ends = [min(other.begin for other in others), max(other.end for other in others)]
    edges: list[float] = []
    for at in sorted([rule.at for rule in rules] + ends):
        if not edges or at - edges[-1] > NEAR:
            edges.append(at)
    return edges


def _place(edges: Sequence[float], at: float, *, descending: bool = False) -> int:
    """Return the number of the column or row at a place."""
    inner = edges[1:-1]
    return sum(at < edge if descending else at >= edge for edge in inner)
