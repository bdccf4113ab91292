"""The reading order of a page of a PDF: columns from left to right where the file goes from one to the other and back.

A gutter is a strip without text between two columns, over at least three lines of each. What crosses it (a heading, a
figure's caption, a full line) ends the columns; what is above is read before them, and what is below behind them. The
columns are read in the same way, so there may be more than two. Lists, tables and aligned numbers have gutters, too:
columns are lines of prose that fill their width, or lines that do not stand beside each other. Where the file itself
goes through one column after the other, its order stays.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from streams.pages.formats.pdf_grids import read_ruled
from streams.pages.formats.pdf_model import Line, Rules, group_rows, join_parts
from streams.pages.formats.pdf_tables import read_aligned

MIN_LINES = 3
"""Minimum number of lines of a column."""
MAX_PARTS = 2_000
"""Maximum number of lines, and parts of lines, of a page whose order is judged. A page with more is a drawing."""
MAX_DEPTH = 6
"""Maximum number of times that a part of a page is divided."""
CLEARANCE = 0.3
"""Minimum distance of text from the middle of a gutter, as a multiple of the text's size."""
MAX_GUTTERS = 8
"""Maximum number of gutters that are tried."""
BIN = 3.0
"""Width of the strips in which gutters are searched (points)."""
MAX_BINS = 1_000
FILLED = 0.7
"""Minimum share of a column's width that most lines of prose fill."""
MIN_PROSE_CHARS = 14
"""Minimum mean length of a line of prose in a column (characters)."""
MAX_DIGITS = 0.25
"""Maximum share of digits in prose."""
MAX_BESIDE = 0.5
"""Maximum share of lines with a neighbour at the same height, in columns that need not be prose."""
MAX_TURNS = 2
"""Maximum number of times that a file goes from one column to the other, if it is in reading order."""
TALL = 3.0
"""Minimum height of a turned line, as a multiple of its font's size."""
MIN_PAGE_ROWS = 5
"""Minimum number of rows of a page whose first and last row may be set apart."""
ROW_APART = 1.8
"""Minimum distance of a header or footer of several parts from the text, as a multiple of its size."""
LINE_APART = 2.2
"""Minimum distance of a header or footer of one part from the text, as a multiple of its size."""
FURTHER = 1.4
"""Minimum distance of a header or footer from the text, as a multiple of the usual distance."""
MIN_NUMBERS = 8
"""Minimum number of line numbers in the margin of a page."""
MIN_COUNTED = 0.8
"""Minimum share of them that follow the one above by the same step."""
EDGE = 2.0
"""Maximum difference of the beginnings of a column's lines (points)."""
APART = 1.8
"""Minimum distance between a column and a line below it that is no part of it, as a multiple of the size."""


class _Band(NamedTuple):
    """Rows of a page in which a gutter divides two columns."""

    first: int
    end: int
    gutter: float
    lines: int
    """Number of lines of the shorter column."""


def arrange(lines: Sequence[Line], rules: Rules) -> list[Line]:
    """Return the lines of a page in reading order, with its tables, and with parts of lines joined."""
    if len(lines) > MAX_PARTS:
        return join_parts(lines)
    turned = [line for line in lines if _is_turned(line)]
    upright = _without_line_numbers([line for line in lines if not _is_turned(line)])
    head, middle, foot = _set_edges_apart(read_ruled(upright, rules))
    return [*join_parts(head), *_read(middle, rules, 0), *join_parts(foot), *join_parts(turned)]


def _set_edges_apart(lines: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line], Sequence[Line]]:
    """Return the highest row of a page, the other lines, and the lowest row, if a larger distance sets them apart.

    A header or a page number is no part of the columns or of the table below or above it.
    """
    rows = group_rows(lines)
    if len(rows) < MIN_PAGE_ROWS:
        return [], lines, []
    distances = [_distance(rows, place) for place in range(len(rows) - 1)]
    usual = median(distances)
    head = rows[0] if _is_apart(rows[0], distances[0], usual) else []
    foot = rows[-1] if _is_apart(rows[-1], distances[-1], usual) else []
    apart = {id(line) for line in (*head, *foot)}
    return (
        [line for line in head if not line.rows],
        [line for line in lines if id(line) not in apart or line.rows],
        [line for line in foot if not line.rows],
    )


