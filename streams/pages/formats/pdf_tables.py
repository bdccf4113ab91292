"""Tables of a PDF without lines down: parts of lines that stand below each other over several rows.

At least three rows have parts that the same gutters divide, which are wider than the spaces of justified text. Two rows
are enough if a line is drawn across between them. A line that has text only in other columns than the first goes on
with the row above it. Items of lists, tables of contents with dots, and code are no rows.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from streams.pages.formats.converted import join_lines
from streams.pages.formats.office.tables import Cell
from streams.pages.formats.pdf_cells import cell_of, join_headings, mark_headings, table_line
from streams.pages.formats.pdf_model import Line, Rule, Rules, group_rows, join_parts

MIN_ROWS = 3
"""Minimum number of rows with several parts. With a line between them, two."""
GUTTER = 1.2
"""Minimum width of the gutter of a table of two columns, as a multiple of the text's size."""
NARROW_GUTTER = 0.5
"""Minimum width of the other gutters, as a multiple of the text's size."""
ROW_DISTANCE = 3.25
"""Maximum distance of two rows, as a multiple of the text's size."""
LEADING = 1.4
"""Maximum distance of two lines of one cell, as a multiple of the text's size."""
JUSTIFIED = 0.9
"""Share of a row's width that words fill in justified text, whose gaps may stand below each other."""
MIN_FILLED = 0.5
"""Minimum number of parts of lines, as a share of the places for them."""
ROW_TURNS = 1.5
"""Minimum number of times that the file goes to another column for each row, unless cells have several lines."""
MAX_CELL_CHARS = 80
"""Maximum mean length of cells (characters)."""
MAX_COLUMNS = 30
MAX_CELL_LINES = 5
"""Maximum mean number of lines of a row whose lines are told from the next row by their distance."""
MIN_FULL = 0.8
"""Minimum share of lines that end because the next word has no room, if lines follow each other in a cell."""
SPACE = 0.25
"""Width of a space, as a multiple of the size."""
MAX_HEADING_LINES = 4
"""Maximum number of lines above a line that is drawn across, which are the headings of columns."""
_MARK = re.compile(r"(?:\d{1,3}[.)]|[A-Za-z][.)]|\(\w{1,4}\)|\[\d{1,3}\]|[^\w\s]{1,2}|[ivx]{1,5}[.)])")
"""The bullet or number of an item of a list, or the number of a formula."""
_LEADERS = re.compile(r"[.․·_]{4}|(?: \.){4}")

_Rows = Sequence[Sequence[Line]]


def read_aligned(lines: Sequence[Line], rules: Rules) -> list[Line]:
    """Return lines with their parts joined, in which one line has each table that the places of the parts show."""
    rows = group_rows(lines)
    if sum(len(row) > 1 for row in rows) < 2:
        return join_parts(lines)
    tables: dict[int, Line] = {}
    """Each table by the first of its lines in the file."""
    gone: set[int] = set()
    first = 0
    while first < len(rows):
        end = _end_of_run(rows, first)
        table = _table(rows[first:end], rules) if end - first >= 2 else None
        if table is None:
            first = end if _is_written_by_column(rows[first:end]) else first + 1
            continue
        inside = {id(line) for row in rows[first:end] for line in row}
        tables[next(id(line) for line in lines if id(line) in inside)] = table
        gone |= inside
        first = end
    found = [tables.get(id(line), line) for line in lines if id(line) in tables or id(line) not in gone]
    return join_parts(found)


def _end_of_run(rows: _Rows, first: int) -> int:
    """Return the place behind the last row that the gutters of the rows from `first` on divide."""
    if not _may_be_row(rows[first]):
        return first
    columns = _columns([], rows[first])
    most, end, last = len(rows[first]), first + 1, first + 1
    for place in range(first + 1, len(rows)):
        row, above = rows[place], rows[place - 1]
        if above[0].middle - row[0].middle > ROW_DISTANCE * row[0].size or not _may_be_row(row, alone=True):
            break
        joined = _columns(columns, row)
        most = max(most, len(row))
        if len(joined) < max(most, 2) or len(joined) > MAX_COLUMNS:
            break
        columns, end = joined, place + 1
        if len(row) > 1 or row[0].left > columns[0][1]:
            last = end
    return last


def _may_be_row(row: Sequence[Line], *, alone: bool = False) -> bool:
    if any(line.fixed or line.rows or _LEADERS.search(line.text[-160:]) for line in row):
        return False
    if len(row) == 1:
        return alone
    return not (len(row) == 2 and (_MARK.fullmatch(row[0].text) or _MARK.fullmatch(row[1].text)))


