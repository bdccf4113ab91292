"""RTF: paragraphs, headings, lists, tables, links and notes, in each encoding that a file may have."""

import pytest

from streams.crawl.archives.folder_pages import why_no_page
from streams.crawl.file_kinds import kind_of
from streams.errors import Refused
from streams.pages.formats.rtf import MAX_DEPTH, convert_rtf
from streams.pages.sandbox.normalizing import read_document

URL = "https://a.example/harbour_rules.rtf"


def html(inside: str) -> str:
    return convert_rtf(f"{{\\rtf1\\ansi {inside}}}".encode("latin-1"), URL).html


TEXTS = [
    ("paragraphs", r"One.\par Two.\par", "<p>One.</p><p>Two.</p>"),
    ("an end of a line in the file is none of the text", "One\r\n two.\\par", "<p>One two.</p>"),
    ("a paragraph as a line that is escaped", "One.\\\nTwo.\\par", "<p>One.</p><p>Two.</p>"),
    ("a line break", r"One\line two\par", "<p>One<br>two</p>"),
    ("escaped signs", r"\{a\} \\ <b>\par", "<p>{a} \\ &lt;b&gt;</p>"),
    ("signs with names", r"\ldblquote a\rdblquote\emdash b\~c\_d e\-f\par", "<p>“a”—b c-d ef</p>"),
    ("a byte", r"K\'f6ln\par", "<p>Köln</p>"),
    ("a code page of the file", r"\ansicpg1251\'cf\'ee\'f0\'f2\par", "<p>Порт</p>"),
    ("a code page of the font", r"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}}\f1\'cf\f0\'cf\par", "<p>ПÏ</p>"),
    ("two bytes of a character", r"{\fonttbl{\f2\fcharset128 A;}}\f2\'82\'a8\'92\'6d\par", "<p>お知</p>"),
    ("a character of Unicode with its fallback", r"\u1055?\u1086\'3frt\par", "<p>Поrt</p>"),
    ("a longer fallback, and none", r"\uc2\u12354??a\uc0\u12356 b\par", "<p>あaいb</p>"),
    ("a negative number", r"\u-20480?\par", "<p>뀀</p>"),
    ("two halves of a character", r"\u-10179?\u-8704?\par", "<p>😀</p>"),
    ("a text in bytes and in Unicode", r"{\upr{Port}{\*\ud{\u1055?}}}\par", "<p>П</p>"),
    ("a group for other programs", r"a{\*\unknown b}\par", "<p>a</p>"),
    ("a word that nobody knows", r"a\unknown7 b\par", "<p>ab</p>"),
    ("headers and footers", r"{\header H}{\footerf F}a\par", "<p>a</p>"),
    ("a picture", r"a{\pict\pngblip 89504e47}b\par", "<p>ab</p>"),
    ("bytes as they are", "a{\\pict\\bin4 }}\\{}b\\par", "<p>ab</p>"),
    ("hidden and deleted text", r"a{\v b}{\deleted c}\v d\v0 e\par", "<p>ae</p>"),
    ("a comment", r"a{\*\annotation b}{\annotation c}\par", "<p>a</p>"),
    ("a heading by its style", r"{\stylesheet{\s1\b heading 2;}}\pard\s1 A\par\pard b\par", "<h2>A</h2><p>b</p>"),
    ("a style with a level", r"{\stylesheet{\s4\outlinelevel1 Kapitel;}}\pard\s4 A\par", "<h2>A</h2>"),
    ("a level of its own", r"\pard\outlinelevel0 A\par\pard\outlinelevel9 b\par", "<h1>A</h1><p>b</p>"),
    ("items of a list", r"{\listtext 1.}a\par{\pntext\'b7}b\par\pard c\par", "<ul><li>a</li><li>b</li></ul><p>c</p>"),
    ("a link", r'{\field{\*\fldinst HYPERLINK "https://b.example/"}{\fldrslt b}}\par',
     '<p><a href="https://b.example/">b</a></p>'),
    ("a field of another kind", r"{\field{\*\fldinst PAGE}{\fldrslt 7}}\par", "<p>7</p>"),
    ("a link to a script", r'{\field{\*\fldinst HYPERLINK "javascript:x"}{\fldrslt b}}\par', "<p>b</p>"),
    ("a note", r"a{\footnote b\par}\par", '<p>a<a href="#fn1" role="doc-noteref"><sup>1</sup></a></p>'
     '<div role="doc-footnote" id="fn1">b</div>'),
    ("a text box", r"a\par{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt b\par}}}", "<p>a</p><p>b</p>"),
    ("a table", r"\trowd\intbl a\cell b\cell\row\trowd\intbl c\cell d\cell\row\pard e\par",
     "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table><p>e</p>"),
    ("a row of headings", r"\trowd\trhdr\intbl a\cell b\cell\row\trowd\intbl c\cell\cell\row",
     "<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td></td></tr></table>"),
    ("a bold first row", r"\trowd\intbl\b a\cell\b0\row\trowd\intbl c\cell\row",
     "<table><tr><th>a</th></tr><tr><td>c</td></tr></table>"),
    ("paragraphs in a cell", r"\trowd\intbl a\par b\cell\row", "<table><tr><td><p>a</p><p>b</p></td></tr></table>"),
    ("no end of the last paragraph", "a", "<p>a</p>"),
    ("too many ends of groups", r"a\par}}}b\par", "<p>a</p><p>b</p>"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "inside", "expected"), TEXTS, ids=[why for why, *_ in TEXTS])
