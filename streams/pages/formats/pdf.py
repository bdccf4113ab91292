"""PDF -> HTML: paragraphs, headings, lists and code from the lines of each page. Pure.

A PDF has no paragraphs: it places letters. So paragraphs are guessed by distance, indent and font, and headings by the
outline, else by a larger or bold font. A table of contents with dots is left out, and so are headers and footers
(`pdf_edges`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from streams.errors import Refused
from streams.language.marks import is_closed
from streams.pages.formats.converted import (
    Converted,
    clean,
    count_words,
    element,
    is_no_title,
    iso_date,
    join_lines,
    page,
    title_of_url,
)
from streams.pages.formats.office.tables import table
from streams.pages.formats.pdf_edges import drop_repeated
from streams.pages.formats.pdf_lines import DYNAMIC_FORM, Pdf, read_lines
from streams.pages.formats.pdf_model import Line

HEADING_SIZE = 1.12
"""Minimum size of a heading, as a multiple of the text's size."""
MAX_HEADING_CHARS = 160
TITLE_PAGES = 3
"""Number of first pages that may say the title."""
PARAGRAPH_GAP = 1.35
"""Minimum distance of two paragraphs, as a multiple of the distance of the text's lines."""
INDENT = 0.8
"""Minimum indent of a paragraph's first line, as a multiple of the font's size."""
SHORT_LINE = 0.88
"""Maximum width of a paragraph's last line, as a share of the text's width."""
_LEADERS = re.compile(r"(?:[ ]?[.․·]){4,}+[ ]?(?:\d{1,5}|[ivxlc]{1,8})?$|(?:[ ][.]){4,}+")
_FORM_NOTICE = "if this message is not eventually replaced by the proper contents of the document"
"""A part of the notice that Acrobat's programs write, where other programs look for a form's text."""
_WORD = re.compile(r"\w+")
_BULLET = re.compile(r"(?:[•◦‣▪▸●○■□◆∙·⁃➢✓*]|[–—-])\s+(?=\S)")
_ORDERED = re.compile(r"(?:\d{1,2}|[a-z])[.)]\s+(?=\S)|\[\d{1,3}\]\s")
_SECTION = re.compile(r"(?:(?:Chapter|Section|Appendix)\s)?(?:\d{1,2}|[A-Z])(?:\.\d{1,2}){0,4}\.?\s+(?=\w)")


@dataclass(frozen=True, slots=True)
class Style:
    """The normal font, distance and width of a PDF's lines."""

    size: float
    """Size of most letters (points)."""
    leading: float
    """Distance of most lines (points)."""
    width: float
    """Width of a full line (points)."""
    bold: bool
    """True if most letters are bold."""
    sizes: tuple[float, ...]
    """Sizes of headings, the largest first."""


def convert_pdf(body: bytes, url: str) -> Converted:
    """Convert a PDF. Raises Refused if it can't be read, or has no text."""
    pdf = read_lines(body)
    if not any(line.text for lines in pdf.pages for line in lines):
        raise Refused(
            "pdf", "it has no text: its pages are pictures, or it is empty. Recognise the text of a scan first (OCR)"
        )
    if len(pdf.pages) == 1 and _FORM_NOTICE in " ".join(line.text for line in pdf.pages[0]).lower():
        raise Refused("pdf", DYNAMIC_FORM)
    pages = drop_repeated(pdf.pages)
    style = style_of(pages)
    title = _title(pdf, pages, style) or title_of_url(url)
    outline = _outline_by_page(pdf)
    known = count_words(line.text for lines in pages for line in lines)
    html = [
        page(number + 1, _page_blocks(lines, style, outline.get(number, {}), known))
        for number, lines in enumerate(pages)
    ]
    return Converted(
        html="\n".join(html),
        title=title,
        author=" ".join(clean(pdf.metadata.get("Author", "")).split()),
        published=iso_date(pdf.metadata.get("CreationDate", "")),
        modified=iso_date(pdf.metadata.get("ModDate", "")),
        language=pdf.language,
        description=" ".join(clean(pdf.metadata.get("Subject", "")).split()),
        unread_chars=pdf.left_out * sum(len(line.text) for lines in pages for line in lines) // len(pages),
    )


