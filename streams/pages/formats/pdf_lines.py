"""The lines of a PDF with their place and font, read by PDFium. Only this module knows PDFium.

PDFium is the reader of Chromium, and was fuzzed for years. It may still crash or use much memory on a hostile file, so
it runs in a process that can be killed.
"""

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from streams.errors import Refused
from streams.pages.formats.converted import MAX_CHARS

MAX_PAGES = 1_000
"""Maximum number of pages that are read. The statements of a page are bounded, and a book has more of them."""
MAX_OUTLINE = 2_000
"""Maximum number of entries of the outline that are read."""
MAX_LINES = 400
"""Maximum number of lines of one page that are looked at. A page with more is a drawing or a table of numbers."""
ANGLE_CHARS = 500
"""Number of first characters of a page whose angle is looked at."""
MAX_ANGLE = 0.1
"""Maximum angle of a character that is not turned (radians)."""
_FIXED_PITCH = 1
"""Bit of a font's flags: all glyphs have one width (PDF 1.7, table 123)."""
_DIVIDED = re.compile("[\u0002\ufffe](.)")
"""The mark of PDFium at the place of a hyphen between two lines, which it joins to one line."""
_BOLD_WEIGHT = 600
_NAME_BYTES = 128
_FIXED_NAMES = (b"mono", b"courier", b"cmtt", b"typewriter")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page. Lengths are points, from the lower left corner of the page."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float
    """Size of the font of the first letter."""
    bold: bool = False
    fixed: bool = False
    """True if the font is one of fixed width, as for code."""


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
            raise Refused("pdf", "it is a dynamic form (XFA), which only Acrobat shows: print it to a PDF")
        found = Pdf(metadata=document.get_metadata_dict(skip_empty=True), language=_language(document))
        count = len(document)
        found.left_out = max(0, count - MAX_PAGES)
        chars = 0
        for number in range(min(count, MAX_PAGES)):
            found.pages.append(list(_page_lines(document, number)))
            chars += sum(len(line.text) for line in found.pages[-1])
            if chars > MAX_CHARS:
                found.left_out = count - number - 1
                break
        found.outline = list(_outline(document))
        return found
    finally:
        document.close()


def _reason(message: str) -> str:
    return "it is encrypted" if "assword" in message else f"PDFium can't read it: {message[:100]}"


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


def _page_lines(document: Any, number: int) -> Iterator[Line]:
    """Yield the lines of a page. A page that can't be read has none."""
    try:
        page = document[number]
    except pdfium.PdfiumError:
        return
    try:
        if page.get_rotation() and not _is_turned(page):
            page.set_rotation(0)  # its lines follow each other on the page as it was written
        with closing(page.get_textpage()) as text:
            yield from _text_lines(text)
    except pdfium.PdfiumError:
        return
    finally:
        page.close()


def _is_turned(page: Any) -> bool:
    """Return whether most of the text of a turned page is turned, too, so that it stands upright for a reader."""
    with closing(page.get_textpage()) as text:
        count = min(text.count_chars(), ANGLE_CHARS)
        angles = [raw.FPDFText_GetCharAngle(text, index) for index in range(count)]
    return bool(2 * sum(abs(angle) > MAX_ANGLE for angle in angles) > count)


def _text_lines(page: Any) -> Iterator[Line]:
    count = page.count_chars()
    if count <= 0:
        return
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(page, 0, count, buffer)
    units = bytes(buffer)[: 2 * max(written - 1, 0)]
    start, lines = 0, 0
    for part in units.decode("utf-16-le", "surrogatepass").split("\n"):
        length = len(part.encode("utf-16-le", "surrogatepass")) // 2
        words = part.rstrip("\r")
        if words.strip() and lines < MAX_LINES:
            lines += 1
            yield _line(page, words, start)
        start += length + 1


def _line(page: Any, words: str, start: int) -> Line:
    """Return a line. `start` is the place of its first unit in the page's text."""
    bare = words.strip()
    lead = len(words) - len(words.lstrip())
    first = _char_index(page, start + lead)
    last = _char_index(page, start + lead + len(bare) - 1)
    box, end = _box(page, first), _box(page, last)
    bold, fixed = _font(page, first)
    return Line(
        text=_DIVIDED.sub(_join_word, bare),
        left=box.left,
        right=max(end.right, box.right),
        bottom=min(box.bottom, end.bottom),
        top=max(box.top, end.top),
        size=round(raw.FPDFText_GetFontSize(page, first) * _scale(page, first), 1),
        bold=bold,
        fixed=fixed and _font(page, last)[1],
    )


def _join_word(mark: re.Match[str]) -> str:
    """Join a word that is divided between two lines. Before a capital or a digit the hyphen belongs to the word."""
    return mark[1] if mark[1].islower() else f"-{mark[1]}"


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
