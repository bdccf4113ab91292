"""Files of Word, PowerPoint and Excel: text, structure and values, what is left out, and hostile files.

The packages are written by hand, so that each case shows the elements that it is about.
"""

import re

import pytest

from streams.errors import Refused
from streams.pages.document.model import Document
from streams.pages.formats.office.reading import convert_office
from streams.pages.formats.reading import pack_zip
from streams.pages.sandbox.normalizing import read_document

URL = "https://docs.example/files/harbour_rules"
TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
NAMESPACES = 'xmlns:w="w" xmlns:r="r" xmlns:p="p" xmlns:a="a" xmlns:mc="mc" xmlns="s"'


def package(main: str, parts: dict[str, str] | None = None, facts: str = "") -> bytes:
    """Return a package with this main part. A part `kind:name` is related to it as that kind; its id is its name."""
    parts = parts or {}
    related = "".join(
        f'<Relationship Id="{name}" Type="x/{kind}" Target="{name}.xml"/>'
        for kind, _, name in (key.partition(":") for key in parts)
    )
    files = {
        "_rels/.rels": '<R><Relationship Id="1" Type="x/officeDocument" Target="d/main.xml"/>'
        '<Relationship Id="2" Type="x/core-properties" Target="core.xml"/></R>',
        "d/_rels/main.xml.rels": f'<R>{related}<Relationship Id="web" Type="x/hyperlink" '
        'TargetMode="External" Target="https://a.example/"/></R>',
        "d/main.xml": _with_namespaces(main),
        "core.xml": f'<c xmlns:dc="d" xmlns:dcterms="t">{facts}</c>',
        **{f"d/{key.partition(':')[2]}.xml": _with_namespaces(content) for key, content in parts.items()},
    }
    return pack_zip({name: content.encode() for name, content in files.items()})


def _with_namespaces(xml: str) -> str:
    return re.sub(r"^<([\w:]+)", rf"<\1 {NAMESPACES}", xml)


def word(body: str, parts: dict[str, str] | None = None, facts: str = "") -> bytes:
    return package(f"<w:document><w:body>{body}</w:body></w:document>", parts, facts)


def html(body: bytes) -> str:
    return convert_office(body, URL).html


def read(body: bytes) -> Document:
    return read_document(body, url=URL, headers={"content-type": TYPE}).document


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


STYLES = """<w:styles>
<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:styleId="Mine"><w:name w:val="My heading"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="T1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
</w:styles>"""
NUMBERING = """<w:numbering>
<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num></w:numbering>"""


