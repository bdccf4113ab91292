# ruff: noqa: E501 - pages as they come
"""A document written out and normalized again is the same document."""

import string
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.pages.document.codec import decode_document, encode_document
from streams.pages.document.model import CONTAINER_TAGS, Block, Document
from streams.pages.document.to_html import to_html
from streams.pages.normalize import normalize
from streams.pages.sandbox.normalizing import normalize_to_outcome
from tests.sizes import examples

URL = "https://site.example/a/page"
_TEXT = st.text(alphabet=string.ascii_letters + "123- .,<>&\"'\n\t\u00a0éß漢\u200b\x01|", max_size=24)
_INLINE = (
    "b",
    "em",
    "code",
    "span",
    "a href='/x?a=1&b=2'",
    "a href='#top'",
    "small",
    "sup",
    "sub",
    "small role=doc-footnote",
    "math",
)
_BLOCK = (
    "p", "div", "h2", "h3", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "td", "th colspan=2",
    "caption", "blockquote", "pre", "pre class='language-c++'", "figure", "figcaption", "section", "p lang=fr", "form", "nav",
    "table role=presentation", "details", "button", "article",
)  # fmt: skip
_VOID = st.sampled_from(
    ["<br>", "<img src='/i.png' alt='an  image'>", "<hr>", "<wbr>", "<script>x</script>", "<!-- c -->"]
)


def _element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tag = st.sampled_from(_INLINE + _BLOCK)
    closed = st.tuples(tag, st.lists(inner, max_size=4)).map(
        lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0].split()[0]}>"
    )
    unclosed = st.tuples(tag, inner).map(lambda made: f"<{made[0]}>{made[1]}")
    return closed | unclosed


PAGES = st.lists(
    st.recursive(_TEXT.map(lambda text: text.replace("<", "&lt;")) | _VOID, _element, max_leaves=14), max_size=6
).map("".join)


@settings(max_examples=examples(120), deadline=None)
@given(PAGES)
def test_every_valid_document_parses_back_to_itself(page: str) -> None:
    document = normalize(page, url=URL).document
    assert normalize(to_html(document), url=URL).document == document


@settings(max_examples=examples(60), deadline=None)
@given(PAGES)
def test_every_document_follows_the_grammar(page: str) -> None:
    assert_valid(normalize(page, url=URL).document)


CHILDREN = {
    "ul": {"li"}, "ol": {"li"}, "dl": {"dt", "dd"}, "table": {"caption", "thead", "tbody", "tfoot"},
    "thead": {"tr"}, "tbody": {"tr"}, "tfoot": {"tr"}, "tr": {"th", "td"},
}  # fmt: skip
PARENTS = {
    "li": {"ul", "ol"}, "dt": {"dl"}, "dd": {"dl"}, "caption": {"table"}, "thead": {"table"}, "tbody": {"table"},
    "tfoot": {"table"}, "tr": {"thead", "tbody", "tfoot"}, "th": {"tr"}, "td": {"tr"}, "figcaption": {"figure"},
}  # fmt: skip


def in_lines(block: Block) -> str:
    """The text with single spaces, in its lines; a heading has one."""
    lines = [" ".join(line.split()) for line in block.text.split("\n")]
    return " ".join(lines) if block.tag.startswith("h") else "\n".join(filter(None, lines))


