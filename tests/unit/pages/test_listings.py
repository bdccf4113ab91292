"""Listings of code have no line numbers and no buttons, whatever highlighter made them."""

import time

import pytest
from selectolax.lexbor import LexborHTMLParser

from streams.pages.parse.hiding.doubts import STAMP
from streams.pages.parse.listings import clean_listings, join_rows
from streams.pages.parse.page import parse_page
from streams.pages.parse.robots_directives import IS_STYLED
from tests.sizes import guard_seconds

CODE = "def f(x):\n    return 4\nprint(f(1))"
LINES = CODE.split("\n")
NUMBERED = [
    ("Pygments, Rouge: a cell with a listing of numbers",
     "<table><tr><td class=linenos><div><pre>1\n2\n3</pre></div></td>"
     f"<td><div><pre>{CODE}\n</pre></div></td></tr></table>"),
    ("Chroma: each number in an element",
     "<table><tr><td><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span><span class=lnt>3\n</span></code>"
     f"</pre></td><td><pre><code>{CODE}</code></pre></td></tr></table>"),
    ("Hexo: lines with breaks",
     "<figure><table><tr><td class=gutter><pre><span class=line>1</span><br><span class=line>2</span><br>"
     f"<span class=line>3</span><br></pre></td><td><pre>{CODE}</pre></td></tr></table></figure>"),
    ("a part of a file", f"<table><tr><td><pre>98\n99\n100</pre></td><td><pre>{CODE}</pre></td></tr></table>"),
    ("rustdoc: a listing before the listing",
     f'<div><pre><a href="#1">1</a>\n<a href="#2">2</a>\n<a href="#3">3</a></pre><pre>{CODE}</pre></div>'),
    ("Sphinx: in each line",
     "<pre>" + "\n".join(f"<span class=linenos>{n}</span>{line}" for n, line in enumerate(LINES, 1)) + "</pre>"),
    ("with spaces", "<pre>" + "\n".join(f"<i> {n} </i>{line}" for n, line in enumerate(LINES, 9)) + "</pre>"),
    ("links to the lines",
     "<pre>" + "\n".join(f"<a class=ln href='#L{n}'>{n}</a>{line}" for n, line in enumerate(LINES, 1)) + "</pre>"),
    ("a button", f"<pre><code>{CODE}</code><button>Copy</button></pre>"),
    ("a button with a picture, before", f"<pre><button><svg></svg>Kopieren</button>{CODE}</pre>"),
]  # fmt: skip
ROWS = [
    ("GitHub: rows with the number as an attribute", "<table><tbody>"
     + "".join(f"<tr><td data-line-number={n}></td><td class=blob>{line}</td></tr>" for n, line in enumerate(LINES, 1))
     + "</tbody></table>"),
    ("Gitea: code beside an element with the number", "<table><tbody>"
     + "".join(f"<tr><td><span data-line-number={n}></span></td><td><code>{line}</code></td></tr>"
               for n, line in enumerate(LINES, 1)) + "</tbody></table>"),
    ("SyntaxHighlighter: lines of pieces of code",
     "<div>" + "".join(f"<div class=line><code>{line[:3]}</code><code>{line[3:]}</code></div>" for line in LINES)
     + "</div>"),
    ("numbers as cells", "<table><tbody>" + "".join(f"<tr><td>{n}</td><td><code>{line}</code></td></tr>"
                                             for n, line in enumerate(LINES, 7)) + "</tbody></table>"),
]  # fmt: skip


def test_a_listing_within_a_row_that_names_code() -> None:
    lines = "".join(f"<div><code>{line}</code></div>" for line in LINES)
    walk = parse_page(f"<div>Use <code>f</code>.</div><div>so:<div>{lines}</div></div>").walk
    assert [segment.text for segment in walk.segments] == ["Use f.", "so:", CODE]


NO_LISTINGS = [
    ("a table of commands", "<table><tr><td><code>ls</code><td>lists files" * 3),
    ("a ranking", "<table>" + "".join(f"<tr><td>{n}<td>a team" for n in range(1, 5)) + "</table>"),
    ("two lines", "<div><div><code>a</code></div><div><code>b</code></div></div>"),
    ("a list of commands", "<ul><li><code>a</code><li><code>b</code><li><code>c</code></ul>"),
    ("code beside a text", "<div>" + "<div>Run <code>a</code></div>" * 4 + "</div>"),
]


@pytest.mark.parametrize(("why", "html"), ROWS, ids=[case[0] for case in ROWS])
def test_rows_of_code_are_a_listing(why: str, html: str) -> None:
    tree = LexborHTMLParser(f"<body><p>a</p>{html}<p>b</p>")
    join_rows(tree, ())
    assert [node.text() for node in tree.css("body > *")] == ["a", CODE, "b"], why
    assert len(tree.css("pre")) == 1
    walk = parse_page(f"<body>{html}").walk
    assert [segment.text for segment in walk.segments] == [CODE], why


@pytest.mark.parametrize(("why", "html"), NO_LISTINGS, ids=[case[0] for case in NO_LISTINGS])
def test_other_rows_are_none(why: str, html: str) -> None:
    tree = LexborHTMLParser(f"<body>{html}")
    join_rows(tree, ())
    assert not tree.css("pre"), why