def item(text: str, level: int = 0, number: int = 3) -> str:
    return p(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')


def cell(text: str, properties: str = "", *, bold: bool = False) -> str:
    run = "<w:rPr><w:b/></w:rPr>" * bold
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r>{run}<w:t>{text}</w:t></w:r></w:p></w:tc>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


HEADER = "<w:tblHeader/>"
RESTART, GOES_ON, WIDE = '<w:vMerge w:val="restart"/>', "<w:vMerge/>", '<w:gridSpan w:val="2"/>'
WORD = [
    # what it is, body, HTML
    ("a style of a heading, by its level", p("A", '<w:pStyle w:val="berschrift2"/>'), "<h2>A</h2>"),
    ("a style based on it", p("A", '<w:pStyle w:val="Mine"/>'), "<h2>A</h2>"),
    ("a level of the paragraph itself", p("A", '<w:outlineLvl w:val="2"/>'), "<h3>A</h3>"),
    ("the level of the body", p("A", '<w:outlineLvl w:val="9"/>'), "<p>A</p>"),
    ("the title", p("A", '<w:pStyle w:val="Titel"/>'), "<h1>A</h1>"),
    ("a style that is based on itself", p("A", '<w:pStyle w:val="Loop"/>'), "<p>A</p>"),
    ("a line of the table of contents", p("A 3", '<w:pStyle w:val="T1"/>') + p("B"), "<p>B</p>"),
    (
        "a generated table of contents",
        '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
        f"<w:sdtContent>{p('A 3')}</w:sdtContent></w:sdt>{p('B')}",
        "<p>B</p>",
    ),
    ("a content control", f"<w:sdt><w:sdtContent>{p('A')}</w:sdtContent></w:sdt>", "<p>A</p>"),
    ("an item below an item", item("a") + item("b", 1) + item("c"), "<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>"),
    ("two lists", item("a") + item("b", number=4), "<ol><li>a</li></ol><ul><li>b</li></ul>"),
    ("a list, then a paragraph", item("a") + p("b"), "<ol><li>a</li></ol><p>b</p>"),
    ("no list (numId 0)", item("a", number=0), "<p>a</p>"),
    ("an insertion", "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>", "<p>new</p>"),
    ("a deletion", "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>" + p("b"), "<p>b</p>"),
    ("moved text, at its new place", f"<w:moveFrom>{p('a')}</w:moveFrom><w:moveTo>{p('a')}</w:moveTo>", "<p>a</p>"),
    ("hidden text", "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>no</w:t></w:r></w:p>" + p("b"), "<p>b</p>"),
    (
        "text that is not hidden",
        '<w:p><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>yes</w:t></w:r></w:p>',
        "<p>yes</p>",
    ),
    (
        "the code of a field is no text",
        "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>",
        "<p>7</p>",
    ),
    (
        "lines, tabulators, hyphens",
        "<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:tab/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>",
        "<p>a<br>b c-d</p>",
    ),
    ("a soft hyphen is no text", "<w:p><w:r><w:t>a</w:t><w:softHyphen/><w:t>b</w:t></w:r></w:p>", "<p>ab</p>"),
    (
        "a link to the web",
        '<w:p><w:hyperlink r:id="web"><w:r><w:t>a</w:t></w:r></w:hyperlink></w:p>',
        '<p><a href="https://a.example/">a</a></p>',
    ),
    ("a link within", '<w:p><w:hyperlink w:anchor="x"><w:r><w:t>a</w:t></w:r></w:hyperlink></w:p>', "<p>a</p>"),
    (
        "a reading above a word (ruby)",
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase>"
        "</w:ruby></w:r></w:p>",
        "<p>東京</p>",
    ),
    (
        "a text box stands once, behind its paragraph",
        "<w:p><w:r><w:t>a</w:t><mc:AlternateContent><mc:Choice><w:txbxContent>"
        f"{p('box')}</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>{p('box')}</w:txbxContent></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>",
        "<p>a</p><p>box</p>",
    ),
    (
        "the declared header of a table",
        f"<w:tbl>{row(cell('k'), cell('v'), properties=HEADER)}{row(cell('a'), cell('1'))}</w:tbl>",
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>",
    ),
    (
        "a header that is only bold",
        f"<w:tbl>{row(cell('k', bold=True), cell('v', bold=True))}{row(cell('a'), cell('1'))}</w:tbl>",
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>",
    ),
    (
        "merged cells",
        f"<w:tbl>{row(cell('a', RESTART), cell('b'))}{row(cell('', GOES_ON), cell('c'))}{row(cell('d', WIDE))}</w:tbl>",
        '<table><tr><td rowspan="2">a</td><td>b</td></tr><tr><td>c</td></tr><tr><td colspan="2">d</td></tr></table>',
    ),
    ("a table of one cell is a box", f"<w:tbl>{row(cell('a'))}</w:tbl>", "a"),
    (
        "a deleted row",
        f"<w:tbl>{row(cell('a'))}{row(cell('b'))}{row(cell('c'), properties='<w:del/>')}</w:tbl>",
        "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>",
    ),
]


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in WORD], ids=[case[0] for case in WORD])
def test_a_document_of_word(body: str, expected: str) -> None:
    assert html(word(body, {"styles:styles": STYLES, "numbering:numbering": NUMBERING})) == expected


def test_notes_stand_behind_their_paragraph() -> None:
    notes = '<w:footnotes><w:footnote w:type="separator" w:id="0"/>' + (
        f'<w:footnote w:id="2">{p("Twice a day.")}</w:footnote></w:footnotes>'
    )
    body = '<w:p><w:r><w:t>It rises</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    page = read(word(body, {"footnotes:footnotes": notes}))
    assert [(block.tag, block.text) for block in page.blocks] == [("p", "It rises")]
    assert [span.target for span in page.blocks[0].spans] == ["Twice a day."]


FACTS = (
    "<dc:title>Rules</dc:title><dc:creator>Ann</dc:creator>"
    "<dcterms:created>2024-05-03T10:00:00Z</dcterms:created><dcterms:modified>2024-06-01T10:00:00Z</dcterms:modified>"
)


def test_a_file_has_the_facts_that_it_states() -> None:
    page = read(word(p("The harbour opens at six."), facts=FACTS))
    assert page.title == "Rules"
    assert page.facts == {"author": "Ann", "published": "2024-05-03", "modified": "2024-06-01", "format": "docx"}


@pytest.mark.parametrize("stated", ["Document1", "PowerPoint Presentation", "Presentation", "rules_v2.docx", ""])
def test_the_title_of_a_template_is_none(stated: str) -> None:
    heading = p("Harbour rules", '<w:outlineLvl w:val="0"/>')
    assert convert_office(word(heading, facts=f"<dc:title>{stated}</dc:title>"), URL).title == "Harbour rules"
    assert convert_office(word(p("Text."), facts=f"<dc:title>{stated}</dc:title>"), URL).title == "harbour rules"


