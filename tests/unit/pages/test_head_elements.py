"""Head elements are found anywhere in a page."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from streams.pages.parse.head import LABELLED, Label, head_elements, labelled_lines
from tests.sizes import examples

ROWS = [
    ("a title", "<title> A &amp; b\n</title>", [("title", "", " A & b\n", "")]),
    ("a drawing's title is not the page's", "<svg><title>Arrow</title></svg><svg><g><title>x",
     [("title", "", "x", "")]),
    ("the first title with a text", "<title> </title><svg><g><title>a<title>b</title></title></g></svg><title>c",
     [("title", "", "ab", "")]),
    ("types in capitals", "<script type=Application/LD+JSON>{}</script>",
     [("script", "Application/LD+JSON", "{}", "")]),
    ("a base", "<base href=/a target=x><base>", [("base", "/a", "", ""), ("base", "", "", "")]),
    ("a name goes before a property, and that before an item's", '<meta itemprop=c property=b name=a content="1  2">',
     [("meta", "a", "1  2", "")]),
    ("an empty name is none", '<meta name="" property=b content=1>', [("meta", "b", "1", "")]),
    ("metadata in the body", "<p><meta content=en http-equiv=Content-Language>",
     [("meta", "", "en", "Content-Language")]),
    ("a link with its type", "<link rel='alternate Feed' href=x type=application/rss+xml>",
     [("link", "alternate Feed", "x", "application/rss+xml")]),
    ("data in scripts, not code", '<script type="application/ld+json">{"a": "<b>"}</script><script>json</script>',
     [("script", "application/ld+json", '{"a": "<b>"}', "")]),
    ("times that have one", "<time datetime=2024>then</time><time>now</time><time datetime>", [
        ("time", "2024", "", ""), ("time", "", "", "")]),
    ("in the page's order", "<p>\u00e9<time datetime=1></p><meta name=\u4e2d content=\U0001f600><link rel=a>",
     [("time", "1", "", ""), ("meta", "\u4e2d", "\U0001f600", ""), ("link", "a", "", "")]),
    ("nothing", "", []),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "expected"), ROWS)
def test_rows(why: str, html: str, expected: list[tuple[str, ...]]) -> None:
    assert head_elements(LexborHTMLParser(html)).rows == expected, why


@pytest.mark.parametrize(
    ("html", "microdata", "rdfa", "drawn"),
    [
        ("<p class=katex>", False, False, False),
        ("<p itemprop>", True, False, False),
        ("<html typeof=Thing>", False, True, False),
        ('<span class="a\nkatex-html">', False, False, True),
        ("<i class=MathJax_Preview>", False, False, True),
        ("<i class=MathJax_Preview2>", False, False, False),
        ("<mjx-container>", False, False, True),
        ("<script type=math/tex>x</script>", False, False, True),
        ('<script type="math/tex; mode=display">x</script>', False, False, True),
        ("<script type=MATH/TeX>x</script>", False, False, True),
        ("<script type=text/math/tex>x</script>", False, False, False),
        ('<i itemprop class="a\u00a0katex-html">', True, False, False),
    ],
)
def test_kinds_of_data(html: str, microdata: bool, rdfa: bool, drawn: bool) -> None:
    found = head_elements(LexborHTMLParser(html))
    assert (found.has_microdata, found.has_rdfa, found.has_drawn_math) == (microdata, rdfa, drawn)


LINES: list[tuple[str, Label, str, list[str]]] = [
    ("a class that holds the word", "dated", "<p class=postdate>1 May</p><p class=x>2 May</p>", ["1 May"]),
    ("text in parts, and spaces", "dated", "<p class=meta> 1<b>May</b>\n 2020&nbsp;</p>", ["1 May 2020"]),
    ("one in the other", "dated", "<div class=meta>by <i class=date>May</i></div>", ["by May", "May"]),
    ("an author by relation, item or class", "named",
     "<a rel=AUTHOR>A</a><i itemprop=author>B</i><i class=the-byline>C</i><a rel='author me'>D</a>", ["A", "B", "C"]),
    ("nothing in it", "named", "<i class=author></i>", [""]),
    ("too long", "named", "<i class=author>" + "x" * 31 + "</i><i class=author>" + " x" * 15 + "</i>",
     [" ".join("x" * 15)]),
    ("not more than asked for, long ones counted", "named", "<i class=author>" + "x" * 99 + "</i>" +
     "".join(f"<i class=author>{n}</i>" for n in range(9)), ["0", "1", "2"]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "label", "html", "expected"), LINES)
def test_lines(why: str, label: Label, html: str, expected: list[str]) -> None:
    assert [line for _, line in labelled_lines(LexborHTMLParser(html), label, 4, 30)] == expected, why


BEFORE = [
    ("<p><i class=author>A</i>", ""),
    ("<p>One <b>two</b> <i class=author>A</i>", "One two"),
    ("<p>One <span>two <em><i class=author>A</i></em></span>", "One two"),
    ("<p>One<br>two <i class=author>A</i>", "two"),
    ("One <p class=author>A", ""),  # a block begins a line
    ("<p>One</p><i class=author>A</i>", ""),
    ("<div>One <div><i class=author>A</i></div></div>", ""),
    ("<p>" + "<b></b>" * 10_000 + "<i class=author>A</i>", ""),
]


@pytest.mark.parametrize(("html", "expected"), BEFORE)
def test_the_text_before_an_element_in_its_line(html: str, expected: str) -> None:
    ((before, line),) = labelled_lines(LexborHTMLParser(html), "named", 4, 30)
    assert (" ".join(before.split()), line) == (expected, "A")


PIECES = [
    *(f'<{tag} {name}="{value}">' for tag in ("meta", "link", "script", "i", "div", "time", "svg", "title", "base")
      for name, value in (
          ("class", "date katex-html"), ("class", "author\tMathJax_Preview"),
          ("rel", "author"), ("content", "c \u00e9"),
          ("type", "application/ld+json"), ("type", "math/tex"), ("itemprop", "author"), ("name", ""), ("name", "N"),
          ("property", "p"), ("typeof", ""), ("href", "h"), ("datetime", "2024"), ("class", "Author DATE"),
          ("type", "Application/JSON"), ("rel", "Author"), ("class", "a\u00a0katex-html"), ("type", "MATH/tex"),
      )),
    "text", " ", "\u00a0", "\U0001f600", "&amp;", "</script>", "</title>", "</i>", "</div>", "</svg>", "</time>",
    "<!-- c -->",
    "<template>", "</template>", "<mjx-container>", "<html lang=de typeof=x>", "<body class=date>",
    "<p>", "<table>", "<td>",
]  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(junk=st.binary(max_size=500), pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_any_page_gives_rows_of_known_elements_and_short_lines(junk: bytes, pieces: list[str]) -> None:
    tree = LexborHTMLParser("".join(pieces) + junk.decode("utf-8", "replace"))
    rows = head_elements(tree).rows
    assert {tag for tag, *_ in rows} <= {"title", "base", "meta", "link", "script", "time"}
    assert sum(tag == "title" for tag, *_ in rows) <= 1
    for label in LABELLED:
        lines = labelled_lines(tree, label, 5, 12)
        assert len(lines) <= 5
        assert all(len(line) <= 12 and line == " ".join(line.split()) for _, line in lines)
