"""Listings of code as a page's programs show them: lines that are elements, line numbers, and buttons.

A listing without `pre` is rows side by side, divs or rows of a table, in which all text is code; or rows whose first
cell has no text, and the number of the line as an attribute. It becomes a `pre`.

Highlighters write line numbers as elements at the beginnings of the lines, or as a cell or listing beside. They are
known by what they are: whole numbers that follow each other, one for each line. A table is then left with one cell.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.elements import with_ancestors
from streams.pages.parse.navigation import raw_link
from streams.pages.parse.segments import RawLink
from streams.pages.text.wrapped_lines import is_prose_text

MAX_LISTINGS = 2_000
"""Maximum number of listings of a page that are looked at."""
MAX_DIGITS = 7
_NUMBER = re.compile(rf"\d{{1,{MAX_DIGITS}}}")
_LINE_ELEMENTS = "span, a, i, em, b, td, div"
MIN_NUMBERS = 2
"""Minimum number of numbers within a listing. A single one may be a part of the code."""
_CELLS = ("td", "th")
_ROWS = ("div", "tr")
MIN_ROWS = 3
"""Minimum lines of a listing whose lines are elements of their own."""
MAX_LINES = 20_000
"""Maximum elements with code of a page that are looked at."""
_CODE = "code, samp, kbd, span[class], table"
"""Elements within a `pre` that mark code, or highlight it."""


def clean_listings(tree: LexborHTMLParser) -> None:
    """Remove line numbers and buttons from all listings of a page."""
    for listing in tree.css("pre")[:MAX_LISTINGS]:
        for button in listing.css("button"):
            button.decompose()
        if not _remove_numbers_beside(listing, ()):
            _remove_numbers_within(listing)


def join_rows(tree: LexborHTMLParser, kept: Iterable[LexborNode]) -> list[RawLink]:
    """Put a `pre` in place of each element whose contents are lines of code; return the links that go with them.

    An element with one of the nodes `kept` in it stays as it is: a `pre` would show what its rows hide.
    """
    staying = with_ancestors(kept)
    links = list[RawLink]()
    for holder in _holders_of_rows(tree):
        rows = list(holder.iter())
        lines = [_line_of(row) for row in rows]
        if len(rows) < MIN_ROWS or None in lines or not any(lines):
            continue
        table = holder.parent if holder.tag == "tbody" else holder
        if table is None or table.tag == "body" or table.mem_id in staying:
            continue
        listing = tree.create_node("pre")
        listing.insert_child("\n".join(line or "" for line in lines))
        if name := table.attributes.get("id"):
            listing.attrs["id"] = name
        links += [raw_link(link, link.text().strip()) for link in table.css("a[href]")]
        table.insert_before(listing)
        table.decompose()
        _remove_numbers_beside(listing, staying)
    return links


def _holders_of_rows(tree: LexborHTMLParser) -> list[LexborNode]:
    """Return the innermost elements with rows that have code."""
    rows: dict[int, LexborNode | None] = {}
    holders: dict[int, LexborNode] = {}
    for code in tree.css("code, td[data-line-number]")[:MAX_LINES]:
        row = _row_of(code, rows)
        if row is not None and row.parent is not None:
            holders.setdefault(row.parent.mem_id, row.parent)
    around = with_ancestors(holder.parent for holder in holders.values() if holder.parent is not None)
    return [node for node in holders.values() if node.mem_id not in around][:MAX_LISTINGS]


def _row_of(code: LexborNode, known: dict[int, LexborNode | None]) -> LexborNode | None:
    """Return the innermost row around an element; None in a listing. `known` has it for each node that was passed."""
    path = list[int]()
    above = code.parent
    while above is not None and above.mem_id not in known and above.tag not in _ROWS:
        path.append(above.mem_id)
        above = None if above.tag in ("pre", "p", "li", "body") else above.parent
    row = known.get(above.mem_id, above) if above is not None else None
    known.update(dict.fromkeys(path, row))
    return row


def _line_of(row: LexborNode) -> str | None:
    """Return the code of a row; None if it is no line of a listing. Numbers beside the code are no part of it."""
    if row.tag not in _ROWS:
        return None
    cells = [cell for cell in row.iter() if cell.tag in _CELLS]
    if len(cells) == 2 and _is_number_of_line(cells[0]):
        return cells[1].text().strip("\n")
    if len(cells) == 2 and _NUMBER.fullmatch(cells[0].text().strip()):
        row = cells[1]
    text = row.text().strip("\n")
    code = "".join(_codes_of(row))
    return text if "\n" not in text.strip() and "".join(code.split()) == "".join(text.split()) else None


def _codes_of(row: LexborNode) -> Iterator[str]:
    """Yield the text of each element with code that is in no other one."""
    inside = set[int]()
    for code in row.css("code"):
        if code.mem_id not in inside:
            inside.update(each.mem_id for each in code.css("code"))
            yield code.text()


def _is_number_of_line(cell: LexborNode) -> bool:
    return not cell.text().strip() and bool(_NUMBER.fullmatch(cell.attributes.get("data-line-number") or ""))


def is_prose_listing(listing: LexborNode) -> bool:
    """Return whether a `pre` has sentences, and nothing that marks code."""
    names = listing.attributes.get("class") or ""
    return not names and listing.css_first(_CODE) is None and is_prose_text(listing.text())


def _remove_numbers_beside(listing: LexborNode, staying: Collection[int]) -> bool:
    """Remove the cell or listing before a listing, if it has the numbers of the lines only. Returns whether it did."""
    cell = _cell_of(listing)
    before = (cell or listing).prev
    while before is not None and before.tag not in (_CELLS if cell else ("pre",)):
        before = before.prev
    numbers = before.text(separator="\n").split() if before is not None else []
    if before is None or before.mem_id in staying or not _follow_each_other(numbers):
        return False
    if not listing.text().strip().count("\n") < len(numbers) <= _count_lines(listing):
        return False
    before.decompose()
    return True


def _cell_of(listing: LexborNode) -> LexborNode | None:
    """Return the table cell that has a listing, or an element around the listing, as its content."""
    above = listing.parent
    for _ in range(3):
        if above is None or above.tag in _CELLS:
            return above
        above = above.parent
    return None


def _remove_numbers_within(listing: LexborNode) -> None:
    """Remove the elements with the numbers of the lines, if the lines have other text, too."""
    numbered: dict[tuple[str, str], list[LexborNode]] = defaultdict(list)
    for node in listing.css(_LINE_ELEMENTS):
        text = node.text().strip()
        if _NUMBER.fullmatch(text):
            numbered[node.tag or "", node.attributes.get("class") or ""].append(node)
    if not numbered:
        return
    lines = _count_lines(listing)
    for nodes in numbered.values():
        numbers = [node.text().strip() for node in nodes]
        if MIN_NUMBERS <= len(nodes) <= lines and _follow_each_other(numbers) and _is_more_than(listing, numbers):
            for node in nodes:
                node.decompose()


def _count_lines(listing: LexborNode) -> int:
    """Return an upper bound of the number of lines of a listing: lines may also be elements."""
    return listing.text().count("\n") + len(listing.css("br, div, tr, li")) + 1


def _is_more_than(listing: LexborNode, numbers: Sequence[str]) -> bool:
    return len("".join(listing.text().split())) > 2 * sum(map(len, numbers))


def _follow_each_other(texts: Sequence[str]) -> bool:
    """Return whether texts are whole numbers, each one more than the one before."""
    if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
        return False
    first = int(texts[0])
    return all(int(text) == first + index for index, text in enumerate(texts))
