"""Presentations of PowerPoint (PresentationML and DrawingML, ISO/IEC 29500-1, 19 to 21) -> HTML. Pure.

A slide is a page of the file: its title, then its texts and tables in their order, then what the speaker noted. Hidden
slides, and the date, number, header and footer of slides are left out.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from streams.pages.formats.converted import MAX_CHARS, clean, estimate_rest, page
from streams.pages.formats.office.package import Package, child, relation_id
from streams.pages.formats.office.tables import Cell, table
from streams.pages.formats.zipped import MAX_XML_DEPTH, attribute, local_name, number

MAX_SLIDES = 2_000
"""Maximum number of slides that are read."""
_TITLES = frozenset({"title", "ctrTitle"})
_FRAMES = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})
"""Placeholders that repeat on each slide, and the image of the slide on the page of its notes."""
_LISTS = frozenset({"body", "", "obj"})
"""Placeholders whose paragraphs are items."""


class SlidesWriter:
    """Writes a presentation as HTML."""

    def __init__(self, package: Package) -> None:
        self.parts: list[str] = []
        self.chars = 0
        self.unread = 0
        self.title = ""
        self._package = package

    def write(self, root: Any) -> None:
        relations = self._package.relations(self._package.main)
        listed = child(root, "sldIdLst")
        for position, node in enumerate(listed if listed is not None else (), 1):
            relation = relations.get(relation_id(node))
            if position > MAX_SLIDES or self.chars > MAX_CHARS:
                self.unread += estimate_rest(self.chars, position - 1, len(listed))
                return
            slide = self._package.read(relation.target) if relation else None
            if relation and slide is not None and attribute(slide, "show", "1") not in ("0", "false"):
                self._slide(position, slide, relation.target)

    def _slide(self, position: int, slide: Any, name: str) -> None:
        titles: list[str] = []
        blocks: list[str] = []
        for is_title, block in self._shapes(child(slide, "cSld", "spTree"), 0):
            (titles if is_title else blocks).append(block)
        notes = self._package.read_related(name, "notesSlide")
        blocks += [block for _, block in self._shapes(child(notes, "cSld", "spTree"), 0)] if notes is not None else []
        if titles or blocks:
            self.parts.append(page(position, [*titles, *blocks]))

    def _shapes(self, tree: Any, depth: int) -> Iterator[tuple[bool, str]]:
        """Yield the blocks of shapes, and whether they are the title."""
        if depth > MAX_XML_DEPTH:
            return
        for shape in tree if tree is not None else ():
            match local_name(shape):
                case "sp":
                    yield from self._shape(shape)
                case "graphicFrame":
                    grid = child(shape, "graphic", "graphicData", "tbl")
                    if grid is not None and (rows := self._table(grid)):
                        yield False, rows
                case "grpSp":
                    yield from self._shapes(shape, depth + 1)
                case "AlternateContent":
                    yield from self._shapes(child(shape, "Choice"), depth + 1)

    def _shape(self, shape: Any) -> Iterator[tuple[bool, str]]:
        holder = child(shape, "nvSpPr", "nvPr", "ph")
        kind = attribute(holder, "type") if holder is not None else None
        if kind in _FRAMES:
            return
        lines = list(self._lines(child(shape, "txBody")))
        if kind in _TITLES and lines:
            text = " ".join(lines)
            self.title = self.title or " ".join(_plain(child(shape, "txBody")).split())[:300]
            yield True, f"<h2>{text}</h2>"
        elif kind in _LISTS and len(lines) > 1:
            yield False, "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"
        else:
            yield from ((False, f"<p>{line}</p>") for line in lines)

    def _lines(self, body: Any) -> Iterator[str]:
        """Yield the paragraphs of a text."""
        for node in body if body is not None else ():
            if local_name(node) == "p":
                text = "".join(_runs(node)).strip()
                self.chars += len(text)
                if text:
                    yield text

    def _table(self, grid: Any) -> str:
        has_header = attribute(child(grid, "tblPr"), "firstRow") in ("1", "true")
        rows: list[list[Cell]] = []
        for row in (node for node in grid if local_name(node) == "tr"):
            cells = (node for node in row if local_name(node) == "tc")
            rows.append([self._cell(cell, is_header=has_header and not rows) for cell in cells if _is_own(cell)])
        return table(rows)

    def _cell(self, node: Any, *, is_header: bool) -> Cell:
        html = "<br>".join(self._lines(child(node, "txBody")))
        return Cell(html, max(number(node, "gridSpan", 1), 1), max(number(node, "rowSpan", 1), 1), is_header)


def _is_own(cell: Any) -> bool:
    """Return whether a cell has a content of its own: a merged one repeats the content of another."""
    return not {attribute(cell, "hMerge"), attribute(cell, "vMerge")} & {"1", "true"}


def _runs(paragraph: Any) -> Iterator[str]:
    for node in paragraph:
        match local_name(node):
            case "r" | "fld":
                yield escape(clean(_plain(node)), quote=False)
            case "br":
                yield "<br>"


def _plain(node: Any) -> str:
    """Return the text below an element. Its paragraphs are apart."""
    return "".join(
        (text.text or "") if local_name(text) == "t" else " " * (local_name(text) == "p") for text in node.iter()
    )