def style_of(pages: Sequence[Sequence[Line]]) -> Style:
    """Return what is normal in the text: by letters, since a title has few."""
    lines = [line for page_lines in pages for line in page_lines]
    prose = [line for line in lines if not line.fixed and not line.rows] or lines
    sizes: Counter[float] = Counter()
    for line in prose:
        sizes[line.size] += len(line.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    normal = [line for line in prose if line.size == size]
    gaps = [
        above.bottom - below.bottom
        for page_lines in pages
        for above, below in pairwise(page_lines)
        if above.size == below.size == size and 0 < above.bottom - below.bottom < 3 * size
    ]
    widths = sorted(line.right - line.left for line in normal)
    bold = sum(len(line.text) for line in normal if line.bold)
    larger = sorted({one for one in sizes if one >= HEADING_SIZE * size}, reverse=True)
    return Style(
        size=size,
        leading=float(median(gaps)) if gaps else 1.2 * size,
        width=widths[int(0.9 * len(widths))] if widths else 0.0,
        bold=2 * bold > sum(len(line.text) for line in normal),
        sizes=tuple(larger),
    )


def _title(pdf: Pdf, pages: Sequence[Sequence[Line]], style: Style) -> str:
    """Return the title of the metadata if the first pages say it, too; else the largest text at the top of the first.

    Programs state the name of a file or of their template, in any language.
    """
    stated = " ".join(clean(pdf.metadata.get("Title", "")).split())
    if is_no_title(stated):
        stated = ""
    if stated and _is_in_text(stated, pages):
        return stated
    return _largest_text(pages, style) or stated


def _is_in_text(title: str, pages: Sequence[Sequence[Line]]) -> bool:
    """Return whether most words of a title are in the text of the first pages."""
    words = {word for lines in pages[:TITLE_PAGES] for line in lines for word in _WORD.findall(line.text.lower())}
    own = set(_WORD.findall(title.lower()))
    return 2 * len(own & words) >= len(own)


def _largest_text(pages: Sequence[Sequence[Line]], style: Style) -> str:
    """Return the largest text at the top of the first page with text, or a bold first line; empty without both."""
    lines = next((lines for lines in pages[:TITLE_PAGES] if lines), [])
    # A word across the page, such as "draft", is no title either.
    first = [line for line in lines[:25] if not is_no_title(line.text)]
    largest = max((line.size for line in first), default=0.0)
    if largest < HEADING_SIZE * style.size:
        return next((line.text for line in first[:3] if line.bold and len(line.text) <= MAX_HEADING_CHARS), "")
    words: list[str] = []
    for line in first:
        if line.size >= 0.98 * largest:
            words.append(line.text)
        elif words:
            break
    return clean(" ".join(words))[:MAX_HEADING_CHARS].strip()


def _outline_by_page(pdf: Pdf) -> dict[int, dict[str, int]]:
    """Return the titles of the outline, without numbers and spaces, with their depth, by page."""
    found: dict[int, dict[str, int]] = {}
    for depth, number, title in pdf.outline:
        found.setdefault(number, {}).setdefault(_letters(title), depth)
    return found


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, _SECTION.sub("", text, count=1).lower()))


def _page_blocks(
    lines: Sequence[Line], style: Style, outline: dict[str, int], known: Mapping[str, int]
) -> Iterator[str]:
    """Yield the blocks of a page as HTML."""
    at = 0
    items: list[str] = []
    while at < len(lines):
        end = _end_of_block(lines, at, style, outline)
        tag, text = _block(lines[at:end], style, outline, known)
        at = end
        if tag == "li":
            items.append(element("li", text))
            continue
        if items:
            yield f"<ul>{''.join(items)}</ul>"
            items = []
        if tag == "table":
            yield text
        elif text:
            yield element(tag, text)
    if items:
        yield f"<ul>{''.join(items)}</ul>"


