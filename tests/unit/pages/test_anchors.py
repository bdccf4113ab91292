"""Anchors of headings and terms: where generators of pages write them, and which are none."""

import pytest

from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from streams.pages.parse.anchors import MAX_CHARS
from streams.statements.drafting import Draft, draft_statements
from tests.sentence_splitter import SPLITTER

TEXT = "<p>The log is copied back into the database when it has grown to a thousand pages."


def anchors(html: str) -> list[str]:
    return list(normalize(f"<main>{html}</main>", url="https://a.test/").document.anchors().values())


@pytest.mark.parametrize(
    ("html", "anchor", "why"),
    [
        ("<h2 id=wal>Log</h2>", "wal", "the heading's own name: most generators"),
        ("<h2><a name=wal></a>Log</h2>", "wal", "a name in the heading: pages of the nineties"),
        ("<h2><a name=wal>Log</a></h2>", "wal", "a name around its text"),
        ("<h2>Log <span><a id=wal href=#wal>#</a></span></h2>", "wal", "on the permalink: Node.js"),
        ("<h2><span class=mw-headline id=wal>Log</span></h2>", "wal", "a name around its text: MediaWiki"),
        ("<a name=wal></a><h2>Log</h2>", "wal", "an empty name before it: texi2html"),
        ("<p><a id=wal></a></p><h2>Log</h2>", "wal", "an empty paragraph with a name before it"),
        (
            "<span id=wal></span>\n<!-- . -->\n<h2>Log</h2>",
            "wal",
            "Sphinx's second names",
        ),
        ("<section id=wal><h2>Log</h2></section>", "wal", "the section that begins with it: Docutils"),
        (
            "<div id=wal><div class=titlepage><div><div><h2>Log</h2></div></div></div></div>",
            "wal",
            "a section with four elements around the title: DocBook",
        ),
        ("<h2 id=outer><span id=inner>Log</span></h2>", "outer", "its own name first"),
        ("<h2 id='écriture'>Log</h2>", "écriture", "HTML allows all but spaces"),
        ("<h2>Log</h2>", "", "no name"),
        ("<div id=wal><p>Text before it.</p><h2>Log</h2></div>", "", "the section begins with another text"),
        ("<p id=other>A paragraph of its own.</p><h2>Log</h2>", "", "the name of the text before it"),
        ("<h2 id='two words'>Log</h2>", "", "no address can have a space in it"),
        ("<h2 id='x:~:text=y'>Log</h2>", "", "it would be read as a text fragment"),
        (f"<h2 id={'x' * (MAX_CHARS + 1)}>Log</h2>", "", "too long"),
        ("<div id=content><h1>Log</h1></div>", "", "the title of a page is at its top"),
        ("<section id=wal><h1>Log</h1></section>", "wal", "but a chapter of a book on one page has a section"),
    ],
)
def test_the_anchor_of_a_heading(html: str, anchor: str, why: str) -> None:
    assert anchors(html + TEXT) == ([anchor] if anchor else []), why


def drafts(html: str) -> list[Draft]:
    document = normalize(f"<title>Guide</title><main>{html}</main>", url="https://a.test/").document
    return draft_statements(document, SPLITTER)[0]


@pytest.mark.parametrize(
    ("html", "anchor", "why"),
    [
        (f"<h2 id=wal>Log</h2>{TEXT}", "wal", "the heading above it"),
        (f"<h2 id=wal>Log</h2><h3 id=check>Checkpoints</h3>{TEXT}", "check", "the nearest one"),
        (f"<h2 id=wal>Log</h2><h3>Checkpoints</h3>{TEXT}", "wal", "the nearest one with an anchor"),
        (f"<h2 id=wal>Log</h2><h3 id=check>Checkpoints</h3><h2>Readers</h2>{TEXT}", "", "none of another section"),
        (f"<h2 id=wal>Log</h2><dl><dt id=fsync>fsync<dd>{TEXT}</dl>", "fsync", "the term that it describes"),
        (f"<h2 id=wal>Log</h2><dl><dt id=fsync>fsync<dd>Some words.</dl>{TEXT}", "wal", "the term ends with its list"),
        (f"<h2>Log</h2>{TEXT}", "", "none"),
    ],
)
def test_a_statement_has_the_anchor_of_the_nearest_name_above_it(html: str, anchor: str, why: str) -> None:
    assert drafts(html)[-1].anchor == anchor, why


def test_anchors_are_written_with_the_document() -> None:
    document = normalize(f"<title>Guide</title><main><h2 id=wal>Log</h2>{TEXT}</main>", url="https://a.test/").document
    assert document.facts["anchors"] == [[0, "wal"]]
    assert normalize(to_html(document), url="https://a.test/").document == document