def shape(text: str, kind: str | None = None) -> str:
    holder = "" if kind is None else f'<p:ph type="{kind}"/>' if kind else "<p:ph/>"
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("|"))
    return f"<p:sp><p:nvSpPr><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def slides(*shapes: str, show: str = "1") -> bytes:
    main = "".join(f'<p:sldId r:id="s{number}"/>' for number in range(len(shapes)))
    parts = {
        f"slide:s{number}": f'<p:sld show="{show}"><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>'
        for number, tree in enumerate(shapes)
    }
    return package(f"<p:presentation><p:sldIdLst>{main}</p:sldIdLst></p:presentation>", parts)


GRID = (
    '<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="1"/>'
    "<a:tr><a:tc><a:txBody><a:p><a:r><a:t>k</a:t></a:r></a:p></a:txBody></a:tc></a:tr>"
    "<a:tr><a:tc><a:txBody><a:p><a:r><a:t>1</a:t></a:r></a:p></a:txBody></a:tc></a:tr>"
    "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
)
SLIDES = [
    ("the title comes first", shape("text") + shape("Tides", "title"), "<h2>Tides</h2>\n<p>text</p>"),
    ("lines of the body are items", shape("one|two", ""), "<ul><li>one</li><li>two</li></ul>"),
    ("one line of the body is a paragraph", shape("one", "body"), "<p>one</p>"),
    ("number, date and footer are left out", shape("3", "sldNum") + shape("x", "ftr") + shape("a"), "<p>a</p>"),
    ("shapes of a group", f"<p:grpSp>{shape('a')}</p:grpSp>", "<p>a</p>"),
    ("a table", GRID, "<table><tr><th>k</th></tr><tr><td>1</td></tr></table>"),
]


@pytest.mark.parametrize(("tree", "expected"), [case[1:] for case in SLIDES], ids=[case[0] for case in SLIDES])
def test_a_slide_of_powerpoint(tree: str, expected: str) -> None:
    assert html(slides(tree)) == f'<section data-riffle-page="1">{expected}</section>'


def test_slides_are_pages_and_an_empty_one_counts() -> None:
    page = read(slides(shape("First."), "", shape("Third.")))
    assert [page.page_of(block) for block in range(2)] == [1, 3]


def test_a_hidden_slide_is_left_out() -> None:
    with pytest.raises(Refused, match="no text"):
        html(slides(shape("a"), show="0"))


TABLE_STYLES = """<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy"/>
<numFmt numFmtId="165" formatCode="[h]:mm"/><numFmt numFmtId="166" formatCode="#,##0.00 &quot;EUR m&quot;"/>
<numFmt numFmtId="167" formatCode="[Red]0.0%"/></numFmts>
<fonts><font/><font><b/></font></fonts>
<cellXfs><xf/><xf fontId="1"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/><xf numFmtId="165"/>
<xf numFmtId="166"/><xf numFmtId="167"/><xf numFmtId="9"/><xf numFmtId="22"/></cellXfs></styleSheet>"""
TEXTS = "<sst><si><t>plain</t></si><si><r><t>in </t></r><r><t>parts</t></r><rPh><t>hint</t></rPh></si></sst>"


def sheet(rows: str, more: str = "", *, name: str = "Fees", state: str = "visible", main: str = "") -> bytes:
    book = f'<workbook>{main}<sheets><sheet name="{name}" state="{state}" r:id="one"/></sheets></workbook>'
    content = f"<worksheet>{more}<sheetData>{rows}</sheetData></worksheet>"
    parts = {"worksheet:one": content, "styles:styles": TABLE_STYLES, "sharedStrings:texts": TEXTS}
    return package(book, parts)


def c(value: str, style: int = 0, kind: str = "n", at: str = "") -> str:
    place = f' r="{at}"' if at else ""
    return f'<c{place} t="{kind}" s="{style}"><v>{value}</v></c>'


CELLS = [
    # cell, what is shown
    (c("0", kind="s"), "plain"),
    (c("1", kind="s"), "in parts"),  # without the phonetic hint
    (c("7") + c("9", kind="s") + c("1"), "7</td><td></td><td>1"),  # no such text
    ('<c t="inlineStr"><is><t>here</t></is></c>', "here"),
    (c("1", kind="b"), "TRUE"),
    (c("7") + c("#REF!", kind="e") + c("1"), "7</td><td></td><td>1"),
    ("<c><f>A1+A2</f><v>3</v></c>", "3"),
    (c("0.30000000000000004"), "0.3"),
    (c("45415", 2), "2024-05-03"),
    (c("45415", 3), "2024-05-03"),
    (c("45415.25", 9), "2024-05-03 06:00"),
    (c("0.25", 4), "6:00"),
    (c("1.5", 5), "36:00"),
    (c("12.10", 6), "12.1"),  # the m of the quoted unit is no month
    (c("0.125", 7), "12.5 %"),
    (c("0.5", 8), "50 %"),
    (c("-1", 2), "-1"),  # no date
    (c("1e99", 2), "1e99"),
    (c("99", 999), "99"),  # no such style
]