def assert_valid(document: Document) -> None:
    held = {block.parent for block in document.blocks}
    for index in range(len(document.containers) - 1, -1, -1):
        container = document.containers[index]
        parent = document.containers[container.parent].tag if container.parent >= 0 else ""
        assert container.tag in CONTAINER_TAGS
        assert container.parent < index, "a container stands before what it holds"
        assert parent in PARENTS.get(container.tag, {parent}), f"{container.tag} in {parent or 'the document'}"
        assert container.tag in CHILDREN.get(parent, {container.tag}), f"{container.tag} in {parent}"
        if container.tag not in ("td", "th"):
            assert index in held, f"{container.tag} holds nothing"
        if index in held:
            held.add(container.parent)
    for block in document.blocks:
        parent = document.containers[block.parent].tag if block.parent >= 0 else ""
        assert parent not in CHILDREN, f"loose text in {parent}"
        assert block.text == (block.text.strip("\n") if block.tag == "pre" else in_lines(block))
        assert block.text
        for span in block.spans:
            assert 0 <= span.start <= span.end <= len(block.text)
            assert (span.start == span.end) == (span.kind in ("image", "footnote"))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        # Text straight in a list becomes an item.
        ("<ul>loose<li>item</ul>", "<ul><li><p>loose</p></li><li><p>item</p></li></ul>"),
        # A stray item is a paragraph.
        ("<li>item", "<p>item</p>"),
        # Every row is in a section, and a cell keeps its column even when it is empty.
        (
            "<table><tr><th>a<th>b<tr><td><td>2</table>",
            "<table><tbody><tr><th><p>a</p></th><th><p>b</p></th></tr><tr><td></td><td><p>2</p></td></tr></tbody></table>",
        ),
        # A cell over two columns is followed by an empty one.
        (
            "<table><tr><th colspan=2>a<tr><td>1<td>2</table>",
            "<table><tbody><tr><th><p>a</p></th><th></th></tr><tr><td><p>1</p></td><td><p>2</p></td></tr></tbody></table>",
        ),
        # A table that lays out the page is no table.
        ("<table role=presentation><tr><td>a<td>b</table>", "<p>a</p>\n<p>b</p>"),
        ("<table><tr><td>a<table><tr><td>b<td>c</table></table>",
         "<p>a</p>\n<table><tbody><tr><td><p>b</p></td><td><p>c</p></td></tr></tbody></table>"),
        # Code keeps its lines and says its language.
        ("<pre><code class='lang-python'>\ndef f():\n    <b>pass</b>\n\n</code></pre>",
         '<pre><code class="language-python">def f():\n    pass</code></pre>'),
        # Text is collapsed and trimmed, with its spans.
        ("<p>  a\n <b> bold</b>, <a href='b#c'> link</a> <a href='mailto:x@y.example'>mail</a>",
         '<p>a <strong>bold</strong>, <a href="https://site.example/a/b">link</a> mail</p>'),
        # Scripts, styles, comments and attributes are gone; so is what is empty.
        ("<p class=x style='color:red' onclick=f()>a<script>x</script><style>y</style><!-- z --><p></p><div><br></div>", "<p>a</p>"),
        # Formulas are their source.
        ("<p>so <math><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></math>",
         '<p>so <math><semantics><annotation encoding="application/x-tex">x^2</annotation></semantics></math></p>'),
        # An image stands where it stood, with its alternative text.
        ("<p>see <img src=/i.png alt='a  cat'> here", '<p>see<img src="https://site.example/i.png" alt="a cat"> here</p>'),
        ("<figure><img src=i.png><figcaption>A cat</figcaption></figure>",
         '<figure><figcaption><p><img src="https://site.example/a/i.png" alt="">A cat</p></figcaption></figure>'),
        # Two breaks end a paragraph, one doesn't.
        ("<div>a<br>b<br><br>c</div>", "<p>a<br>b</p>\n<p>c</p>"),
        # A list of nothing but control characters is no list.
        ("<ul>\x01</ul><p>a", "<p>a</p>"),
        # Exponents and indices are characters, where there are such.
        ("<p>10<sup>6</sup> m of H<sub>2</sub>O, the 1<sup>st</sup>", "<p>10⁶ m of H₂O, the 1st</p>"),
        ("<p><i>mc</i><sup><b>2</b></sup> <sup>1</sup>", "<p><em>mc</em>² ¹</p>"),
        # Headings are never cut.
        ("<h2><div>A</div> <div>title</div></h2>", "<h2>A title</h2>"),
    ],
)  # fmt: skip
def test_markup_becomes_blocks(page: str, expected: str) -> None:
    html = to_html(normalize(page, url=URL).document)
    assert html.partition("<main>\n")[2].partition("\n</main>")[0] == expected


