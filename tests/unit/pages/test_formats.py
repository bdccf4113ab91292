"""Files that are not HTML: text, headings, facts and pages of each format, and hostile files."""

import zlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.file_kinds import is_readable, kind_of
from streams.errors import Refused
from streams.pages.document.model import Document
from streams.pages.document.to_html import to_html
from streams.pages.formats.converted import join_lines
from streams.pages.formats.pdf_lines import MAX_PAGES
from streams.pages.formats.reading import pack_zip, warm_up_files
from streams.pages.formats.zipped import MAX_MEMBER_BYTES
from streams.pages.normalize import normalize
from streams.pages.sandbox.normalizing import read_document
from streams.statements.drafting import draft_statements
from tests.sentence_splitter import SPLITTER

URL = "https://docs.example/files/user_guide"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"


def read(body: bytes, kind: str, url: str = URL) -> Document:
    return read_document(body, url=url, headers={"content-type": kind}).document


def outline(document: Document) -> list[tuple[str, str]]:
    return [(block.tag, block.text) for block in document.blocks]


def make_pdf(pages: list[list[tuple[int, int, str]]], info: str = "") -> bytes:
    """Return a PDF with these lines on each page: size, height, text. Size 0 is code."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    objects += [f"<</Type/Font/Subtype/Type1/BaseFont/{name}>>" for name in ("Helvetica", "Helvetica-Bold", "Courier")]
    kids = []
    for lines in pages:
        stream = "".join(
            f"BT /F{3 if size == 0 else 2 if size > 12 else 1} {size or 10} Tf 50 {height} Td ({text}) Tj ET\n"
            for size, height, text in lines
        )
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}endstream ")
        fonts = "/Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<<{fonts}>>/Contents {len(objects)} 0 R>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    objects.append(f"<<{info}>>")
    body = "".join(f"{number} 0 obj{content}endobj\n" for number, content in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R/Info {len(objects)} 0 R>>".encode("latin-1")


PROSE = [
    (10, 700, "The tide is the rise of the sea that the Moon and the Sun cause toge-"),
    (10, 688, "ther. It comes twice a day on most of the coasts of the open ocean, or"),
    (10, 676, "once a day."),
    (10, 650, "A second paragraph begins after a larger distance than that of lines."),
]


def test_a_pdf_has_paragraphs_headings_code_and_pages() -> None:
    footer = (8, 20, "Tides, draft, page {}")
    body = make_pdf(
        [
            [(20, 740, "About tides"), *PROSE, (0, 620, "x = 1"), (0, 608, "  y = 2"), (8, 20, footer[2].format(1))],
            [(8, 20, footer[2].format(2))],
            [(14, 740, "Neap tides"), (10, 700, "Neap tides are smaller."), (8, 20, footer[2].format(3))],
        ],
        "/Title(A guide to tides)/Author(Ann Other)/CreationDate(D:20240503101500Z)/ModDate(D:20240601)",
    )
    page = read(body, "application/pdf")
    assert outline(page) == [
        ("h2", "About tides"),
        ("p", "The tide is the rise of the sea that the Moon and the Sun cause together. It comes twice a day on most "
              "of the coasts of the open ocean, or once a day."),
        ("p", "A second paragraph begins after a larger distance than that of lines."),
        ("pre", "x = 1\n  y = 2"),
        ("h3", "Neap tides"),
        ("p", "Neap tides are smaller."),
    ]  # fmt: skip
    assert page.title == "A guide to tides"
    assert page.language == "en"
    stated = {"author": "Ann Other", "published": "2024-05-03", "modified": "2024-06-01", "format": "pdf"}
    assert page.facts == {**stated, "pages": [0, 4, 4]}, "the second page has only its footer, which repeats"
    assert [page.page_of(block) for block in range(6)] == [1, 1, 1, 1, 3, 3]


def test_statements_know_the_page_of_their_file() -> None:
    page = read(make_pdf([PROSE, [(10, 700, "The last page has a sentence.")]]), "application/pdf")
    drafts, _ = draft_statements(page, SPLITTER)
    assert [(draft.page, draft.text.split()[0]) for draft in drafts] == [
        (1, "The"),
        (1, "It"),
        (1, "A"),
        (2, "The"),
    ]


def test_a_pdf_without_a_title_is_called_by_its_largest_text_or_its_file() -> None:
    assert read(make_pdf([[(20, 740, "About tides"), *PROSE]], "/Title(thesis.dvi)"), "application/pdf").title == (
        "About tides"
    )
    draft = make_pdf([[(20, 740, "About tides"), *PROSE]], "/Title(draft)")
    assert read(draft, "application/pdf").title == "About tides"
    assert read(make_pdf([PROSE]), "application/pdf", f"{URL}.pdf").title == "user guide"


def test_plain_text_has_paragraphs_headings_lists_and_tables_as_they_are() -> None:
    text = """The guide