def _columns(columns: Sequence[tuple[float, float]], row: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the columns with the parts of one more row: those that stand below each other are one."""
    narrow = NARROW_GUTTER * row[0].size
    joined: list[tuple[float, float]] = []
    for left, right in sorted([*columns, *((line.left, line.right) for line in row)]):
        if joined and left - joined[-1][1] < narrow:
            joined[-1] = (joined[-1][0], max(joined[-1][1], right))
        else:
            joined.append((left, right))
    return joined


def _table(rows: _Rows, rules: Rules) -> Line | None:
    """Return the table of these rows; None if they are none."""
    lines = [line for row in rows for line in row]
    columns: list[tuple[float, float]] = []
    for row in rows:
        columns = _columns(columns, row)
    full = [row for row in rows if len(row) > 1]
    across = _between(rows, rules)
    if len(columns) < 2 or len(full) < (2 if across else MIN_ROWS) or 2 * len(full) < len(rows):
        return None
    size = median(line.size for line in lines)
    widest = max(other[0] - one[1] for one, other in pairwise(columns))
    if not across and (widest < GUTTER * size if len(columns) == 2 else widest < size):
        return None
    if fmean(len(line.text) for line in lines) > MAX_CELL_CHARS:
        return None
    if _is_written_by_column(rows):
        return None
    if len(columns) == 2 and (_is_counted(full) or (not across and median(map(_share, full)) > JUSTIFIED)):
        return None
    if len(lines) < MIN_FILLED * len(rows) * len(columns):
        return None
    if len(full) < MIN_ROWS and any(len(row) < len(columns) for row in rows):
        return None
    return table_line(_cells(rows, columns, across, size), lines)


def _share(row: Sequence[Line]) -> float:
    return sum(line.right - line.left for line in row) / max(row[-1].right - row[0].left, 1.0)


def _is_counted(rows: _Rows) -> bool:
    """Return whether the first parts count the lines of the text, or the items of a list."""
    first = [row[0].text for row in rows]
    numbers = [int(text) for text in first if text.isdecimal() and len(text) < 6]
    return len(numbers) == len(first) and all(other == one + 1 for one, other in pairwise(numbers))


def _is_written_by_column(rows: _Rows) -> bool:
    """Return whether the file goes through columns, not from cell to cell: it seldom goes to another column."""
    full = [row for row in rows if len(row) > 1]
    columns: list[tuple[float, float]] = []
    for row in rows:
        columns = _columns(columns, row)
    starts = [left for left, _ in columns]
    lines = sorted((line for row in full for line in row), key=lambda line: line.order)
    places = [bisect_right(starts, line.left + 0.1) for line in lines]
    turns = sum(one != other for one, other in pairwise(places))
    if turns >= ROW_TURNS * len(full):
        return False
    return turns < len(columns) or not _wraps(rows, columns, median(line.size for line in lines))


def _between(rows: _Rows, rules: Rules) -> list[float]:
    """Return the heights of lines that are drawn across between these rows, the highest first."""
    left, right = min(row[0].left for row in rows), max(row[-1].right for row in rows)
    top, bottom = rows[0][0].middle, rows[-1][0].middle
    return sorted(
        (rule.at for rule in rules.across if bottom < rule.at < top and _covers(rule, left, right)), reverse=True
    )


def _covers(rule: Rule, left: float, right: float) -> bool:
    return min(rule.end, right) - max(rule.begin, left) > (right - left) / 2


def _cells(
    rows: _Rows, columns: Sequence[tuple[float, float]], across: Sequence[float], size: float
) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows of the table: lines that go on with the row above are joined to it, and so are headings."""
    starts = [left for left, _ in columns]
    wraps = _wraps(rows, columns, size)
    texts: list[list[list[str]]] = []
    bold: list[list[bool]] = []
    headings = 0
    for place, row in enumerate(rows):
        own: list[list[str]] = [[] for _ in columns]
        is_bold = [False] * len(columns)
        for line in row:
            column = max(bisect_right(starts, line.left + 0.1) - 1, 0)
            own[column].append(line.text)
            is_bold[column] = line.bold
        distance = rows[place - 1][0].middle - row[0].middle if place else 0.0
        ruled = place > 0 and any(row[0].middle < at < rows[place - 1][0].middle for at in across)
        if ruled and not headings and place <= MAX_HEADING_LINES:
            headings = len(texts)
        if place and not ruled and distance <= LEADING * size and (wraps or _goes_on(own, texts[-1])):
            for cell, more in zip(texts[-1], own, strict=True):
                cell += more
        else:
            texts.append(own)
            bold.append(is_bold)
    cells = [
        tuple(
            cell_of(join_lines(text, divides_words=True), is_bold=is_bold)
            for text, is_bold in zip(row_texts, row_bold, strict=True)
        )
        for row_texts, row_bold in zip(texts, bold, strict=True)
    ]
    return mark_headings(join_headings(cells, headings), first_has_line=bool(headings))


def _wraps(rows: _Rows, columns: Sequence[tuple[float, float]], size: float) -> bool:
    """Return whether lines that follow each other closely are lines of one cell.

    Rows are further apart, and the first word of a line had no room behind the line above.
    """
    distances = [above[0].middle - below[0].middle for above, below in pairwise(rows)]
    far = sum(distance > max(1.25 * min(distances), LEADING * size) for distance in distances)
    if far < max(2, len(distances) / MAX_CELL_LINES):
        return False
    full = pairs = 0
    for (above, below), distance in zip(pairwise(rows), distances, strict=True):
        for left, right in columns if distance <= LEADING * size else ():
            own = next((line for line in below if left <= line.left <= right), None)
            before = next((line for line in reversed(above) if left <= line.left <= right), None)
            if own and before:
                word = own.words[0].right - own.left if own.words else size
                pairs += 1
                full += before.right - before.left + word + SPACE * size > right - left
    return pairs > 0 and full >= MIN_FULL * pairs


def _goes_on(own: Sequence[Sequence[str]], above: Sequence[Sequence[str]]) -> bool:
    """Return whether a line goes on with the row above: only in columns that have text there, and no numbers."""
    filled = [column for column, parts in enumerate(own) if parts]
    if len(filled) == len(own) or any(not above[column] for column in filled):
        return False
    is_number = any(own[column][0][:1].isdigit() and above[column][-1][-1:].isdigit() for column in filled)
    return not is_number and (not own[0] or (len(filled) == 1 and own[0][0][:1].islower()))