SHOWN = "<p>" + "The harbour has a lighthouse, and sailors built it for their ships. " * 8
HIDDEN_ROWS = [
    ("the table", "<table style=display:none>" + "<tr><td><code>SPAM n</code>" * 3 + "</table>"),
    ("the table, by a rule of the page", "<table class=q>" + "<tr><td><code>SPAM n</code>" * 3 + "</table>"),
    ("an element around", "<div hidden><table>" + "<tr><td><code>SPAM n</code>" * 3 + "</table></div>"),
    ("a row", "<table>" + "<tr><td><code>ls n</code><tr style=display:none><td><code>SPAM</code>" * 2 + "</table>"),
    ("a row, by a rule of the page",
     "<table>" + "<tr><td><code>ls n</code><tr class=q><td><code>SPAM</code>" * 2 + "</table>"),
    ("a part of a line",
     "<div>" + "<div><code>ls<span style=font-size:0>SPAM</span></code></div>" * 3 + "</div>"),
    ("numbers beside", "<table><tr><td><div hidden>1 SPAM</div>2<td><div>" + "<div><code>ls</code></div>" * 3
     + "</div></table>"),
]  # fmt: skip
DOUBTFUL_ROWS = [
    ("the table", "<table style=opacity:.1>" + "<tr><td><code>SPAM n</code>" * 3 + "</table>"),
    ("a row", "<table>" + "<tr><td><code>ls n</code><tr style=opacity:.1><td><code>SPAM</code>" * 2 + "</table>"),
    (
        "a row, by a selector",
        "<style>td>code{opacity:.1}</style><table>" + "<tr><td><code>SPAM</code>" * 3 + "</table>",
    ),
]


@pytest.mark.parametrize(("what", "html"), HIDDEN_ROWS, ids=[case[0] for case in HIDDEN_ROWS])
def test_hidden_rows_of_code_stay_hidden(what: str, html: str) -> None:
    walk = parse_page(f"<style>.q{{display:none}}</style><body>{SHOWN}{html}").walk
    assert not any("SPAM" in segment.text for segment in walk.segments), what


@pytest.mark.parametrize(("what", "html"), DOUBTFUL_ROWS, ids=[case[0] for case in DOUBTFUL_ROWS])
def test_doubtful_rows_of_code_stay_doubtful(what: str, html: str) -> None:
    parsed = parse_page(f"<body>{SHOWN}{html}")
    found = [segment for segment in parsed.walk.segments if "SPAM" in segment.text]
    assert found, what
    assert all(segment.element in parsed.doubtful for segment in found), what


def test_rows_that_a_browser_did_not_see_stay_doubtful() -> None:
    rows = "<tr><td><code>ls n</code><tr><td><code data-riffle-doubt=own>SPAM</code>" * 2
    parsed = parse_page(f"<html {STAMP}><body>{SHOWN}<table>{rows}</table>", {IS_STYLED: "1"})
    found = [segment for segment in parsed.walk.segments if "SPAM" in segment.text]
    assert found
    assert all(segment.element in parsed.doubtful for segment in found)


def test_a_joined_listing_keeps_its_name_and_its_links() -> None:
    rows = "".join(f"<tr><td><code>{line.replace('f', '<a href=/f>f</a>')}</code>" for line in LINES)
    tree = LexborHTMLParser(f"<body><table id=usage>{rows}</table>")
    links = join_rows(tree, ())
    assert [node.attributes for node in tree.css("pre")] == [{"id": "usage"}]
    assert "/f" in {link[0] for link in links}
    assert "/f" in {link[0] for link in parse_page(f"<body><table id=usage>{rows}</table>").walk.links}


def test_the_text_of_a_quirk_may_be_rows_of_code() -> None:
    tree = LexborHTMLParser("<body><table>" + "<tr><td><code>ls</code>" * 3 + "</table>")
    join_rows(tree, tree.css("table"))
    assert len(tree.css("table")) == 1


@pytest.mark.parametrize(
    "html",
    [
        "<div>" + "<span>" * 4_000 + "<code>a</code>" * 20_000,
        "<div>" + ("<div>" + "<code>" * 4_000 + "</code>" * 4_000 + "</div>") * 20,
    ],
    ids=["code far below its row", "code within code"],
)
def test_the_time_of_joining_is_linear(html: str) -> None:
    tree = LexborHTMLParser(html)
    began = time.process_time()
    join_rows(tree, ())
    assert time.process_time() - began < guard_seconds(1)


KEPT = [
    ("numbers that are the code", "<pre><i>1</i>\n<i>2</i>\n<i>3</i></pre>", "1\n2\n3"),
    ("numbers that do not follow each other", "<pre><i>1</i> a\n<i>3</i> b</pre>", "1 a\n3 b"),
    ("one number", "<pre><i>1</i> apple</pre>", "1 apple"),
    ("a cell of a table of data", "<table><tr><td>1</td><td><pre>a\nb</pre></td></tr></table>", "1a\nb"),
    ("a listing of numbers before another one", "<pre>1\n2</pre><pre>a\nb\nc\nd</pre>", "1\n2a\nb\nc\nd"),
    ("more numbers than lines", "<pre><i>1</i><i>2</i><i>3</i> go away</pre>", "123 go away"),
]


def text_of(html: str) -> str:
    tree = LexborHTMLParser(f"<body>{html}")
    clean_listings(tree)
    assert tree.body is not None
    return tree.body.text()


@pytest.mark.parametrize(("why", "html"), NUMBERED)
def test_what_is_for_readers_goes(why: str, html: str) -> None:
    lines = [line.strip() for line in text_of(html).strip().split("\n")]
    assert lines == [line.strip() for line in LINES], why


@pytest.mark.parametrize(("why", "html", "expected"), KEPT)
def test_code_and_data_stay(why: str, html: str, expected: str) -> None:
    assert text_of(html) == expected, why