def _without_line_numbers(lines: Sequence[Line]) -> Sequence[Line]:
    """Return lines without the numbers of lines in the left margin, as manuscripts and laws have them."""
    numbers = [line for line in lines if line.text.isdecimal() and len(line.text) < 6]
    if len(numbers) < MIN_NUMBERS or len(numbers) == len(lines):
        return lines
    chosen = {id(line) for line in numbers}
    margin = min(line.left for line in lines if id(line) not in chosen)
    numbers = sorted((line for line in numbers if line.right < margin), key=lambda line: -line.middle)
    steps = Counter(int(other.text) - int(one.text) for one, other in pairwise(numbers))
    if len(numbers) < MIN_NUMBERS or steps.most_common(1)[0][1] < MIN_COUNTED * len(numbers):
        return lines
    gone = {id(line) for line in numbers}
    return [line for line in lines if id(line) not in gone]


def _is_apart(row: Sequence[Line], distance: float, usual: float) -> bool:
    """Return whether a row at the edge of a page is further from the text than lines of it are from each other."""
    least = ROW_APART if len(row) > 1 else LINE_APART
    return distance > max(least * row[0].size, FURTHER * usual)


def _is_turned(line: Line) -> bool:
    return line.top - line.bottom > TALL * max(line.size, 1.0) and not line.rows


def _read(lines: Sequence[Line], rules: Rules, depth: int) -> list[Line]:
    if depth >= MAX_DEPTH or len(lines) < 2 * MIN_LINES:
        return read_aligned(lines, rules)
    rows = group_rows(lines)
    band = _find_band(rows)
    if band is None:
        return read_aligned(lines, rules)
    inside = {id(line) for row in rows[band.first : band.end] for line in row}
    above = {id(line) for row in rows[: band.first] for line in row}
    sides = [line for line in lines if id(line) in inside]
    left = _read([line for line in sides if line.left < band.gutter], rules, depth + 1)
    right = _read([line for line in sides if line.left >= band.gutter], rules, depth + 1)
    before = _read([line for line in lines if id(line) in above], rules, depth + 1)
    behind = _read([line for line in lines if id(line) not in above and id(line) not in inside], rules, depth + 1)
    return [*before, *left, *right, *behind]


def _find_band(rows: Sequence[Sequence[Line]]) -> _Band | None:
    """Return the rows with the longest pair of columns."""
    size = median(line.size for row in rows for line in row)
    best: _Band | None = None
    for gutter in _gutters(rows):
        for first, end in _runs(rows, gutter, CLEARANCE * size):
            band = _trim(rows, first, end, gutter, size)
            if band and (best is None or band.lines > best.lines) and _is_columns(rows[band.first : band.end], gutter):
                best = band
    return best