=========

A paragraph that was broken
at the end of each line.

* first item that goes on
  here
* second item

name      size
----      ----
tide      3
"""
    page = read(text.encode(), "text/plain")
    assert page.title == "The guide"
    assert outline(page) == [
        ("h2", "The guide"),
        ("p", "A paragraph that was broken at the end of each line."),
        ("p", "first item that goes on here"),
        ("p", "second item"),
        ("pre", "name      size\n----      ----\ntide      3"),
    ]


def test_numbered_headings_of_plain_text_are_none_in_a_table_of_contents_or_a_list() -> None:
    prose = "The tide rises twice a day on most of the coasts of this inter-\nnational sea."
    contents = "1. Tides\n\n1.1. Spring tides\n1.2. Neap tides\n\n2. Harbours"
    body = f"Seas\n\n{contents}\n\n1. Tides\n\n  1.1. Spring tides\n\n{prose}\n\n1. Leave\n\n2. Come back\n\n{prose}"
    joined = "The tide rises twice a day on most of the coasts of this inter-national sea."
    page = outline(read(body.encode(), "text/plain"))
    assert [text for tag, text in page if tag[0] == "h"] == ["1. Tides", "1.1. Spring tides"]
    assert [text for tag, text in page if tag == "p" and " " in text] == [
        "1.1. Spring tides\n1.2. Neap tides",
        joined,
        "Come back",
        joined,
    ]


@pytest.mark.parametrize(
    ("lines", "divides_words", "joined"),
    [
        (["The tide toge-", "ther"], True, "The tide together"),
        (["the debian-", "policy list"], False, "the debian-policy list"),
        (["from 3 -", "or 4 -"], True, "from 3 - or 4 -"),
        (["接 続 を 開 始", "c l i e n t を"], True, "接続を開始 client を"),  # a justified line
        (["名前を持っ", "ています ssh です"], True, "名前を持っています ssh です"),
        (["a b c d", "e"], True, "a b c d e"),  # a formula
        ([], True, ""),
    ],
)
def test_the_lines_of_a_paragraph_are_joined(lines: list[str], divides_words: bool, joined: str) -> None:
    assert join_lines(lines, divides_words=divides_words) == joined


def test_markdown_has_its_structure_and_the_fields_of_its_front_matter() -> None:
    text = """---
title: "All about tides"
author: Ann
date: 2024-05-03
---
# Tides

See [the Moon](/moon).

| sea | height |
|-----|--------|
| Baltic | 0.1 m |

