"""The text that a bound leaves unread of a file is counted in its document, where the statements stage reads it."""

from types import ModuleType

import pytest

from streams.pages.formats import epub, markdown, opendocument, pdf_lines, plain
from streams.pages.formats.office import sheets, slides, word
from streams.pages.formats.reading import pack_zip
from streams.pages.sandbox.normalizing import read_document
from tests.unit.pages.test_formats import ODT, make_epub, make_pdf
from tests.unit.pages.test_office import TYPE, c, p, shape, sheet
from tests.unit.pages.test_office import slides as make_slides
from tests.unit.pages.test_office import word as make_word

LINE = "The log is copied back into the database. "
CHAPTER = f"<html><body><p>{LINE}</p></body></html>"
PDF = make_pdf([[(10, 700, f"Page number {number} has a text.")] for number in range(10, 14)])
ROWS = "".join(f"<row>{c(LINE, kind='str')}</row>" for _ in range(5))
TEXT = f'<o:document-content xmlns:o="o" xmlns:t="t">{f"<t:p>{LINE}</t:p>" * 5}</o:document-content>'


@pytest.mark.parametrize(
    ("module", "bound", "value", "kind", "body", "unread"),
    [
        (plain, "MAX_CHARS", 2 * len(LINE), "text/plain", LINE.encode() * 5, 3 * len(LINE)),
        (plain, "MAX_CHARS", 5 * len(LINE), "text/plain", LINE.encode() * 5, 0),
        (markdown, "MAX_MARKDOWN_CHARS", len(LINE), "text/markdown", LINE.encode() * 5, 4 * len(LINE)),
        (pdf_lines, "MAX_PAGES", 1, "application/pdf", PDF, 3 * len("Page number 10 has a text.")),
        (pdf_lines, "MAX_CHARS", 30, "application/pdf", PDF, 2 * len("Page number 10 has a text.")),
        (pdf_lines, "MAX_PAGES", 4, "application/pdf", PDF, 0),
        (epub, "MAX_CHAPTERS", 2, "application/epub+zip", make_epub(dict.fromkeys("abc", CHAPTER)), len(CHAPTER)),
        (epub, "MAX_CHAPTERS", 3, "application/epub+zip", make_epub(dict.fromkeys("abc", CHAPTER)), 0),
        (opendocument, "MAX_CHARS", len(LINE), ODT, pack_zip({"content.xml": TEXT.encode()}), 3 * len(LINE)),
        (opendocument, "MAX_CHARS", 5 * len(LINE), ODT, pack_zip({"content.xml": TEXT.encode()}), 0),
        (word, "MAX_CHARS", len(LINE), TYPE, make_word(p(LINE) * 5), 3 * len(LINE)),
        (sheets, "MAX_CHARS", len(LINE), TYPE, sheet(ROWS), 3 * len(LINE)),
        (slides, "MAX_CHARS", len(LINE), TYPE, make_slides(*[shape(LINE)] * 5), 3 * len(LINE)),
        (slides, "MAX_SLIDES", 2, TYPE, make_slides(*[shape(LINE)] * 5), 3 * len(LINE)),
    ],
)
def test_text_that_is_not_read_is_counted(
    module: ModuleType,
    bound: str,
    value: int,
    kind: str,
    body: bytes,
    unread: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, bound, value)
    document = read_document(body, url="https://a.test/file", headers={"content-type": kind}).document
    assert document.unread_chars == pytest.approx(unread, rel=0.3)
    assert ("unread_chars" in document.facts) == bool(unread)