def _gutters(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Return places that few lines cross, and the middles of gaps that many rows have."""
    lines = [line for row in rows for line in row]
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    count = min(int((right - left) / BIN) + 1, MAX_BINS)
    steps = [0] * (count + 1)
    for line in lines:
        begin = min(max(int((line.left - left) / BIN), 0), count)
        end = min(max(int((line.right - left) / BIN) + 1, begin), count)
        steps[begin] += 1
        steps[end] -= 1
    covered, now = [], 0
    for step in steps[:-1]:
        now += step
        covered.append(now)
    dips: list[tuple[int, float]] = []
    begin = 0
    for place in range(1, count + 1):
        if place < count and covered[place] == covered[begin]:
            continue
        is_dip = begin > 0 and place < count and covered[begin - 1] > covered[begin] < covered[place]
        if is_dip:
            dips.append((covered[begin], left + BIN * (begin + place) / 2))
        begin = place
    gaps: Counter[int] = Counter(
        int((one.right + other.left) / 2 / BIN) for row in rows for one, other in pairwise(row)
    )
    found = [middle for _, middle in sorted(dips)[:MAX_GUTTERS]]
    return found + [BIN * (place + 0.5) for place, number in gaps.most_common(MAX_GUTTERS) if number >= MIN_LINES]


def _runs(rows: Sequence[Sequence[Line]], gutter: float, clearance: float) -> list[tuple[int, int]]:
    """Return the runs of rows that do not cross a gutter."""
    runs, first = [], 0
    for place, row in enumerate([*rows, None]):
        if row is None or any(line.left < gutter + clearance and line.right > gutter - clearance for line in row):
            if place - first >= MIN_LINES:
                runs.append((first, place))
            first = place + 1
    return runs


def _trim(rows: Sequence[Sequence[Line]], first: int, end: int, gutter: float, size: float) -> _Band | None:
    """Return the band of a run of rows: without lines at its edges that stand apart, or at the left above the right."""
    with_right = [place for place in range(first, end) if rows[place][-1].left >= gutter]
    if not with_right:
        return None
    first, last = with_right[0], with_right[-1]
    while first < last and rows[first][0].left >= gutter and _distance(rows, first) > APART * size:
        first += 1
    while last + 1 < end and _distance(rows, last) <= APART * size:
        last += 1
    inside = rows[first : last + 1]
    fewer = min(sum(row[0].left < gutter for row in inside), sum(row[-1].left >= gutter for row in inside))
    return _Band(first, last + 1, gutter, fewer) if fewer >= MIN_LINES else None


def _distance(rows: Sequence[Sequence[Line]], place: int) -> float:
    return rows[place][0].middle - rows[place + 1][0].middle


def _is_columns(rows: Sequence[Sequence[Line]], gutter: float) -> bool:
    """Return whether both sides of a gutter are columns, and no table or list."""
    lines = sorted((line for row in rows for line in row), key=lambda line: line.order)
    left, right = [line for line in lines if line.left < gutter], [line for line in lines if line.left >= gutter]
    turns = sum((one.left < gutter) != (other.left < gutter) for one, other in pairwise(lines))
    if turns <= MAX_TURNS:
        return True
    beside = sum(row[0].left < gutter <= row[-1].left for row in rows)
    is_beside = beside > MAX_BESIDE * min(len(left), len(right))
    if not all(_is_prose(side, FILLED if is_beside else FILLED / 2) for side in (left, right)):
        return False
    return _has_edge(right) and not (is_beside and _breaks_together(left, right))


def _has_edge(lines: Sequence[Line]) -> bool:
    """Return whether half of the lines of a column begin at one place. Gaps of justified lines have no edge."""
    begins = sorted(row[0].left for row in group_rows(lines))
    half = (len(begins) + 1) // 2
    return any(other - one <= EDGE for one, other in zip(begins, begins[half - 1 :], strict=False))


def _is_prose(lines: Sequence[Line], filled: float) -> bool:
    rows = group_rows(lines)
    text = "".join(line.text for line in lines)
    width = max(line.right for line in lines) - min(line.left for line in lines)
    shares = (sum(line.right - line.left for line in row) / max(width, 1.0) for row in rows)
    digits = sum(map(str.isdigit, text))
    return median(shares) >= filled and len(text) >= MIN_PROSE_CHARS * len(rows) and digits <= MAX_DIGITS * len(text)


def _breaks_together(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Return whether larger distances of lines are at the same heights on both sides, as between rows of a table."""
    one, other = _breaks(left), _breaks(right)
    fewer, more = sorted((one, other), key=len)
    size = left[0].size
    shared = sum(any(abs(height - near) < size / 2 for near in more) for height in fewer)
    return shared >= 2 and 3 * shared >= 2 * len(more)


def _breaks(lines: Sequence[Line]) -> list[float]:
    """Return the heights of the lines below larger distances than most."""
    heights = [row[0].middle for row in group_rows(lines)]
    gaps = [above - below for above, below in pairwise(heights)]
    usual = median(gaps) if gaps else 0.0
    return [below for (above, below), gap in zip(pairwise(heights), gaps, strict=True) if gap > 1.25 * usual][:200]
