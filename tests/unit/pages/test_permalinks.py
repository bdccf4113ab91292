"""Links from a heading to itself are no text of the page; a heading that is such a link keeps its text."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from streams.pages.parse.walk import walk

CASES = [
    # permalinks
    ("Sphinx", '<section id=a><h2>Files<a href="#a">¶</a></h2></section>', "Files"),
    ("Read the Docs: an icon's private-use character", '<section id=a><h2>Files<a href="#a">\uf0c1</a></h2>', "Files"),
    ("Docusaurus: a zero-width space", '<h2 id=a>Files<a href="#a">&#8203;</a></h2>', "Files"),
    ("words behind the heading", '<h2 id=a>Files <a href="#a">Link to this section</a></h2>', "Files"),
    ("words before the headings of a page",
     '<h2 id=a><a href="#a">Anchor</a> Files</h2><h2 id=b><a href="#b">Anchor</a> Folders</h2>', "Files|Folders"),
    ("words with the heading", '<h2 id=a><a href="#a">Link to Files: </a>Files</h2>', "Files"),
    ("Starlight: beside the heading",
     '<div><h2 id=a>Files</h2><a href="#a"><svg></svg><span>Section titled “Files”</span></a></div>', "Files"),
    ("Node.js: the link has the name", '<h3>fs.open()<span><a href="#fs_open" id=fs_open>#</a></span></h3>',
     "fs.open()"),
    ("Doxygen: a mark before the heading", '<h2 id=a><span><a href="#a">&#9670;&#160;</a></span>foo()</h2>', "foo()"),
    ("a name in letters of another script", '<h2 id="файлы">Файлы <a href="#%D1%84%D0%B0%D0%B9%D0%BB%D1%8B">Ссылка</a>',
     "Файлы"),
    # links for the people who work on the page
    ("gi-docgen: the source of a part", "<h4>Description <a href=/b.c#l1>[src]</a></h4>", "Description"),
    ("Sphinx: the source behind a term, and a permalink",
     '<dl><dt id=f>tide.read(x)<a href="_modules/tide"><span>[source]</span></a><a href="#f">¶</a></dt></dl>',
     "tide.read(x)"),
    ("a wiki: a form for changing the part", "<h2>History <span><a href='/edit?s=2'>[edit]</a></span></h2>", "History"),
    ("a link in brackets that is all of a heading", "<h2><a href=/ports>[ports]</a></h2>", "[ports]"),
    ("a type in brackets within a signature", "<dt>read(<a href=/str>[str]</a>, x)</dt>", "read([str], x)"),
    ("the last type of a signature", "<dt>read(<a href=/str>[str]</a>)</dt>", "read([str])"),
    ("a number of a note", "<h2>History <a href='#n1'>[1]</a></h2>", "History [1]"),
    ("a link in a paragraph", "<p>Read it: <a href=/src>[source]</a></p>", "Read it: [source]"),
    # headings that are links to themselves
    ("mdBook: the whole heading", '<h2 id=a><a href="#a">Files</a></h2>', "Files"),
    ("rustdoc: a name within a signature",
     '<section id=method.new><h4>pub fn <a href="#method.new">new</a>(x: u8)</h4></section>', "pub fn new(x: u8)"),
    ("RFC: number and name",
     '<section id=s1><h2 id=name-files><a href="#s1">1. </a><a href="#name-files">Files</a></h2></section>',
     "1. Files"),
    ("a number before the name", '<h2 id=a>1.2 <a href="#a">Files</a></h2>', "1.2 Files"),
    ("a kind before the name", '<h2 id=files>Appendix A <a href="#files">Files</a></h2>', "Appendix A Files"),
    # other links
    ("another place", '<h2 id=a>Files, see <a href="#b">Folders</a></h2>', "Files, see Folders"),
    ("no heading", '<p id=a>Files, see <a href="#a">this text</a></p>', "Files, see this text"),
    ("another page", '<h2 id=a>Files <a href="b#a">Link to this section</a></h2>', "Files Link to this section"),
]  # fmt: skip


def test_the_source_of_a_part_is_followed() -> None:
    body = LexborHTMLParser("<h4>Description <a href=/b.c>[src]</a></h4>").body
    assert body is not None
    assert [link[0] for link in walk(body).links] == ["/b.c"]


@pytest.mark.parametrize(("why", "html", "expected"), CASES)
def test_permalinks(why: str, html: str, expected: str) -> None:
    body = LexborHTMLParser(html).body
    assert body is not None
    assert "|".join(segment.text for segment in walk(body).segments) == expected, why
