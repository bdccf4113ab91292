"""Containers and blocks in C (`native.blocks`) and in Python (`build`): the same document of the same segments."""

import html

import pytest
from ada_url import URL as URL_STANDARD
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from streams.pages.assemble.builder import Builder
from streams.pages.document.model import Block, Container, Span
from streams.pages.native.blocks import build
from streams.pages.native.library import is_compiled
from streams.pages.native.walk import Found, walk
from streams.pages.parse.link_resolver import ABSOLUTE, MAX_HREF_CHARS, OTHER, ROOTED, Resolver, form_of
from streams.pages.parse.segments import Walk

URL = "https://site.example/a/b"

PIECES = [
    "<p>", "</p>", "<div>", "</div>", "<h1>", "</h1>", "<h3>", "</h3>", "<pre class=language-c>", "</pre>", "<ul>",
    "</ul>", "<ol>", "</ol>", "<menu>", "</menu>", "<dir>", "</dir>", "<li>", "</li>", "<dl>", "</dl>", "<dt>", "<dd>",
    "</dd>", "<table>", "<table role=none>", "</table>", "<caption>", "</caption>", "<thead>", "<tbody>", "<tfoot>",
    "<tr>", "</tr>", "<th>", "<th colspan=2>", "<td>", "<td colspan=70>", "<td colspan=x>", "</td>",
    "<td rowspan=2>", "<th rowspan=3 colspan=2>", "<td rowspan=0>",
    f"<td colspan={'9' * 5000} rowspan={'9' * 5000}>",
    "<blockquote lang=DE>", "</blockquote>", "<figure>", "</figure>", "<figcaption>",
    "</figcaption>", "<section lang=fr-CA>", "</section>", "<p lang='no such'>", "text", " more text ", "\n", "é",
    "日本", "&#1;", "&#x85;", "&#xfffe;", "<b>", "</b>", "<em>", "</em>", "<code>", "</code>", "<a href='/x'>",
    "<a href='y#z'>", "<a href='https://b.example/?q=1#f'>", "<a href='mailto:a'>", "<a href='/a/../b'>", "</a>",
    "<img src=/i.png alt='an image'>", "<img src='i j.png'>", "<small role=doc-footnote>note</small>",
    "<math alttext=x></math>", "<br>",
]  # fmt: skip


def page_of(text: str) -> Walk:
    body = LexborHTMLParser(text).body
    assert body is not None
    assert is_compiled(), "the library is not there: python streams/pages/native/build.py"
    return walk(body)


def assert_alike(text: str, kept: list[int] | None = None, *, clean: bool = False) -> None:
    page = page_of(text)
    chosen = list(range(len(page.segments))) if kept is None else sorted({index % len(page.segments) for index in kept})
    ours = build(page, chosen, Resolver(URL), clean=clean)
    segments = (page.segments[index] for index in chosen)
    assert ours == Builder(page, Resolver(URL).absolute, segments, clean=clean).result()


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=50), st.lists(st.integers(0, 99), max_size=30), st.booleans())
def test_c_and_python_agree(pieces: list[str], kept: list[int], clean: bool) -> None:
    text = f"<p>first</p>{''.join(pieces)}"
    assert_alike(text, clean=clean)
    assert_alike(text, kept, clean=clean)


def test_the_parts_are_those_of_a_document() -> None:
    page = page_of(
        "<h1><b>Title</b></h1><table><tr><td colspan=2>a<td><a href=/x#y>b</a> c</table><pre class=lang-c>d</pre>"
    )
    containers, blocks = build(page, [0, 2, 3], Resolver(URL))
    tags = [Container("table"), Container("tbody", 0), Container("tr", 1), *[Container("td", 2)] * 3]
    assert containers == tuple(tags), "the cells of a row stand there, also those whose text is dropped"
    spans = (Span(0, 1, "link", "https://site.example/x"),)
    assert blocks == (Block("h1", "Title"), Block("p", "b c", 5, spans), Block("pre", "d", language="c"))
    assert [type(part) for part in (*containers[:1], *blocks[:1], *blocks[1].spans)] == [Container, Block, Span]


ROWSPANS = [
    ("a cell of two rows", "<tr><th rowspan=2>a<td>b<tr><td>c<tr><td>d", ["a b", "- c", "d"]),
    ("at the end of its row", "<tr><td>a<td rowspan=2>b<tr><td>c<tr><td>d<td>e", ["a b", "c", "d e"]),
    ("of two columns, too", "<tr><td>a<td rowspan=2 colspan=2>b<td>c<tr><td>d<td>e", ["a b - c", "d - - e"]),
    ("two beside each other", "<tr><td rowspan=3>a<td rowspan=2>b<td>c<tr><td>d<tr><td>e<td>f",
     ["a b c", "- - d", "- e f"]),
    ("all rows that are left", "<tr><td rowspan=0>a<td>b<tr><td>c<tr><td>d", ["a b", "- c", "- d"]),
    ("not into the next part of the table", "<tbody><tr><td rowspan=9>a<td>b<tbody><tr><td>c", ["a b", "c"]),
    ("not into a table within", "<tr><th rowspan=2>a<td><table><tr><th>b<td>c</table><tr><td>d", ["a -", "b c", "- d"]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "rows", "expected"), ROWSPANS)
