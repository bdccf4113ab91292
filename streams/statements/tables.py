"""Tables: the choice between rows of data (one statement each) and cells of prose, in tables that lay out a page.

Cells name others as in the tables of the HTML Standard (4.9.12): the rows of headings at the top name the
columns, a row that is one cell over all columns names the rows below it, and a cell of several rows or columns stands
in each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain as chained
from itertools import takewhile

from streams.pages.document.model import Document
from streams.statements.sentences.lengths import word_count

Cells = tuple[tuple[tuple[int, ...], int], ...]
"""For each cell the blocks of its column's headings, the widest first, and its own block."""

MAX_CELL_WORDS = 40
"""Maximum words of a cell of data. A row with a longer cell is prose in columns."""
MAX_GROUP_WORDS = 12
"""Maximum words of a cell over all columns that names the rows below it. A longer cell is a remark."""
MAX_CAPTION_BLOCKS = 64
"""Maximum blocks of a caption in the context: the last ones. Further words don't fit."""
_CELLS = frozenset({"td", "th"})


@dataclass(slots=True)
class Tables:
    """The tables of a document. The keys of all fields are blocks."""

    rows: dict[int, Cells] = field(default_factory=dict)
    """The cells of a data row, by the row's first block."""
    taken: set[int] = field(default_factory=set)
    """Blocks that belong to the piece of another block: the further cells of a row."""
    columns: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The headings of the column, for a cell that is prose."""
    captions: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The caption of the table and the heading of the group of rows, for a row or cell."""


@dataclass(slots=True)
class _Table:
    rows: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """Own blocks by row container and cell container."""
    caption: list[int] = field(default_factory=list)


def tables_of(document: Document) -> Tables:
    """Return all tables of a document. A block belongs to the innermost table around it."""
    tables, found = Tables(), _collect(document)
    for table in found.values():
        _describe(document, table, tables)
    return tables


def _collect(document: Document) -> dict[int, _Table]:
    cells_of_row = _cells_of_rows(document)
    found: dict[int, _Table] = {}
    for index, block in enumerate(document.blocks):
        around: dict[str, int] = {}
        for container in document.ancestors(block):
            around.setdefault(
                "cell" if document.containers[container].tag in _CELLS else document.containers[container].tag,
                container,
            )
            if document.containers[container].tag == "table":
                break
        if "table" not in around:
            continue
        table = found.setdefault(around["table"], _Table())
        if "tr" in around and "cell" in around:
            row = around["tr"]
            if row not in table.rows:
                table.rows[row] = {cell: [] for cell in cells_of_row[row]}
            table.rows[row].setdefault(around["cell"], []).append(index)
        elif "caption" in around:
            table.caption.append(index)
    return found


def _cells_of_rows(document: Document) -> dict[int, list[int]]:
    """Row container -> its cell containers, the empty ones too, so that columns stay in line."""
    cells: dict[int, list[int]] = {}
    for index, container in enumerate(document.containers):
        if container.tag == "tr":
            cells[index] = []
        elif container.tag in _CELLS and container.parent in cells:
            cells[container.parent].append(index)
    return cells


def _describe(document: Document, table: _Table, tables: Tables) -> None:
    above = _header_rows(document, table)
    heads = _heads_of_columns(document, table, above)
    blocks_of = {cell: blocks for cells in table.rows.values() for cell, blocks in cells.items()}
    titles = (block for row in above if _is_group(document, table.rows[row]) for block in _own(table.rows[row]))
    caption = (*table.caption, *titles)[-MAX_CAPTION_BLOCKS:]
    group: tuple[int, ...] = ()
    section = -1
    for row, cells in table.rows.items():
        if document.containers[row].parent != section:
            group, section = (), document.containers[row].parent
        own = _own(cells)
        if row in above:
            tables.captions.update({block: caption for block in own if caption and block not in caption})
            continue
        if _is_group(document, cells):
            group = tuple(own)
            tables.captions.update({block: caption for block in own if caption})
            continue
        headed = _heads_of_cells(document, cells, heads) if len(heads) == len(cells) else [()] * len(cells)
        values = [_value(document, row, cell, blocks_of) for cell in cells]
        if own and _is_data(document, cells, values):
            tables.rows[own[0]] = tuple((head, value[0]) for head, value in zip(headed, values, strict=True) if value)
            tables.taken.update(own[1:])
        else:
            for head, blocks in zip(headed, cells.values(), strict=True):
                tables.columns.update({block: head for block in blocks if head and block not in head})
        if caption or group:
            tables.captions.update(dict.fromkeys(own, caption + group))


