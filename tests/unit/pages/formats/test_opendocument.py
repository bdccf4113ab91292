"""OpenDocument: header rows, spans, spaces, text boxes, captions of programs, and what is hidden or encrypted."""

import pytest

from streams.errors import Refused
from streams.pages.formats.opendocument import MAX_COPIES, convert_opendocument
from streams.pages.formats.reading import pack_zip

_NAMES = {
    "office": "office",
    "text": "text",
    "table": "table",
    "draw": "drawing",
    "svg": "svg-compatible",
    "style": "style",
}
SPACES = " ".join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in _NAMES.items())


def html(blocks: str, styles: str = "") -> str:
    content = f"<office:document-content {SPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
    body = f"{content}<office:body><office:text>{blocks}</office:text></office:body></office:document-content>"
    return convert_opendocument(pack_zip({"content.xml": body.encode()}), "https://a.example/f.odt").html


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def named(name: str) -> str:
    return f'<table:table table:name="{name}">{row(cell("a"))}</table:table>'


HIDDEN_ROW = row(cell("b"), attributes='table:visibility="collapse"')
BOX = "<draw:frame><draw:text-box><text:p>b</text:p></draw:text-box></draw:frame>"
PLAIN = "<table><tr><td><p>a</p></td></tr></table>"
BLOCKS = [
    ("header rows", f"<table:table><table:table-header-rows>{row(cell('a'))}</table:table-header-rows>{row(cell('1'))}"
     "</table:table>", "<table><thead><tr><th><p>a</p></th></tr></thead><tr><td><p>1</p></td></tr></table>"),
    ("a cell of two columns", "<table:table>" + row(cell("a", 'table:number-columns-spanned="2"'),
     "<table:covered-table-cell/>") + "</table:table>", '<table><tr><td colspan="2"><p>a</p></td></tr></table>'),
    ("a cell of two rows", "<table:table>" + row(cell("a", 'table:number-rows-spanned="2"')) + "</table:table>",
     '<table><tr><td rowspan="2"><p>a</p></td></tr></table>'),
    ("a hidden row", f"<table:table>{row(cell('a'))}{HIDDEN_ROW}</table:table>", PLAIN),
    ("a caption that a program made, in English", named("Sheet1"), PLAIN),
    ("in German", named("Tabelle12"), PLAIN),
    ("in Russian", named("Лист1"), PLAIN),
    ("in Chinese", named("工作表1"), PLAIN),
    ("a caption that a person wrote", named("Fees 1"), PLAIN.replace("<table>", "<table><caption>Fees 1</caption>")),
    ("repeated spaces in code", '<text:p text:style-name="Preformatted_20_Text">if x:</text:p>'
     '<text:p text:style-name="Preformatted_20_Text"><text:s text:c="4"/>y</text:p>', "<pre>if x:\n    y</pre>"),
    ("repeated spaces in prose", '<text:p>a<text:s text:c="4"/>b<text:tab/>c</text:p>', "<p>a b c</p>"),
    ("more spaces than a line has", '<text:p>a<text:s text:c="999999999"/>b</text:p>', "<p>a b</p>"),
    ("a text box", f"<text:p>a{BOX}c</text:p>", "<p>a c</p><p>b</p>"),
    ("a table in a box", f"<text:p>a<draw:text-box>{named('Tabla1')}</draw:text-box></text:p>", f"<p>a</p>{PLAIN}"),
    ("the description of a picture", "<text:p>a<draw:frame><svg:title>b</svg:title><svg:desc>c</svg:desc></draw:frame>"
     "</text:p>", "<p>a</p>"),
    ("a field with the title", "<text:p>a <text:title>b</text:title></text:p>", "<p>a b</p>"),
    ("hidden text", "<text:p>a<text:hidden-text>b</text:hidden-text></text:p>", "<p>a</p>"),
    ("how characters are read",
     "<text:p><text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>かん</text:ruby-text></text:ruby></text:p>",
     "<p>漢</p>"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "blocks", "expected"), BLOCKS, ids=[why for why, *_ in BLOCKS])
def test_a_block(why: str, blocks: str, expected: str) -> None:
    assert html(blocks) == expected


def test_tables_in_repeated_cells_of_tables_do_not_multiply() -> None:
    nested = "<text:p>a</text:p>"
    for _ in range(12):  # 20 to the power of 12 cells
        nested = (
            '<table:table><table:table-row><table:table-cell table:number-columns-repeated="20">'
            f"{nested}</table:table-cell></table:table-row></table:table>"
        )
    assert html(nested).count("<td>") <= 2 * MAX_COPIES
    repeated = row(cell("a", 'table:number-columns-repeated="3"'))
    assert html(f"<table:table>{repeated}</table:table>").count("<td>") == 3


def test_a_style_of_the_file_has_the_spaces_of_its_parent() -> None:
    styles = '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    assert html('<text:p text:style-name="P1">a<text:s text:c="2"/>b</text:p>', styles) == "<pre>a  b</pre>"


def test_a_hidden_sheet_is_left_out() -> None:
    styles = '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'
    hidden = f'<table:table table:style-name="ta2">{row(cell("b"))}</table:table>'
    assert html(named("Sheet1") + hidden, styles) == PLAIN


def test_an_encrypted_file_says_what_to_do() -> None:
    manifest = b"<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    with pytest.raises(Refused, match=r"encrypted\. Save it without a password"):
        convert_opendocument(
            pack_zip({"content.xml": b"x", "META-INF/manifest.xml": manifest}), "https://a.example/f.odt"
        )