def test_a_text(why: str, inside: str, expected: str) -> None:
    assert html(inside) == expected


INFO = (
    r"{\info{\title Rules of the harbour}{\author Ann\'e9}{\subject Piers}{\creatim\yr2024\mo5\dy3\hr9}{\keywords x}}"
)


def test_a_file_states_facts_about_itself() -> None:
    body = (r"{\rtf1\ansi" + INFO + r"A paragraph of this text.\par}").encode()
    page = read_document(body, url=URL, headers={"content-type": "application/rtf"}).document
    assert (page.title, page.description) == ("Rules of the harbour", "Piers")
    assert page.facts == {"author": "Anné", "published": "2024-05-03", "format": "rtf"}


@pytest.mark.parametrize(
    ("info", "title"), [("", "harbour rules"), (r"\pard\outlinelevel0 Piers\par\pard ", "Piers"),
                        (r"{\info{\title Microsoft Word - x.doc}}", "harbour rules")]
)  # fmt: skip
def test_a_title(info: str, title: str) -> None:
    assert convert_rtf(rf"{{\rtf1 {info}text\par}}".encode(), URL).title == title


@pytest.mark.parametrize(
    ("kind", "url"),
    [("application/rtf", URL), ("text/rtf", "https://a.example/x"), ("application/octet-stream", URL),
     ("application/msword", "https://a.example/x.doc"), ("text/plain", URL), ("", "https://a.example/x")],
)  # fmt: skip
def test_the_kind_is_known_by_type_name_and_first_bytes(kind: str, url: str) -> None:
    assert kind_of(rb"{\rtf1 a}", kind, url) == "rtf"


def test_a_file_in_a_folder_is_a_page() -> None:
    assert why_no_page("rules.rtf", rb"{\rtf1 a}") == ""


HOSTILE = [
    ("no text", rb"{\rtf1{\pict 00}}", "no text"),
    ("deep groups", b"{\\rtf1" + b"{" * MAX_DEPTH + b"a", "deeper"),
]


@pytest.mark.parametrize(("why", "body", "reason"), HOSTILE, ids=[why for why, *_ in HOSTILE])
def test_a_hostile_file_is_refused(why: str, body: bytes, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        convert_rtf(body, URL)


def test_bytes_that_end_behind_the_file_are_none() -> None:
    assert convert_rtf(rb"{\rtf1 a\par{\bin999999999 x", URL).html == "<p>a</p>"