def _own(cells: dict[int, list[int]]) -> list[int]:
    return list(chained.from_iterable(cells.values()))


def _heads_of_cells(
    document: Document, cells: dict[int, list[int]], heads: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """Return the headings of each cell of a row: of all columns that it spans."""
    found = dict(zip(cells, heads, strict=True))
    for cell, head in zip(cells, heads, strict=True):
        if (by := document.containers[cell].spanned_by) in cells:
            found[by] = tuple(dict.fromkeys((*found[by], *head)))
    return list(found.values())


def _value(document: Document, row: int, cell: int, blocks_of: dict[int, list[int]]) -> list[int]:
    """Return the blocks of a cell of a row: its own, or the blocks of the cell of an earlier row that spans it."""
    by = document.containers[cell].spanned_by
    if by < 0 or document.containers[by].parent == row:
        return blocks_of[cell]
    return blocks_of.get(by, [])


def _header_rows(document: Document, table: _Table) -> list[int]:
    """Return the rows of column headings: in thead, or the first rows of only th; empty without data below.

    Behind a heading for each column, a single cell over all columns is the heading of a group of rows.
    """
    rows = list(table.rows)
    found = [row for row in rows if document.containers[document.containers[row].parent].tag == "thead"]
    if not found:
        found = list(takewhile(lambda row: _names_columns(document, table.rows[row]), rows))
        titles = len(list(takewhile(lambda row: _is_group(document, table.rows[row]), found)))
        named = takewhile(lambda row: not _is_group(document, table.rows[row]), found[titles:])
        found = [*found[:titles], *named]
    return found if len(found) < len(rows) else []


def _names_columns(document: Document, cells: dict[int, list[int]]) -> bool:
    """Return whether a row has only cells of headings, or of headings that span it."""
    containers = document.containers
    spanning = (cell if containers[cell].spanned_by < 0 else containers[cell].spanned_by for cell in cells)
    return bool(cells) and all(containers[cell].tag == "th" for cell in spanning)


def _heads_of_columns(document: Document, table: _Table, above: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the headings of each column.

    Titles above all columns are left out, and rows with another number of cells than the last row of headings.
    """
    if not above:
        return []
    blocks_of = {cell: blocks for row in above for cell, blocks in table.rows[row].items()}
    count = len(table.rows[above[-1]])
    columns: list[dict[int, None]] = [{} for _ in range(count)]
    for row in above:
        cells = table.rows[row]
        if len(cells) != count or _is_group(document, cells):
            continue
        for column, cell in zip(columns, cells, strict=True):
            by = document.containers[cell].spanned_by
            blocks = blocks_of.get(cell if by < 0 else by, [])
            column.update(dict.fromkeys(blocks if len(blocks) == 1 else []))
    return [tuple(column) for column in columns]


def _is_group(document: Document, cells: dict[int, list[int]]) -> bool:
    """Return whether a row is one short cell over all of several columns: it names the rows below it."""
    first, *others = cells or [-1]
    if not others or len(cells[first]) != 1 or any(document.containers[cell].spanned_by != first for cell in others):
        return False
    return word_count(document.blocks[cells[first][0]].text) <= MAX_GROUP_WORDS


def _is_data(document: Document, cells: dict[int, list[int]], values: Sequence[list[int]]) -> bool:
    """Return whether a row has at least two cells with text, each a single short block of its own."""
    if sum(map(bool, values)) < 2:
        return False
    return all(
        len(blocks) == 1
        and document.blocks[blocks[0]].tag == "p"
        and document.blocks[blocks[0]].parent in (cell, document.containers[cell].spanned_by)
        and word_count(document.blocks[blocks[0]].text) <= MAX_CELL_WORDS
        for cell, blocks in zip(cells, values, strict=True)
        if blocks
    )
