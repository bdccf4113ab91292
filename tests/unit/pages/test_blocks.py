"""Containers and blocks that are built from segments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from streams.pages.assemble.builder import CHILDREN, Builder
from streams.pages.document.model import Block, Container, Span
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.segments import Walk
from streams.pages.parse.walk import walk
from tests.sizes import examples

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
    return walk(body)


def build(page: Walk, kept: list[int], *, clean: bool = False) -> tuple[tuple[Container, ...], tuple[Block, ...]]:
    segments = (page.segments[index] for index in kept)
    return Builder(page, Resolver(URL).absolute, segments, clean=clean).result()


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=50), st.lists(st.integers(0, 99), max_size=30), st.booleans())
def test_whatever_is_kept_the_grammar_holds(pieces: list[str], kept: list[int], clean: bool) -> None:
    page = page_of(f"<p>first</p>{''.join(pieces)}")
    chosen = sorted({index % len(page.segments) for index in kept})
    containers, blocks = build(page, chosen, clean=clean)
    for index, (tag, parent, by) in enumerate(containers):
        assert -1 <= parent < index
        assert by < index
        assert by == -1 or {tag, containers[by].tag} <= {"td", "th"}
        outer = containers[parent].tag if parent >= 0 else ""
        assert tag in CHILDREN.get(outer, {tag}), (outer, tag)
    for block in blocks:
        assert block.parent < len(containers)
        assert block.parent < 0 or containers[block.parent].tag not in CHILDREN, "text stands in an item or a cell"
        assert all(0 <= span.start <= span.end <= len(block.text) for span in block.spans)


def test_the_parts_are_those_of_a_document() -> None:
    page = page_of(
        "<h1><b>Title</b></h1><table><tr><td colspan=2>a<td><a href=/x#y>b</a> c</table><pre class=lang-c>d</pre>"
    )
    containers, blocks = build(page, [0, 2, 3])
    tags = [
        Container("table"),
        Container("tbody", 0),
        Container("tr", 1),
        Container("td", 2),
        Container("td", 2, 3),
        Container("td", 2),
    ]
    assert containers == tuple(tags), "the cells of a row stand there, also those whose text is dropped"
    spans = (Span(0, 1, "link", "https://site.example/x"),)
    assert blocks == (Block("h1", "Title"), Block("p", "b c", 5, spans), Block("pre", "d", language="c"))
    assert [type(part) for part in (*containers[:1], *blocks[:1], *blocks[1].spans)] == [Container, Block, Span]


ROWSPANS = [
    ("a cell of two rows", "<tr><th rowspan=2>a<td>b<tr><td>c<tr><td>d", ["a b", "- c", "d"]),
    ("at the end of its row", "<tr><td>a<td rowspan=2>b<tr><td>c<tr><td>d<td>e", ["a b", "c -", "d e"]),
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
    containers, blocks = build(page, list(range(len(page.segments))))
    text = {block.parent: block.text for block in blocks}
    found = [
        " ".join(text.get(at, "-") for at, cell in enumerate(containers) if cell.parent == row)
        for row, container in enumerate(containers)
        if container.tag == "tr"
    ]
    assert found == expected, why


def of_role(*parts: str) -> str:
    """Return divs, each with the role before its colon, and a closing tag for each empty part."""
    return "".join(
        f"<div role={role}>{text}" if role else "</div>" for role, _, text in (p.partition(":") for p in parts)
    )


ROLES = [
    ("a table by its roles", of_role("table", "row", "columnheader:Port", "", "cell:6 m"), ["th Port", "td 6 m"]),
    ("with groups of rows", of_role("table", "rowgroup", "row", "rowheader:Port", "", "cell:6 m"),
     ["th Port", "td 6 m"]),
    ("rows of a grid may be menus or days", of_role("grid", "row", "columnheader:Mon", "", "cell:1"), []),
    ("a cell without a table", of_role("row", "cell:6 m"), []),
    ("a table with the roles that it has anyway", "<table role=table><tr role=row><th role=rowheader>a<td role=cell>b",
     ["th a", "td b"]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "markup", "expected"), ROLES, ids=[case[0] for case in ROLES])
def test_roles_make_a_table(why: str, markup: str, expected: list[str]) -> None:
    page = page_of(markup)
    containers, blocks = build(page, list(range(len(page.segments))))
    cells = [f"{containers[block.parent].tag} {block.text}" for block in blocks if block.parent >= 0]
    assert cells == expected, why


def test_a_table_of_hanging_cells_stays_small() -> None:
    wide = "<td rowspan=65534>x" * 300
    page = page_of(f"<table><tr>{wide}{'<tr><td>y' * 5_000}</table>")
    containers, _ = build(page, list(range(len(page.segments))))
    assert len(containers) < 30_000


def test_nothing_is_kept() -> None:
    assert build(page_of("<p>a</p>"), []) == ((), ())