@pytest.mark.parametrize(("cells", "expected"), CELLS)
def test_a_cell_of_excel(cells: str, expected: str) -> None:
    assert f"<td>{expected}</td>" in html(sheet(f"<row>{cells}</row>"))


FROZEN = '<sheetViews><sheetView><pane state="frozen" ySplit="1"/></sheetView></sheetViews>'
SHEETS = [
    ("the name of the sheet", {}, "<h2>Fees</h2>\n<table><tr><td>1</td></tr></table>"),
    ("an automatic name says nothing", {"name": "Tabelle1"}, "<table><tr><td>1</td></tr></table>"),
    ("a frozen row has headers", {"more": FROZEN},
     "<h2>Fees</h2>\n<table><tr><th>1</th></tr></table>"),
    ("filtered columns have headers", {"more": '<autoFilter ref="A1:B9"/>'},
     "<h2>Fees</h2>\n<table><tr><th>1</th></tr></table>"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "expected"), [case[1:] for case in SHEETS], ids=[case[0] for case in SHEETS])
def test_a_sheet(fields: dict[str, str], expected: str) -> None:
    assert html(sheet(f"<row>{c('1')}</row>", **fields)) == f'<section data-riffle-page="1">{expected}</section>'


HIDDEN_B = '<cols><col min="2" max="2" hidden="1"/></cols>'
ROWS = [
    ("a gap stays", f"<row>{c('1', at='A1')}{c('2', at='C1')}</row>", "", "<td>1</td><td></td><td>2</td>"),
    ("a wide gap is narrow", f"<row>{c('1', at='A1')}{c('2', at='XFD1')}</row>", "",
     f"<td>1</td>{'<td></td>' * 20}<td>2</td>"),
    ("what all rows begin with is cut", f"<row>{c('1', at='C1')}</row>", "", "<td>1</td>"),
    ("a hidden column", f"<row>{c('1', at='A1')}{c('2', at='B1')}</row>", HIDDEN_B, "<td>1</td>"),
    ("merged cells", f"<row>{c('1', at='A1')}{c('', at='B1')}{c('2', at='C1')}</row>",
     '<mergeCells><mergeCell ref="A1:B1"/></mergeCells>', '<td colspan="2">1</td><td>2</td>'),
    ("a cell before its neighbour is damaged", f"<row>{c('1', at='B1')}{c('2', at='A1')}</row>", "", "<td>1</td>"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "more", "expected"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS])
def test_the_cells_of_a_row(rows: str, more: str, expected: str) -> None:
    assert f"<table><tr>{expected}</tr></table>" in html(sheet(rows, more))


def test_a_hidden_row_is_left_out() -> None:
    assert "secret" not in html(sheet(f'<row hidden="1">{c("secret", kind="str")}</row><row>{c("1")}</row>'))


def test_a_workbook_of_the_mac_begins_in_1904() -> None:
    assert "2024-05-03" in html(sheet(f"<row>{c('43953', 2)}</row>", main='<workbookPr date1904="1"/>'))


REFUSED = [
    (sheet(f"<row>{c('1')}</row>", state="veryHidden"), "no text"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Office 97 to 2003. Save it as .docx"),
    (pack_zip({"a": b""}), "names no document"),
    (package("<other/>"), "its first part is other"),
    (word(""), "no text"),
    (word("<w:sdt><w:sdtContent>" * 5_000), "xml"),
    (package('<!DOCTYPE d [<!ENTITY a "x">]><w:document><w:body/></w:document>'), "xml"),
]


@pytest.mark.parametrize(("body", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_what_can_not_be_read_is_refused_with_its_reason(body: bytes, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        html(body)


def test_spans_and_columns_of_a_hostile_sheet_are_bounded() -> None:
    merges = "".join(f'<mergeCell ref="A{n}:XFD{n + 50}"/>' for n in range(1, 60))
    body = sheet(f"<row>{c('1', at='A1')}{c('2', at='ZZZ1')}</row>", f"<mergeCells>{merges}</mergeCells>")
    assert '<td colspan="1000" rowspan="51">1</td>' in html(body)