def test_facts_and_links_are_written_and_read() -> None:
    page = """<html lang=de><title>Der Titel | Seite</title><meta property=og:site_name content=Seite>
    <meta name=author content="A. Autorin"><nav><a href=/x rel=nofollow>nav</a></nav><h1>Der Titel</h1><p>Ein Satz mit Worten."""
    document = normalize(page, url=URL).document
    assert document.facts["author"] == "A. Autorin"
    assert [(link.url, link.nofollow, link.in_content) for link in document.links] == [
        ("https://site.example/x", True, False)
    ]
    assert normalize(to_html(document), url=URL).document == document


WRITTEN = {
    "title": "The title", "description": "", "language": "en", "language_confidence": 1.0, "script": "Latn",
    "spoken": [[0, 0.0, "Grek"]], "spanned": [], "facts": {"author": "Ada"},
    "links": [["https://site.example/x", "x", False, True]],
}  # fmt: skip


def claiming(**fields: Any) -> Document:
    """Normalize a page that claims to be written by `to_html`, with these fields."""
    script = orjson.dumps(WRITTEN | fields).decode().replace("<", "\\u003c")
    page = f"""<meta name=generator content="Riffle document 2"><title>Its own title</title><main><p>Text.</main>
    <script type="application/vnd.riffle.document+json">{script}</script>"""
    return normalize(page, url=URL).document


def test_a_page_may_claim_to_be_a_written_document() -> None:
    document = claiming()
    assert (document.title, document.facts, len(document.links)) == ("The title", {"author": "Ada"}, 1)
    assert [block.script for block in document.blocks] == ["Grek"]
    assert claiming(spoken=[[7, 0.5, "Grek"]]).blocks[0].script == "", "no such block"
    assert claiming(spanned=[[7, 0], [0, 9]]).containers == document.containers, "no such cells"
    assert claiming(spoken=[[0, 0.5, ""]]).blocks[0].confidence == 0.0, "a probability without a language"


@pytest.mark.parametrize(
    ("why", "fields"),
    [
        ("an address that is an object", {"facts": {"canonical": {"a": 1}}}),
        ("an address of another kind", {"facts": {"canonical": "javascript:alert(1)"}}),
        ("an author that is an object", {"facts": {"author": {"name": "Ada"}}}),
        ("a date in a list", {"facts": {"published": ["2024-03-01"]}}),
        ("a word as a date", {"facts": {"published": "soon"}}),
        ("a number as a feed", {"facts": {"feeds": [1]}}),
        ("an item without a type", {"facts": {"structured": [{"name": "x"}]}}),
        ("a card of cards", {"facts": {"opengraph": {"title": {"a": "b"}}}}),
        ("an unknown fact", {"facts": {"rank": 1}}),
        ("too deep items", {"facts": {"structured": [{"type": "T", "x": orjson.loads("[" * 200 + "]" * 200)}]}}),
        ("a too long text", {"title": "x" * 100_000}),
        ("a probability above 1", {"language_confidence": 7.5}),
        ("a probability that is no number", {"language_confidence": True}),
        ("an invalid script", {"script": "Latin"}),
        ("a block with an invalid script", {"spoken": [[0, 0.5, "<b>"]]}),
        ("an incomplete block", {"spoken": [[0, 0.0, "Grek"], [1]]}),
        ("a cell with an invalid index", {"spanned": [[1, -1]]}),
        ("a cell without the one that spans it", {"spanned": [[1]]}),
        ("a block with an invalid index", {"spoken": [[True, 0.0, "Grek"]]}),
        ("too many links", {"links": [["https://site.example/x", "x", False, True]] * 5_001}),
        ("a link that is a word", {"links": ["abcd"]}),
        ("a link to a script", {"links": [["javascript:alert(1)", "x", False, True]]}),
        ("a link with numbers as flags", {"links": [["https://site.example/x", "x", 0, 1]]}),
        ("no links at all", {"links": None}),
    ],
)  # fmt: skip
def test_invalid_fields_are_ignored(why: str, fields: dict[str, Any]) -> None:
    document = claiming(**fields)
    assert document.title == "Its own title", why
    assert decode_document(encode_document(document)) == document, why
    assert normalize_to_outcome(to_html(document).encode(), url=URL, headers={}).title == "Its own title", why
