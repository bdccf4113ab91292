"""The lines of a PDF with their place and font, read by PDFium, in the order in which people read them.

PDFium is the reader of Chromium, and was fuzzed for years. It may still crash or use much memory on a hostile file, so
it runs in a process that can be killed. It joins what stands at one height to one line, also across columns: a wide
gap ends a part of a line here, and `pdf_columns` joins the parts that belong together.
"""

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from streams.errors import Refused
from streams.pages.formats.converted import MAX_CHARS
from streams.pages.formats.pdf_columns import arrange
from streams.pages.formats.pdf_model import OTHER_LINE, Line, Word
from streams.pages.formats.pdf_painted import EVERYWHERE, Budget, Painted

MAX_PAGES = 1_000
"""Maximum number of pages that are read. The statements of a page are bounded, and a book has more of them."""
MAX_OUTLINE = 2_000
"""Maximum number of entries of the outline that are read."""
MAX_LINES = 400
"""Maximum number of lines of one page that are looked at. A page with more is a drawing or a table of numbers."""
MAX_WORDS = 120_000
"""Maximum number of words of a document whose places are looked at. Later lines are read as PDFium joins them."""
PART_WORDS = 3
"""Number of words that take as long as a part of a line."""
MAX_LINE_WORDS = 500
"""Maximum number of words of a line whose places are looked at."""
WIDE_GAP = 0.8
"""Minimum gap that ends a part of a line, as a multiple of the font's size. A space is 0.25 of it, if no line is
justified."""
ANGLE_CHARS = 500
"""Number of first characters of a page whose angle is looked at."""
MAX_ANGLE = 0.1
"""Maximum angle of a character that is not turned (radians)."""
DYNAMIC_FORM = "it is a dynamic form (XFA), which only Acrobat shows: print it to a PDF"
_FIXED_PITCH = 1
"""Bit of a font's flags: all glyphs have one width (PDF 1.7, table 123)."""
_DIVIDED = re.compile("[\u0002\ufffe]")
"""The mark of PDFium at the place of a hyphen between two lines, which it joins to one line."""
_WORD = re.compile(r"\S+")
_BOLD_WEIGHT = 600
_NAME_BYTES = 128
_FIXED_NAMES = (b"mono", b"courier", b"cmtt", b"typewriter")


@dataclass(slots=True)
class Pdf:
    """The text of a PDF, and what it states about itself."""

    pages: list[list[Line]] = field(default_factory=list)
    outline: list[tuple[int, int, str]] = field(default_factory=list)
    """Entries of the outline: depth from 0, page from 0 (-1: none), title."""
    metadata: dict[str, str] = field(default_factory=dict)
    language: str = ""
    left_out: int = 0
    """Number of pages that were not read."""


def read_lines(body: bytes) -> Pdf:
    """Read the lines of a PDF. Raises Refused."""
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        raise Refused("pdf", _reason(str(error))) from None
    try:
        if raw.FPDF_GetFormType(document) == raw.FORMTYPE_XFA_FULL and len(document) == 1:
            raise Refused("pdf", DYNAMIC_FORM)
        found = Pdf(metadata=document.get_metadata_dict(skip_empty=True), language=_language(document))
        count = len(document)
        found.left_out = max(0, count - MAX_PAGES)
        chars = 0
        reader = _Reader()
        for number in range(min(count, MAX_PAGES)):
            found.pages.append(list(_page_lines(document, number, reader)))
            chars += sum(len(line.text) for line in found.pages[-1])
            if chars > MAX_CHARS:
                found.left_out = count - number - 1
                break
        found.outline = list(_outline(document))
        return found
    finally:
        document.close()


def _reason(message: str) -> str:
    return (
        "it is encrypted. Save it without a password"
        if "assword" in message
        else f"PDFium can't read it: {message[:100]}"
    )