```python
x = 1
```
"""
    page = read(text.encode(), "text/markdown; charset=utf-8")
    assert (page.title, page.facts) == (
        "All about tides",
        {"author": "Ann", "published": "2024-05-03", "format": "markdown"},
    )
    assert [link.url for link in page.links] == ["https://docs.example/moon"]
    assert ("pre", "x = 1") in outline(page)
    assert next(block.language for block in page.blocks if block.tag == "pre") == "python"
    assert {"table", "th", "td"} <= {container.tag for container in page.containers}


def test_commands_and_settings_of_plain_text_stay_as_they_are_written() -> None:
    commands = "$ sudo pier --update the tide\n$ sudo pier --leave at noon"
    settings = "# Choose whether the ferry waits\n#ferry/wait boolean true"
    page = outline(read(f"Piers\n\n{commands}\n\nThe ferry is late.\n\n{settings}".encode(), "text/plain"))
    assert [block for block in page if block[0] == "pre"][-2:] == [("pre", commands), ("pre", settings)]


def test_a_markdown_file_that_begins_with_a_lower_heading_is_called_by_it() -> None:
    assert read(b"## Babel 3.84\n\nOf tongues.", "text/markdown").title == "Babel 3.84"
    assert read(b"Of tongues.\n\n## Babel 3.84", "text/markdown").title == "user guide"


def make_epub(chapters: Mapping[str, str]) -> bytes:
    items = "".join(f'<item id="{n}" href="{n}.xhtml" media-type="application/xhtml+xml"/>' for n in chapters)
    refs = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Tides</dc:title>'
        "<dc:creator>Ann</dc:creator><dc:language>en</dc:language><dc:date>2024-05</dc:date></metadata>"
        f"<manifest>{items}</manifest><spine>{refs}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/p.opf"/></rootfiles></container>'
    files = {f"OEBPS/{name}.xhtml": content.encode() for name, content in chapters.items()}
    return pack_zip({"META-INF/container.xml": container.encode(), "OEBPS/p.opf": package.encode(), **files})


def test_empty_elements_of_xhtml_end_where_they_are() -> None:
    page = read(
        make_epub({"c": "<html><body><h1>A<a id='x'/></h1><p/><p>One <i/>two.</p><script/></body></html>"}), EPUB
    )
    assert outline(page) == [("h1", "A"), ("p", "One two.")]
    assert [span.kind for block in page.blocks for span in block.spans] == []


def test_an_epub_has_its_chapters_in_the_order_of_the_spine() -> None:
    chapters = {
        "two": '<h1>Second</h1><p>See <a href="one.xhtml">one</a> or <a href="https://a.example/">a</a>.</p>',
        "one": '<h1>First</h1><p>Tides<a href="#n" role="doc-noteref">1</a>.</p>'
        '<p id="n" role="doc-footnote">1 Yes.</p>',
    }
    page = read(make_epub(chapters), EPUB)
    assert outline(page) == [("h1", "Second"), ("p", "See one or a."), ("h1", "First"), ("p", "Tides.")]
    assert [span.target for block in page.blocks for span in block.spans] == ["https://a.example/", "Yes."]
    assert (page.title, page.facts) == ("Tides", {"author": "Ann", "published": "2024-05", "format": "epub"})


CONTENT = """<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b">
<text:h text:outline-level="2">Tides</text:h>
<text:p>The <text:span>sea</text:span><text:s/>rises<text:note><text:note-citation>1</text:note-citation>
<text:note-body><text:p>Twice.</text:p></text:note-body></text:note>.</text:p>
<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table>
</office:document-content>"""
META = '<m xmlns:dc="d"><dc:title>A guide</dc:title><dc:date>2024-05-03T10:00:00</dc:date></m>'


def test_opendocument_has_headings_notes_lists_and_tables() -> None:
    page = read(pack_zip({"content.xml": CONTENT.encode(), "meta.xml": META.encode()}), ODT)
    assert outline(page) == [("h2", "Tides"), ("p", "The sea rises."), ("p", "one"), ("p", "a")]
    assert [span.target for block in page.blocks for span in block.spans if span.kind == "footnote"] == ["Twice."]
    assert (page.title, page.facts) == ("A guide", {"modified": "2024-05-03", "format": "opendocument"})


ALL = [*warm_up_files().items(), ("application/pdf", make_pdf([PROSE, PROSE]))]


@pytest.mark.parametrize(("kind", "body"), ALL)
def test_each_document_survives_its_way_through_html(kind: str, body: bytes) -> None:
    page = read(body, kind)
    assert page.blocks
    assert normalize(to_html(page), url=page.url).document == page


KINDS = [
    # media type, URL, first bytes, kind
    ("", "https://a.example/x", b"<html>", "html"),
    ("text/html", "https://a.example/x.pdf", b"<html>", "html"),
    ("text/html", "https://a.example/x", b"%PDF-1.4", "pdf"),
    ("application/octet-stream", "https://a.example/x.PDF", b"%PDF-1.4", "pdf"),
    ("application/octet-stream", "https://a.example/x", b"abc", None),
    ("text/plain", "https://a.example/README.md", b"# Hi", "markdown"),
    ("text/plain", "https://a.example/x.epub", b"PK\3\4", "epub"),
    ("text/plain", "https://a.example/x.epub", b"not zipped", "text"),
    ("application/octet-stream", "https://a.example/x.docx", b"PK\3\4", "docx"),
    ("application/vnd.ms-excel", "https://a.example/x", b"\xd0\xcf", "xlsx"),  # it is refused with what to do
    ("image/png", "https://a.example/x.pdf", b"\x89PNG", None),
]


@pytest.mark.parametrize(("kind", "url", "body", "expected"), KINDS)
def test_the_kind_of_a_file(kind: str, url: str, body: bytes, expected: str | None) -> None:
    assert kind_of(body, kind, url) == expected
    assert is_readable(kind, url) or expected is None


BOMB = b"0" * (MAX_MEMBER_BYTES + 1)
ENTITIES = b'<!DOCTYPE d [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><d xmlns:text="t"><text:p>&b;</text:p></d>'
DEEP = b'<d xmlns:text="t">' + b"<text:list>" * 5_000 + b"</d>"
HOSTILE = [
    (b"%PDF-1.4", "application/pdf", "pdf"),
    (make_pdf([[]]), "application/pdf", "no text"),
    (b"PK\3\4", EPUB, "can't be read"),
    (pack_zip({"a": b""}), EPUB, "META-INF"),
    (make_epub({"c": "<div>" * 30_000}), EPUB, "nest deeper"),
    (pack_zip({"content.xml": BOMB}), ODT, "unpacked"),
    (pack_zip({"content.xml": ENTITIES}), ODT, "no text"),
    (pack_zip({"content.xml": DEEP}), ODT, "depth"),
    (pack_zip({str(n): b"" for n in range(5_001)}), ODT, "members"),
    (pack_zip({"META-INF/encryption.xml": b"<EncryptedData/>"}), EPUB, "encrypted"),
    (b"PNG", "image/png", "image/png is not"),
]


@pytest.mark.parametrize(("body", "kind", "reason"), HOSTILE, ids=[reason for _, _, reason in HOSTILE])
def test_hostile_files_are_refused(body: bytes, kind: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        read(body, kind)


def test_a_long_pdf_is_read_from_its_beginning() -> None:
    page = read(
        make_pdf([[(10, 700, f"Page number {n} has a text.")] for n in range(MAX_PAGES + 5)]), "application/pdf"
    )
    assert page.page_of(len(page.blocks) - 1) == MAX_PAGES


@given(st.sampled_from(ALL), st.data())
def test_a_damaged_file_is_read_or_refused(file: tuple[str, bytes], data: st.DataObject) -> None:
    kind, body = file
    at = data.draw(st.integers(0, len(body)))
    damaged = body[:at] + data.draw(st.binary(max_size=4)) + body[at + data.draw(st.integers(0, 40)) :]
    try:
        page = read(damaged, kind)
    except Refused:
        return
    assert normalize(to_html(page), url=page.url).document == page


def test_a_stream_that_unpacks_to_much_is_bounded_by_the_process() -> None:
    """PDFium unpacks streams itself: a page of 64 MB of spaces is read without its blanks."""
    packed = zlib.compress(b"BT /F1 10 Tf 50 700 Td (A text) Tj ET " + b" " * 64_000_000, 9)
    head = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    page = b"3 0 obj<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 4 0 R>>>>/Contents 5 0 R>>endobj "
    font = b"4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj "
    stream = b"5 0 obj<</Filter/FlateDecode/Length %d>>stream\n" % len(packed) + packed + b"\nendstream endobj "
    body = head + page + font + stream + b"trailer<</Root 1 0 R>>"
    assert len(body) < 100_000
    assert read(body, "application/pdf").text in ("A text", "")


RFC = """\
                    The Tide Query Protocol

   The server answers with the times of the next
   high water of the port, and with those of the



