"""The paragraphs, lists, tables and notes of an RTF file, as HTML. Pure."""

import re
from dataclasses import dataclass, field, replace
from html import unescape

from streams.pages.formats.converted import footnote
from streams.pages.formats.office.tables import Cell, table

MAX_CELLS = 100
"""Maximum number of cells of a row."""
MAX_NOTE_CHARS = 10_000
"""Maximum length of a note (characters)."""
MAX_TITLE_CHARS = 300
_TAG = re.compile("<[^<>]*+>")


@dataclass(slots=True)
class Paragraph:
    """The properties of a paragraph."""

    style: int = -1
    level: int = 0
    """Level of a heading, from 1; 0 for other text."""
    is_item: bool = False
    is_in_table: bool = False


@dataclass(slots=True)
class _Text:
    """A text with blocks of its own: the document, or a note."""

    parts: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    """The pieces of the open paragraph, as HTML."""
    letters: int = 0
    bold: int = 0
    """Number of letters of the open paragraph that are bold."""
    items: list[str] = field(default_factory=list)
    paragraph: Paragraph = field(default_factory=Paragraph)


class Blocks:
    """Writes blocks in the order of the file."""

    def __init__(self) -> None:
        self.chars = 0
        self.title = ""
        self.levels: dict[int, int] = {}
        """The level of the headings of each style."""
        self.is_header_row = False
        self._texts = [_Text()]
        self._cell: list[str] = []
        self._is_bold_cell = False
        self._row: list[Cell] = []
        self._rows: list[tuple[Cell, ...]] = []
        self._notes = 0
        self._behind: list[str] = []
        """Notes that are written behind the paragraph."""

    @property
    def _text(self) -> _Text:
        return self._texts[-1]

    @property
    def paragraph(self) -> Paragraph:
        return self._text.paragraph

    def begin_properties(self) -> None:
        """Set the properties of paragraphs to the normal ones."""
        self._text.paragraph = Paragraph()

    def add(self, html: str, letters: int = 0, *, is_bold: bool = False) -> None:
        """Add a piece to the open paragraph."""
        self._text.pieces.append(html)
        self._text.letters += letters
        self._text.bold += letters if is_bold else 0

    def finish(self) -> str:
        """Return the HTML of the document."""
        while len(self._texts) > 1:
            self.end_note(is_shown=False)
        self.end_paragraph()
        self._end_table()
        self._end_list()
        return "".join(self._text.parts)

    def end_paragraph(self) -> None:
        text = self._text
        html = " ".join("".join(text.pieces).split())
        is_bold, paragraph = text.letters > 0 and 2 * text.bold > text.letters, text.paragraph
        text.pieces, text.letters, text.bold = [], 0, 0
        self.chars += len(html)
        is_item, paragraph.is_item = paragraph.is_item, False
        level = paragraph.level or self.levels.get(paragraph.style, 0)
        behind = [] if len(self._texts) > 1 else self._behind
        if paragraph.is_in_table and len(self._texts) == 1:
            self._cell += [html] if html else []
            self._is_bold_cell = is_bold
            return
        if html:
            self._end_table()
            if is_item and not level:
                text.items.append(f"<li>{html}{''.join(behind)}</li>")
                behind.clear()
                return
            self._end_list()
            tag = f"h{min(level, 6)}" if 0 < level < 10 else "p"
            text.parts.append(f"<{tag}>{html}</{tag}>")
            if tag != "p" and not self.title:
                self.title = unescape(_TAG.sub("", html))[:MAX_TITLE_CHARS]
        text.parts += behind
        behind.clear()

    def end_cell(self) -> None:
        self.paragraph.is_in_table = True
        self.end_paragraph()
        if len(self._row) < MAX_CELLS:
            html = self._cell[0] if len(self._cell) == 1 else "".join(f"<p>{part}</p>" for part in self._cell)
            self._row.append(Cell(html, is_bold=self._is_bold_cell))
        self._cell, self._is_bold_cell = [], False

    def end_row(self) -> None:
        if self._row:
            self._end_list()
            self._rows.append(tuple(replace(cell, is_header=self.is_header_row) for cell in self._row))
        self._row = []

    def begin_note(self) -> None:
        self._texts.append(_Text())

    def end_note(self, *, is_shown: bool) -> None:
        """Write the mark of a note, and its text behind the paragraph."""
        self.end_paragraph()
        note = self._texts.pop()
        text = " ".join(unescape(_TAG.sub(" ", " ".join((*note.parts, *note.items)))).split())
        if text and is_shown and len(self._texts) == 1:
            self._notes += 1
            mark, block = footnote(self._notes, text[:MAX_NOTE_CHARS])
            self.add(mark)
            self._behind.append(block)

    def _end_table(self) -> None:
        if len(self._texts) > 1:
            return
        self.end_row()
        if self._rows:
            self._text.parts.append(table(self._rows))
            self._text.parts += self._behind
            self._behind.clear()
            self._rows = []

    def _end_list(self) -> None:
        if self._text.items:
            self._text.parts.append(f"<ul>{''.join(self._text.items)}</ul>")
            self._text.items = []
