"""Tables: the choice between rows of data (one statement each) and cells of prose, in tables that lay out a page."""

from dataclasses import dataclass, field
from itertools import chain as chained

from streams.pages.document.model import Document
from streams.statements.sentences.lengths import word_count

Cells = tuple[tuple[int | None, int], ...]
"""For each cell the block of its column's heading (or None) and its own block."""

MAX_CELL_WORDS = 40
"""Maximum words of a cell of data. A row with a longer cell is prose in columns."""
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
    """The heading of the column, for a cell that is prose."""
    captions: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The caption of the table, for a row or cell."""


@dataclass(slots=True)
class _Table:
    rows: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    """Blocks by row container and cell container."""
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
    header = _header_row(document, table)
    heads = (
        [] if header is None else [blocks[0] if len(blocks) == 1 else None for blocks in table.rows[header].values()]
    )
    caption = tuple(table.caption[-MAX_CAPTION_BLOCKS:])
    for row, cells in table.rows.items():
        if row == header:
            continue
        headed = heads if len(heads) == len(cells) else [None] * len(cells)
        blocks = list(chained.from_iterable(cells.values()))
        if _is_data(document, cells):
            tables.rows[blocks[0]] = tuple(
                (head, cell[0]) for head, cell in zip(headed, cells.values(), strict=True) if cell
            )
            tables.taken.update(blocks[1:])
        else:
            for head, cell in zip(headed, cells.values(), strict=True):
                tables.columns.update({block: (head,) for block in cell if head is not None and head != block})
        tables.captions.update({block: caption for block in blocks if caption})


def _header_row(document: Document, table: _Table) -> int | None:
    """Return the row of column headings: the last row in thead, or a first row of only th; None without data below."""
    rows = list(table.rows)
    if len(rows) < 2:
        return None
    in_head = [row for row in rows if document.containers[document.containers[row].parent].tag == "thead"]
    if in_head and len(in_head) < len(rows):
        return in_head[-1]
    first = table.rows[rows[0]]
    return rows[0] if first and all(document.containers[cell].tag == "th" for cell in first) else None


def _is_data(document: Document, cells: dict[int, list[int]]) -> bool:
    """Return whether a row has at least two cells with text, each a single short block of its own."""
    filled = [(cell, blocks) for cell, blocks in cells.items() if blocks]
    return len(filled) > 1 and all(
        len(blocks) == 1
        and document.blocks[blocks[0]].tag == "p"
        and document.blocks[blocks[0]].parent == cell
        and word_count(document.blocks[blocks[0]].text) <= MAX_CELL_WORDS
        for cell, blocks in filled
    )