Linde                       Standards Track                    [Page 1]
\fRFC 9999                 Tide Query Protocol                 March 2013


   low water in the zone of the port that was asked for.

Linde                       Standards Track                    [Page 2]
"""


def test_a_sentence_of_plain_text_goes_on_behind_the_break_of_a_page() -> None:
    assert outline(read(RFC.encode(), "text/plain")) == [
        ("p", "The Tide Query Protocol"),
        ("p", "The server answers with the times of the next high water of the port, and with those of the low water "
              "in the zone of the port that was asked for."),
    ]  # fmt: skip


def test_a_form_feed_alone_is_a_break_between_paragraphs() -> None:
    page = read(b"The first page has a sentence of its own.\n\fThe second page has another one.\n", "text/plain")
    assert [text for _, text in outline(page)] == [
        "The first page has a sentence of its own.",
        "The second page has another one.",
    ]


def test_the_marks_of_a_quotation_in_a_mail_are_no_text() -> None:
    mail = b"Ada wrote:\n\n> The offset for Ulsk has the wrong sign,\n> so the tables are wrong.\n\nIt is right.\n"
    page = read(mail, "text/plain")
    assert "The offset for Ulsk has the wrong sign, so the tables are wrong." in [block.text for block in page.blocks]
    assert "blockquote" in {container.tag for container in page.containers}


def test_headers_of_two_pages_are_left_out() -> None:
    texts = PROSE, [(10, 700, "The last page has a sentence.")]
    pages = [
        [(8, 770, "Harbour Board"), *lines, (8, 20, f"Seite {number} von 2")] for number, lines in enumerate(texts, 1)
    ]
    text = [block.text for block in read(make_pdf(pages), "application/pdf").blocks]
    assert not any("Harbour Board" in part or "Seite" in part for part in text)
    assert text[-1] == "The last page has a sentence."


@pytest.mark.parametrize("stated", ["PowerPoint-Präsentation", "tmp7F3A.tmp", "Présentation PowerPoint"])
def test_a_title_that_no_page_says_is_the_name_of_a_template_or_file(stated: str) -> None:
    body = make_pdf([[(20, 740, "About tides"), *PROSE]], f"/Title({stated})")
    assert read(body, "application/pdf").title == "About tides"
