"""The table or the list that a statement stands in, as it stands in the page. Pure: the document is an argument."""

from collections import defaultdict
from collections.abc import Sequence

from streams.answers.choosing import Surroundings
from streams.pages.document.model import Document
from streams.plain_text import clean_line, shorten

MAX_ROWS = 10
MAX_COLUMNS = 8
MAX_CELL_CHARS = 160
MAX_MARKED_CHARS = 1_000
"""Maximum characters of a cell in the row of the statement, which is shown whole."""
MAX_SHOWN_CHARS = 800
"""Maximum characters of all rows that are shown, with the row of the statement or not: an answer leaves room for the
results on a small screen, too."""
MIN_ITEM_SHARE = 0.5
"""Minimum share of its item that a statement has. An item with more text, such as a whole example, is no answer."""
MAX_BLOCKS = 20_000
"""Maximum blocks of a document that are read."""
_CELLS = frozenset({"td", "th"})
_LISTS = frozenset({"ul", "ol", "dl"})
_ITEMS = frozenset({"li", "dt", "dd"})

Row = tuple[str, ...]


def surroundings_of(document: Document, text: str, kind: str) -> Surroundings | None:
    """Return the table around a row, or the list around an item; None where the document has none with this text."""
    if kind == "row":
        return _table_around(document, text)
    return _list_around(document, text) if kind in {"item", "link"} else None


def _table_around(document: Document, text: str) -> Surroundings | None:
    """Return the table with the row most of whose cells are in the text of the statement."""
    tables = _tables(document)
    stated = " ".join(text.split())
    found = [
        (sum(len(cell) for cell in row), number, table)
        for table, rows in tables.items()
        for number, (row, is_header) in enumerate(rows)
        if not is_header and sum(bool(cell) for cell in row) > 1 and all(cell in stated for cell in row if cell)
    ]
    if not found:
        return None
    _, number, table = max(found)
    rows = tables[table]
    has_header = len(rows) > 1 and rows[0][1] and number > 0
    body = [row for row, _ in rows[has_header:]]
    return _around(rows[0][0] if has_header else (), body, number - has_header)


def _tables(document: Document) -> dict[int, list[tuple[Row, bool]]]:
    """Return the rows of each table: their cells, and whether all of them are headings."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    for block in document.blocks[:MAX_BLOCKS]:
        cell = next((index for index in document.ancestors(block) if document.containers[index].tag in _CELLS), -1)
        if cell >= 0:
            texts[cell].append(" ".join(block.text.split()))
    rows: defaultdict[int, list[int]] = defaultdict(list)
    tables: defaultdict[int, list[int]] = defaultdict(list)
    for index, container in enumerate(document.containers):
        if container.tag in _CELLS:
            rows[container.parent].append(index)
        elif container.tag == "tr" and (table := _table_of(document, index)) >= 0:
            tables[table].append(index)
    return {
        table: [
            (
                tuple(" ".join(texts[cell]) for cell in rows[row]),
                bool(rows[row]) and all(document.containers[cell].tag == "th" for cell in rows[row]),
            )
            for row in of_table
        ]
        for table, of_table in tables.items()
    }


def _table_of(document: Document, row: int) -> int:
    index = document.containers[row].parent
    while index >= 0 and document.containers[index].tag != "table":
        index = document.containers[index].parent
    return index


def _list_around(document: Document, text: str) -> Surroundings | None:
    """Return the list with the shortest item that has the text: in a longer one, it is a part of something else.

    A term and its definition are one row.
    """
    stated = " ".join(text.split())
    items: defaultdict[int, dict[int, list[str]]] = defaultdict(dict)
    places: list[tuple[int, int, int]] = []
    for block in document.blocks[:MAX_BLOCKS]:
        item = next((index for index in document.ancestors(block) if document.containers[index].tag in _ITEMS), -1)
        if item < 0 or document.containers[document.containers[item].parent].tag not in _LISTS:
            continue
        of_list = document.containers[item].parent
        line = " ".join(block.text.split())
        items[of_list].setdefault(item, []).append(line)
        if stated and stated in line:
            places.append((len(line), of_list, item))
    if not places:
        return None
    _, of_list, item = min(places, key=lambda place: place[0])
    if len(stated) < MIN_ITEM_SHARE * len(" ".join(items[of_list][item])):
        return None
    rows: list[Row] = []
    place, is_term = 0, False
    for index, parts in items[of_list].items():
        tag, text = document.containers[index].tag, " ".join(parts)
        if is_term and tag == "dd":
            rows[-1] = (*rows[-1], text)
        else:
            rows.append((text,))
        is_term = tag == "dt"
        if index == item:
            place = len(rows) - 1
    return _around((), rows, place) if len(rows) > 1 else None


def _around(header: Row, rows: Sequence[Row], place: int) -> Surroundings:
    """Return the rows around this place, as many as are short enough together."""
    first = max(0, min(place - MAX_ROWS // 2, len(rows) - MAX_ROWS))
    cells = {
        number: _cells(rows[number], MAX_MARKED_CHARS if number == place else MAX_CELL_CHARS)
        for number in range(first, min(first + MAX_ROWS, len(rows)))
    }
    start, end = place, place + 1
    left = MAX_SHOWN_CHARS - _chars(cells[place])
    # The nearest rows first, in turns above and below, until one of them is too long.
    for number in sorted(cells.keys() - {place}, key=lambda number: (abs(number - place), number)):
        left -= _chars(cells[number])
        if left < 0:
            break
        start, end = min(start, number), max(end, number + 1)
    return Surroundings(
        header=_cells(header),
        rows=tuple(cells[number] for number in range(start, end)),
        place=place - start,
        before=start,
        after=len(rows) - end,
    )


def _chars(row: Row) -> int:
    return sum(map(len, row))


def _cells(row: Row, max_chars: int = MAX_CELL_CHARS) -> Row:
    return tuple(shorten(clean_line(cell), max_chars) for cell in row[:MAX_COLUMNS])