def test_cells_stay_in_their_columns(why: str, rows: str, expected: list[str]) -> None:
    page = page_of(f"<table>{rows}</table>")
    containers, blocks = build(page, list(range(len(page.segments))), Resolver(URL))
    text = {block.parent: block.text for block in blocks}
    found = [
        " ".join(text.get(at, "-") for at, cell in enumerate(containers) if cell.parent == row)
        for row, container in enumerate(containers)
        if container.tag == "tr"
    ]
    assert found == expected, why


def test_a_table_of_hanging_cells_stays_small() -> None:
    wide = "<td rowspan=65534>x" * 300
    page = page_of(f"<table><tr>{wide}{'<tr><td>y' * 5_000}</table>")
    containers, _ = build(page, list(range(len(page.segments))), Resolver(URL))
    assert len(containers) < 30_000


def test_nothing_is_kept() -> None:
    assert build(page_of("<p>a</p>"), [], Resolver(URL)) == ((), ())


def test_changed_segments_are_built_in_python() -> None:
    """Footnotes change a page's segments: what the rows of the walk say of them holds no more."""
    page = page_of("<p>a b</p><p>c</p>")
    assert isinstance(page, Found)
    first, second = page.segments[0], page.segments[1]
    page.segments[0] = second
    assert [block.text for block in build(page, [0, 1], Resolver(URL))[1]] == ["c", "c"]
    assert first.text == "a b"


FORMS = [
    ("a path from the root", "/a/b?c=d&e=%20#f", ROOTED),
    ("the root", "/", ROOTED),
    ("another host's path", "//b.example/", OTHER),
    ("a path with a segment to resolve", "/a/../b", OTHER),
    ("dots elsewhere are none", "/a.b/c..d", ROOTED),
    ("a dot behind the mark of a fragment means nothing", "/a#/.", ROOTED),
    ("a URL", "https://b.example/a?b", ABSOLUTE),
    ("a URL without a path, which gets its slash elsewhere", "http://b.example", ABSOLUTE),
    ("a host in capitals", "https://B.example/", OTHER),
    ("a port", "https://b.example:80/", OTHER),
    ("no host", "https:///a", OTHER),
    ("another scheme", "ftp://b.example/", OTHER),
    ("a scheme in capitals", "HTTP://b.example/", OTHER),
    ("a host that starts with a dot", "http://.b/", OTHER),
    ("nothing", "", OTHER),
    ("a fragment", "#a", OTHER),
    ("a relative path", "a/b", OTHER),
    ("letters beyond ASCII", "/é", OTHER),
    ("letters beyond ASCII in the fragment", "/a#é", ROOTED),
    ("spaces", "/a b", OTHER),
    ("line ends", "/a\n", OTHER),
    ("just short enough", "/" + "a" * (MAX_HREF_CHARS - 1), ROOTED),
    ("too long", "/" + "a" * MAX_HREF_CHARS, OTHER),
    ("lengths are in characters", "/a#" + "é" * (MAX_HREF_CHARS - 3), ROOTED),
]


def form_in_c(href: str) -> int:
    ((_, _, _, _, form),) = page_of(f'<a href="{html.escape(href)}">x</a>').links
    return form


@pytest.mark.parametrize(("why", "href", "form"), FORMS)
def test_forms_of_links(why: str, href: str, form: int) -> None:
    assert form_of(href) == form, why
    assert not href or form_in_c(href) == form, why


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(["", "/", "//", "http://", "https://", "https://b.example", "https://b.example/"]),
    st.text("/.#?&%ab:0@é'\n \u2028", max_size=12),
)
def test_c_and_python_agree_on_forms(start: str, rest: str) -> None:
    """And what a form says how to resolve is, once spelled as the URL Standard has it, what the standard resolves."""
    href = start + rest
    if not href:
        return
    form = form_of(href)
    assert form_in_c(href) == form
    resolver = Resolver(URL)
    if form and (expected := resolver.formed(href, OTHER)):
        assert URL_STANDARD(resolver.formed(href, form)).href == expected


@pytest.mark.parametrize("href", ["/" + "a" * (MAX_HREF_CHARS - 1), "x" + "é" * (MAX_HREF_CHARS // 3)])
def test_what_is_too_long_once_it_is_absolute_leads_nowhere(href: str) -> None:
    """Then a document that was written out is read as it was."""
    assert Resolver(URL).absolute(href) == ""
    assert Resolver(URL).absolute(href[:-100] if href[0] == "/" else href[:500])


def test_the_pages_own_host_is_in_small_letters() -> None:
    """As the URL Standard spells it: a link to the page's host is one however it is written."""
    resolver = Resolver("https://Forums.Site.example/A")
    assert {resolver.absolute(href) for href in ("/B", "https://FORUMS.site.example/B", "B")} == {
        "https://forums.site.example/B"
    }