def _language(document: Any) -> str:
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if not 2 < size <= 2 * _NAME_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFCatalog_GetLanguage(document, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")


def _outline(document: Any) -> Iterator[tuple[int, int, str]]:
    try:
        for count, entry in enumerate(document.get_toc(max_depth=6)):
            if count >= MAX_OUTLINE:
                return
            target = entry.get_dest()
            page = target.get_index() if target else None
            yield entry.level, -1 if page is None else page, entry.get_title()
    except (pdfium.PdfiumError, ValueError):  # a damaged outline is none
        return


def _page_lines(document: Any, number: int, reader: "_Reader") -> list[Line]:
    """Return the lines of a page. A page that can't be read has none."""
    try:
        page = document[number]
    except pdfium.PdfiumError:
        return []
    try:
        if page.get_rotation() and not _is_turned(page):
            page.set_rotation(0)  # its lines follow each other on the page as it was written
        with closing(page.get_textpage()) as text:
            return reader.read(page, text)
    except pdfium.PdfiumError:
        return []
    finally:
        page.close()


def _is_turned(page: Any) -> bool:
    """Return whether most of the text of a turned page is turned, too, so that it stands upright for a reader."""
    with closing(page.get_textpage()) as text:
        count = min(text.count_chars(), ANGLE_CHARS)
        angles = [raw.FPDFText_GetCharAngle(text, index) for index in range(count)]
    return bool(2 * sum(abs(angle) > MAX_ANGLE for angle in angles) > count)


class _Reader:
    """Reads the lines of pages, within what may be looked at in a document."""

    def __init__(self) -> None:
        self._budget = Budget()
        self._words = MAX_WORDS

    def read(self, page: Any, text: Any) -> list[Line]:
        """Return the lines of a page in reading order."""
        parts = list(enumerate(_parts(text)))
        if self._words <= 0:
            return [_line(text.raw, *_ends(text.raw, *part), part[0], (), number, 0) for number, part in parts]
        painted = Painted.on(page, self._budget)
        lines = [line for number, part in parts for line in self._split(text.raw, painted, *part, number)]
        if (
            not lines and painted.may_hide
        ):  # all of it is outside: then the boxes are wrong, as on pages turned by tools
            painted.visible = EVERYWHERE
            lines = [line for number, part in parts for line in self._split(text.raw, painted, *part, number)]
        return arrange(lines, painted.rules)

    def _split(self, text: Any, painted: Painted, part: str, start: int, number: int) -> Iterator[Line]:
        """Yield the parts of a line that wide gaps end, without the words that nobody sees."""
        first, last = _ends(text, part, start)
        look = _Look(_size(text, first), *_font(text, first))
        size = max(look.size, _size(text, last))
        gap = float("inf") if look.fixed else WIDE_GAP * size
        groups: list[list[_Placed]] = [[]]
        is_whole = True
        right = 0.0
        for word in _placed(text, part, start, last - first):
            self._words -= 1
            begins = not groups[-1] or word.left - right > gap or _jumps(groups[-1][-1], word, size)
            if painted.may_hide and (
                (begins and painted.is_outside(word))  # a line that runs over the edge is whole
                or painted.hides(raw.FPDFText_GetTextObject(text, word.first), word, size)
            ):
                is_whole = False
                continue
            if begins and groups[-1]:
                groups.append([])
            groups[-1].append(word)
            right = word.right
        self._words -= PART_WORDS * (len(groups) - 1)
        for place, group in enumerate(groups if groups[0] else ()):
            words = tuple(Word(word.text, word.left, word.right) for word in group)
            if is_whole and len(groups) == 1:
                yield _line(text, first, last, part, words, number, 0, look)
            else:
                own = " ".join(word.text for word in words)
                yield _line(text, group[0].first, group[-1].last, own, words, number, place)


class _Look(NamedTuple):
    """The font of a letter: its size, whether it is bold, and whether all of its letters have one width."""

    size: float
    bold: bool
    fixed: bool


class _Placed(NamedTuple):
    """A word with its place on the page, and its first and last letter."""

    text: str
    left: float
    right: float
    middle: float
    first: int
    last: int


def _jumps(word: _Placed, other: _Placed, size: float) -> bool:
    """Return whether a word stands back, or on another line, which PDFium has joined to this one."""
    return other.left < word.left - size or abs(other.middle - word.middle) > OTHER_LINE * size


def _placed(page: Any, part: str, start: int, span: int) -> Iterator[_Placed]:
    """Yield the words of a line. `span` is the distance of its first and its last letter."""
    box = raw.FS_RECTF()
    lead = len(part) - len(part.lstrip())
    first_letter = _char_index(page, start + lead)
    units = _units(part.rstrip())
    is_even, is_wide = span == units - lead - 1, units > len(part.rstrip())
    for match in islice(_WORD.finditer(part), MAX_LINE_WORDS):
        begin, end = match.start(), match.end() - 1
        if is_wide:
            begin, end = _units(part[:begin]), _units(part[: end + 1]) - 1
        if is_even:
            first, last = first_letter + begin - lead, first_letter + end - lead
        else:
            first, last = _char_index(page, start + begin), _char_index(page, start + end)
        raw.FPDFText_GetLooseCharBox(page, first, box)
        left, right, middle = box.left, box.right, (box.bottom + box.top) / 2
        if last != first:
            raw.FPDFText_GetLooseCharBox(page, last, box)
        yield _Placed(match[0], left, max(right, box.right), middle, first, last)


def _parts(page: Any) -> Iterator[tuple[str, int]]:
    """Yield the lines of a page, with the place of the first unit in the page's text."""
    count = page.count_chars()
    if count <= 0:
        return
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(page, 0, count, buffer)
    units = bytes(buffer)[: 2 * max(written - 1, 0)]
    start, lines = 0, 0
    for line in units.decode("utf-16-le", "surrogatepass").split("\n"):
        for part in _DIVIDED.sub("-\n", line).split("\n"):
            if part.strip():
                yield part.rstrip("\r"), start
                lines += 1
                if lines >= MAX_LINES:
                    return
            start += _units(part)
        start += 1


def _ends(page: Any, part: str, start: int) -> tuple[int, int]:
    """Return the first and the last letter of a line."""
    lead = len(part) - len(part.lstrip())
    return _char_index(page, start + lead), _char_index(page, start + max(_units(part.rstrip()) - 1, lead))


def _units(text: str) -> int:
    """Return the number of units of UTF-16 of a text. PDFium counts in them."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _line(
    page: Any,
    first: int,
    last: int,
    part: str,
    words: tuple[Word, ...],
    number: int,
    place: int,
    look: _Look | None = None,
) -> Line:
    """Return a line, by its first and last letter. `look` is the font of the first, if it is known."""
    box, end = _box(page, first), _box(page, last)
    size, bold, fixed = look or _Look(_size(page, first), *_font(page, first))
    return Line(
        text=part.strip(),
        left=box.left,
        right=max(end.right, box.right),
        bottom=min(box.bottom, end.bottom),
        top=max(box.top, end.top),
        size=size,
        bold=bold,
        fixed=fixed and _font(page, last)[1],
        source=number,
        order=number * MAX_LINE_WORDS + place,
        words=words,
    )


def _size(page: Any, index: int) -> float:
    return round(float(raw.FPDFText_GetFontSize(page, index)) * _scale(page, index), 1)


def _char_index(page: Any, text_index: int) -> int:
    return max(int(raw.FPDFText_GetCharIndexFromTextIndex(page, text_index)), 0)


def _box(page: Any, index: int) -> Any:
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(page, index, box)
    return box


def _scale(page: Any, index: int) -> float:
    """Return by how much the matrix of a character enlarges its font: some programs write all text in size 1."""
    matrix = raw.FS_MATRIX()
    if not raw.FPDFText_GetMatrix(page, index, matrix):
        return 1.0
    return float((matrix.b**2 + matrix.d**2) ** 0.5) or 1.0


def _font(page: Any, index: int) -> tuple[bool, bool]:
    """Return whether the font of a character is bold, and whether it has a fixed width."""
    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(_NAME_BYTES)
    size = raw.FPDFText_GetFontInfo(page, index, buffer, _NAME_BYTES, flags)
    name = buffer.value.lower() if 0 < size <= _NAME_BYTES else b""
    bold = b"bold" in name or b"cmbx" in name or raw.FPDFText_GetFontWeight(page, index) >= _BOLD_WEIGHT
    fixed = bool(flags.value & _FIXED_PITCH) or any(part in name for part in _FIXED_NAMES)
    return bold, fixed