def _end_of_block(lines: Sequence[Line], start: int, style: Style, outline: dict[str, int]) -> int:
    """Return the place after the last line of the block that begins here."""
    level = _heading_level(lines[start], style, outline)
    end = start + 1
    while end < len(lines):
        above, line = lines[end - 1], lines[end]
        if level:
            if not _goes_on(lines[start], above, line, level, style, outline):
                break
        elif _begins_block(lines[start], above, line, style, outline):
            break
        end += 1
    return end


def _goes_on(first: Line, above: Line, line: Line, level: int, style: Style, outline: dict[str, int]) -> bool:
    """Return whether a heading has a further line."""
    same = line.size == first.size and line.bold == first.bold and above.bottom - line.bottom < 1.6 * line.size
    return same and _heading_level(line, style, outline) == level and not _SECTION.match(line.text)


def _begins_block(first: Line, above: Line, line: Line, style: Style, outline: dict[str, int]) -> bool:
    gap = above.bottom - line.bottom
    if line.fixed != first.fixed or line.rows or first.rows or _heading_level(line, style, outline):
        return True
    if line.fixed:
        return gap < 0 or gap > 3 * style.leading
    if above.text[-1:] == "-" and above.text[-2:-1].isalpha() and line.text[:1].islower():
        return False
    if gap < -0.5 * line.size or gap > PARAGRAPH_GAP * max(style.leading, 1.05 * line.size):
        return not _is_column_break(above, line, style)
    if _BULLET.match(line.text) or _ORDERED.match(line.text) or _has_leaders(above.text):
        return True
    is_item = bool(_BULLET.match(first.text) or _ORDERED.match(first.text))
    indented = line.left - above.left > INDENT * line.size
    ends = is_closed(above.text) or line.text[:1].isupper()
    short = above.right - above.left < SHORT_LINE * style.width
    if not is_item and indented and ends and above is not first:
        return True
    return ends and short and (above.right < line.right or not line.text[:1].islower())


def _has_leaders(text: str) -> bool:
    """Return whether a line ends with dots and a page number, as in a table of contents."""
    return bool(_LEADERS.search(text[-MAX_HEADING_CHARS:]))


def _is_column_break(above: Line, line: Line, style: Style) -> bool:
    """Return whether a sentence goes on at the top of the next column."""
    return line.bottom > above.bottom and line.text[:1].islower() and not above.text.endswith((".", ":"))


def _heading_level(line: Line, style: Style, outline: dict[str, int]) -> int:
    """Return the level of a heading, 1 to 6; 0 for a line that is none."""
    text = line.text
    if len(text) > MAX_HEADING_CHARS or line.fixed or line.rows or not any(map(str.isalpha, text)):
        return 0
    if _has_leaders(text):
        return 0
    depth = outline.get(_letters(text)) if outline else None
    if depth is not None and (line.bold or line.size >= style.size):
        return min(depth + 2, 6)
    if text.endswith((".", ",", ";")) and not _SECTION.match(text):
        return 0
    if line.size >= HEADING_SIZE * style.size:
        return min(2 + style.sizes.index(line.size), 6) if line.size in style.sizes else 3
    if line.bold and not style.bold and len(text) <= 90 and line.right - line.left < SHORT_LINE * style.width:
        return 4 if _SECTION.match(text) or text[:1].isupper() else 0
    return 0


def _block(lines: Sequence[Line], style: Style, outline: dict[str, int], known: Mapping[str, int]) -> tuple[str, str]:
    """Return the tag and the text of a block."""
    if lines[0].rows:
        return "table", table(lines[0].rows)
    level = _heading_level(lines[0], style, outline)
    if level:
        return f"h{level}", join_lines([line.text for line in lines], divides_words=True, known=known)
    if lines[0].fixed:
        left = min(line.left for line in lines)
        return "pre", "\n".join(_indent(line, left) + line.text for line in lines)
    if _has_leaders(lines[-1].text):
        return "p", ""
    text = join_lines([line.text for line in lines], divides_words=True, known=known)
    if bullet := _BULLET.match(text):
        return "li", text[bullet.end() :]
    return "p", text


def _indent(line: Line, left: float) -> str:
    """Return the indent of a line of code: a letter of such a font is 0.6 of its size wide."""
    return " " * min(round((line.left - left) / max(0.6 * line.size, 1.0)), 40)
