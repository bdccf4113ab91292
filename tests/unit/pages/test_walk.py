"""The walk: what it makes of elements and text, in Python and in C alike."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.content.segment_stats import measured
from streams.pages.native import walk as native
from streams.pages.native.library import is_compiled
from streams.pages.parse import segments as walk
from streams.pages.parse.link_resolver import OTHER, ROOTED
from streams.pages.parse.segments import Walk

Walker = Callable[[LexborNode], Walk]
KEPT_ATTRIBUTES = ("class", "id", "role", "lang", "colspan", "rowspan")


def in_c(body: LexborNode, title: str = "") -> Walk:
    assert is_compiled(), "the compiled walk is not there: python streams/pages/native/build.py"
    return native.walk(body, title)


@pytest.fixture(params=[walk.walk, in_c], ids=["python", "c"])
def walker(request: pytest.FixtureRequest) -> Walker:
    chosen: Walker = request.param
    return chosen


def body_of(html: str | bytes) -> LexborNode:
    body = LexborHTMLParser(html).body
    assert body is not None
    return body


def texts(page: Walk) -> list[tuple[str, str]]:
    return [(page.tags[segment.element], segment.text) for segment in page.segments]


CASES = [
    ("spaces collapse, blocks divide", "<p> a\n  b </p><div>c<p>d</p>e</div>",
     [("p", "a b"), ("div", "c"), ("p", "d"), ("div", "e")]),
    ("no-break and wide spaces are spaces", "<p>a&nbsp;b\u3000c\u2009d\u200be", [("p", "a b c d\u200be")]),
    ("inline elements divide nothing", "<p>un<b>believ</b>able <x-y>sight</x-y>", [("p", "unbelievable sight")]),
    ("one line break is a space, two divide", "<p>a<br>b<br><br>c<br>\n<br>d", [("p", "a b"), ("p", "c"), ("p", "d")]),
    ("a heading is one text, whatever stands in it", "<h2>a<div>b</div>c</h2>", [("h2", "a b c")]),
    ("preformatted text keeps its lines", "<pre>\n\n  a\n\tb  \n\n</pre>", [("pre", "  a\n\tb")]),
    ("references are read once", "<p>&amp;lt; &lt;b&gt; &quot;&#38;amp;", [("p", '&lt; <b> "&amp;')]),
    ("scripts, styles, forms' parts and drawings go",
     "<p>a<script>if (1<2) '<p>x'</script><style>p{}</style><svg><text>x</text></svg><select><option>y</select>b",
     [("p", "ab")]),
    ("comments and instructions go", "<p>a<!-- <p>x --><!--?-->b<?php echo ?>c", [("p", "abc")]),
    ("a script that holds its own end", "<p>a<script><!-- <script>x</script> --></script>b", [("p", "ab")]),
    ("what stands in what goes", "<p>a<select><option><svg><style>b</style></svg></select>c", [("p", "ac")]),
    ("elements without a meaning", "<main><section><article>a</article></section></main>", [("article", "a")]),
    ("nothing", "", []),
    ("spaces alone", "<p> \n <br> &nbsp; </p>", []),
    ("tables", "<table><tr><th>a<td>b<tr><td colspan=2>c</table>", [("th", "a"), ("td", "b"), ("td", "c")]),
    ("rules divide", "a<hr>b", [("body", "a"), ("body", "b")]),
    ("noscript is read", "<noscript><p>a</noscript>", [("p", "a")]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "expected"), CASES)
def test_texts(walker: Walker, why: str, html: str, expected: list[tuple[str, str]]) -> None:
    assert texts(walker(body_of(html))) == expected, why


RAISED = [
    ("powers", "<p>3 × 10<sup>−8</sup> m<sup>2</sup>", "3 × 10⁻⁸ m²"),
    ("formulas of chemistry", "<p>H<sub>2</sub>O, SO<sub>4</sub><sup>2-</sup>", "H₂O, SO₄²⁻"),
    ("what stands before a letter", "<p><sup>14</sup>C and <sup>235</sup>U", "¹⁴C and ²³⁵U"),
    ("fractions", "<p><sup>1</sup>⁄<sub>2</sub>", "¹⁄₂"),
    ("indices", "<p>x<sub>n-1</sub> + x<sub>i</sub> = 2<sup>(n+1)</sup>", "xₙ₋₁ + xᵢ = 2⁽ⁿ⁺¹⁾"),
    ("a dash for a minus", "<p>10<sup>–8</sup>", "10⁻⁸"),
    ("spaces in it go, but one behind it", "<p>10<sup> − 8\n</sup>m, 10 <sup>6</sup> m", "10⁻⁸ m, 10 ⁶ m"),
    ("whatever marks it inside", "<p>2<sup><i>n</i><span><b>+</b></span><!-- c -->1<wbr></sup>", "2ⁿ⁺¹"),
    ("whatever marks it outside", "<p><b>mc<sup>2</sup></b>", "mc²"),
    ("in code", "<p><code>1 &lt;&lt; 2<sup>5</sup></code>", "1 << 2⁵"),
    ("in preformatted text", "<pre>\nO(n<sup>2</sup>)\n</pre>", "O(n²)"),
    ("in a heading", "<h2>CO<sub>2</sub></h2>", "CO₂"),
    ("behind a heading's block", "<h2><div>a</div><sup>2</sup></h2>", "a ²"),
    ("in what a link shows", "<p><a href=x>m<sup>2</sup></a>", "m²"),
    ("words stay", "<p>the 1<sup>st</sup>, v<sub>max</sub>, N<sup>o</sup>", "the 1st, vmax, No"),
    ("whole or not at all", "<p>10<sup>6x</sup>, a<sub>2.5</sub>", "106x, a2.5"),
    ("up to a length", f"<p>2<sup>{'1' * 12}</sup> 2<sup>{'1' * 13}</sup>", f"2{'¹' * 12} 2{'1' * 13}"),
    ("nothing", "<p>a<sup></sup><sub> </sub>b", "a b"),
    ("the mark of a note at its start", "<p><sup>1</sup> See there.", "1 See there."),
    ("a whole text", "<p><sup>2</sup></p>", "2"),
    ("a mark that is a link", "<p>so<sup><a href='#n'>1</a></sup><a href='#m'><sup>2</sup></a>.", "so1 2."),
    ("a mark at the start of a link's text", "<p>so <a href='#m'><sup>2</sup> there</a>", "so 2 there"),
    ("a picture, a block, a break", "<p>a<sup>2<img src=i></sup><p>b<sup>2<br></sup>c", "a2"),
    ("one in the other", "<p>2<sup>x<sup>2</sup></sup>", "2x²"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "text"), RAISED)
def test_superscripts_and_subscripts_are_characters(walker: Walker, why: str, html: str, text: str) -> None:
    assert walker(body_of(html)).segments[0].text == text, why


def test_links_are_named_with_superscripts(walker: Walker) -> None:
    page = walker(body_of("<p><b>a</b> <a href=x>the m<sup><i>2</i> </sup> of it</a>"))
    assert page.links == [("x", "the m² of it", "", 0, OTHER)]
    assert page.segments[0].spans == [(0, 1, "strong", "", ""), (2, 14, "link", "x", "")]
    assert page.segments[0].link_chars == len("the m") + 1 + len("of it")


SPANS = [
    ("a link", "<p>see <a href=x>the  page</a>.", "see the page.", [(4, 12, "link", "x", "")]),
    ("nested emphasis", "<p><b>a <i>b</i></b> c", "a b c", [(2, 3, "em", "", ""), (0, 3, "strong", "", "")]),
    ("spaces around are not marked", "<p>a<b> b </b>c", "a b c", [(2, 3, "strong", "", "")]),
    ("empty ones are nothing", "<p>a<b></b><i> </i>b", "a b", []),
    ("over a line break", "<p><b>a<br>b</b>", "a b", [(0, 3, "strong", "", "")]),
    ("an image takes no room", '<p>a <img src=i.png alt=" an  image "> b', "a b",
     [(1, 1, "image", "i.png", "an image")]),
    ("an inline image is none", '<p>a<img src="data:x">b', "ab", []),
    ("code in preformatted text is not marked", "<pre>a <code>b</code></pre>", "a b", []),
    ("a link in preformatted text", "<pre>\na <a href=x>b\n</a>c</pre>", "a b\nc", [(2, 4, "link", "x", "")]),
    ("links side by side are apart", "<p><a href=x>a</a><a href=y>b</a>", "a b",
     [(0, 1, "link", "x", ""), (2, 3, "link", "y", "")]),
    ("whatever is around them", "<p><b><a href=x>a</a></b><a href=y>b</a>", "a b",
     [(0, 1, "link", "x", ""), (0, 1, "strong", "", ""), (2, 3, "link", "y", "")]),
    ("indentation at the start of code", "<pre><code>    <b>if</b> a:\n        b</code></pre>", "    if a:\n        b",
     []),
    ("lines that are elements", "<pre><div>a</div><div>b</div><div>c\n</div>d<br></pre>", "a\nb\nc\nd", []),
    ("an image behind the text", "<p>a</p><img src=i.png alt=b>", "a", [(1, 1, "image", "i.png", "b")]),
    ("an image that is loaded late", '<p>a<img src="data:x" data-src=i.png>', "a", [(1, 1, "image", "i.png", "")]),
    ("the first of its sizes", '<p>a<img srcset=" i.png, j.png 2x">', "a", [(1, 1, "image", "i.png", "")]),
    ("a footnote", '<p>a<small role="doc-footnote">the  <b>note</b></small> b', "a b",
     [(1, 1, "footnote", "the note", "")]),
    ("a formula is its source", '<p>so <math alttext="E=mc"><mi>E</mi></math> is', "so E=mc is",
     [(3, 7, "math", "", "")]),
    ("handles of headings go", '<h2>Title <a href="#t">¶</a></h2>', "Title", []),
    ("whatever is around their signs", f'<h2>Title <a href="#t">{" " * 300}<b></b><i>¶ </i>{" " * 300}</a></h2>',
     "Title", []),
    ("other links within the page stay", '<p>see <a href="#t">below</a>', "see below", [(4, 9, "link", "#t", "")]),
    ("in code points", '<p>𝒜é <b>ü</b>', "𝒜é ü", [(3, 4, "strong", "", "")]),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "text", "spans"), SPANS)
def test_spans(walker: Walker, why: str, html: str, text: str, spans: list[tuple[int, int, str, str, str]]) -> None:
    (segment,) = walker(body_of(html)).segments
    assert (segment.text, segment.spans) == (text, spans), why


def test_links_are_told_with_the_segment_that_they_end_in(walker: Walker) -> None:
    html = '<p>a <a href="x?a=1&amp;b=2" rel="nofollow me">b  c</a></p><a href=/y><p>d</p></a><a href=z></a>'
    page = walker(body_of(html))
    expected = [("x?a=1&b=2", "b c", "nofollow me", 0, OTHER), ("/y", "d", "", 2, ROOTED), ("z", "", "", 2, OTHER)]
    assert page.links == expected
    assert [(s.links, s.link_chars) for s in page.segments] == [(1, 4), (1, 1)]


@pytest.mark.parametrize(
    ("why", "html", "expected"),
    [
        ("behind the text of its cell", "<table><td>a<img src=1><td>b</table>", [["1"], []]),
        ("before the text of its cell", "<table><td><img src=1>a<td><img src=2>b</table>", [["1"], ["2"]]),
        ("behind the caption of its figure", "<figure><figcaption>a</figcaption><img src=1></figure><p>b", [["1"], []]),
        ("before its caption", "<p>a<figure><img src=1><figcaption>b</figcaption></figure>", [[], ["1"]]),
        ("in an element without text", "<p>a</p><div><img src=1></div><p>b", [[], ["1"]]),
        ("several, at the end of the page", "<p>a</p><img src=1><div><img src=2></div>", [["1", "2"]]),
    ],
)
def test_images_stay_with_the_text_of_their_element(
    walker: Walker, why: str, html: str, expected: list[list[str]]
) -> None:
    found = walker(body_of(html)).segments
    assert [[target for _, _, _, target, _ in segment.spans] for segment in found] == expected, why


def test_code_gives_its_language_to_the_text_around_it(walker: Walker) -> None:
    page = walker(body_of('<pre class="x"><code class="language-python">a</code></pre>'))
    assert page.attributes[1]["class"] == "x language-python"


PIECES = [
    "<p>", "</p>", "<div class='content main'>", "</div>", "<b>", "</b>", "<i>", "</i>", "<a href='/x'>", "</a>",
    "<a href='#s'>", "<br>", "<br>\n<br>", "<pre>", "</pre>", "<code class='language-c'>", "</code>", "<h1>", "</h1>",
    "<h2 id=Menu>", "</h2>", "<ul class=nav>", "<li>", "</ul>", "<table><tr>", "<td colspan=2>", "</table>",
    "<img src=a.png alt='b  c'>", "<img data-src='x y'>", "<img src=data:a srcset=', a 1x'>", "<figure>",
    "</figure>", "<hr>", "text", " words here. And, more", "\n", " ", "é", "ÉCOLE", "日本。", "&nbsp;",
    "&amp;", "&lt;b&gt;", "¶", "#", "<!-- c -->", "<span hidden>", "</span>", "<small>", "</small>",
    "<small role=doc-footnote>n</small>", "<script>a<b</script>", "<svg><a>x</a>", "</svg>", "<math><mi>x</math>",
    "$5 | 7",
    "Ωmega", "ǅ one", "“Quoted” words", "—", "Ｆull", "Ꙁ", "ﬁ",
    "Ähnliche Artikel", "ªx", "µm", "©2026", "• item", "ⁿ", "WEITERE über uns", "関連記事", "MÁS",
    "漢字，と仮名、" * 9, "終。 次。",
    "한국어 문장.", "ไทยเขียนติดกัน", "ລາວ", "ខ្មែរ", "မြန်မာ", "عربي، نص", "हिन्दी। अंत।",
    "𠀀𠀁",
    "<a href=/han>漢字 か</a>",
    "Read more", "by Jo:", "<nav>", "</nav>", "<p style='display : none'>", "<template>t</template>", "<noscript>",
    "</noscript>", "<button>", "</button>", "<dl><dt>", "<dd>", "</dl>", "<article role=main lang=de>", "</article>",
    "<xmp><b></xmp>", "<form>", "</form>", "\r\n", "&#13;", "<textarea>q</textarea>", "<iframe>r</iframe>", "<wbr>",
    "<sup>", "</sup>", "<sub>", "</sub>", "<sup>6</sup>", "<sub>2 </sub>", "<sup>− 8", "m", "2n+1", "<sup>st</sup>",
    "<x-y aria-hidden=true>", "</x-y>", "<p class=''>", "<p class>",
]  # fmt: skip


def assert_alike(html: str | bytes, title: str = "") -> None:
    """The walk in C and the one in Python give the same lists, and the same measures."""
    ours = in_c(body_of(html), title)
    python = walk.walk(body_of(html))
    counted = measured(python, title) if python.segments else None
    assert (ours.tags, ours.parents) == (python.tags, python.parents)
    assert [_kept(values) for values in ours.attributes] == [_kept(values) for values in python.attributes]
    for name in KEPT_ATTRIBUTES:
        assert ours.named(name) == python.named(name)
        for element in range(len(ours.tags)):
            assert ours.attribute(element, name) == python.attribute(element, name)
    assert list(map(_told, ours.segments)) == list(map(_told, python.segments))
    assert ours.links == python.links
    if counted is None or ours.measured is None:
        return
    for name in ("tags", "parents", "elements", "counts", "words", "flags", "masks"):
        found, expected = getattr(ours.measured, name), getattr(counted, name)
        assert np.array_equal(found, expected), (name, np.argwhere(found != expected)[:5].tolist())
    pairs = set(zip(ours.measured.groups.tolist(), counted.groups.tolist(), strict=True))
    assert len(pairs) == len(set(ours.measured.groups.tolist())) == len(set(counted.groups.tolist()))


def _kept(attributes: dict[str, str | None]) -> dict[str, str]:
    return {name: value or "" for name, value in attributes.items() if name in KEPT_ATTRIBUTES}


def _told(segment: walk.Segment) -> tuple[object, ...]:
    return segment.element, segment.text, segment.link_chars, segment.links, segment.images, segment.spans


@settings(max_examples=400, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_c_and_python_agree(pieces: list[str]) -> None:
    assert_alike("".join(pieces), "Words here. and, more: ÉCOLE — “quoted” words, ωmega ꙁ ｆull")


@pytest.mark.parametrize(("why", "html", "expected"), [*CASES, *RAISED])
def test_c_and_python_agree_on_the_cases(why: str, html: str, expected: object) -> None:
    assert_alike(html)


@settings(max_examples=300, deadline=None)
@given(junk=st.binary(max_size=2_000), pieces=st.lists(st.sampled_from(PIECES), max_size=20))
def test_c_and_python_agree_on_what_no_author_wrote(junk: bytes, pieces: list[str]) -> None:
    """Bytes of any kind between pieces of markup, as UTF-8: what a page is decoded to before it is parsed."""
    assert_alike(("".join(pieces) + junk.decode("utf-8", "replace") + "".join(reversed(pieces))).encode())


@pytest.mark.parametrize(
    ("why", "html"),
    [
        ("classes are the same wherever they come from",
         "<pre class='x nav'>a</pre><pre class=x><code class=nav>b</code></pre><pre><b class='x nav'>c</b></pre>"),
        ("names are read up to a length",
         f"<pre class='{'é' * 150} nav'><code class='{'x' * 30} menu'>a</code><b class='comment footer'>b</b></pre>"),
        ("elements alike are of the same name in elements of the same name",
         "<section>a<search>b</search></section><table><caption>c<center>d</table><fieldset>e<article><section><dt>f"),
        ("formulas in formulas",
         "<p>a <math alttext=x><mi>y<math alttext=z></math></mi></math> b <math><mi>c</mi></math>"),
    ],
)  # fmt: skip
def test_c_and_python_agree_on_what_is_rare(why: str, html: str) -> None:
    assert_alike(html)


def test_elements_in_others_are_told_apart() -> None:
    names = ("address", "article", "aside", "center", "details", "div", "dl", "fieldset", "main", "search", "section")
    pairs = [(outer, inner) for outer in names for inner in names]
    page = in_c(body_of("".join(f"<{outer}><{inner}>x</{inner}></{outer}>" for outer, inner in pairs) * 2))
    assert page.measured is not None
    assert page.measured.groups.tolist() == [*range(len(pairs))] * 2


def test_lengths_behind_much_text_are_exact() -> None:
    page = in_c(body_of(f"<p>{'a' * 16_777_216}<p>bcd<p>e"))
    assert page.measured is not None
    assert page.measured.counts[1:, 0].tolist() == [3, 1]


def test_many_classes_in_preformatted_text_take_no_time() -> None:
    count = 30_000
    page = in_c(body_of("<pre>" + "<b class=x>y</b>" * count))
    assert page.attributes[1]["class"] == page.named("class")[1] == " x" * count


def test_threads_fill_the_tables_once() -> None:
    """Whoever comes first; nobody fills them again under the others' walks."""
    native._ready.cache_clear()
    start = Barrier(8)

    def read(number: int) -> list[tuple[str, str]]:
        body = body_of(f"<ul><li>{number}<li><pre>b</pre></ul>" * 50)
        start.wait()
        return texts(in_c(body))

    with ThreadPoolExecutor(8) as threads:
        for number, found in enumerate(threads.map(read, range(8))):
            assert found == [("li", str(number)), ("pre", "b")] * 50


def test_formulas_are_read_by_python_and_walked_by_c() -> None:
    tex = "<annotation encoding='application/x-tex'>{\\displaystyle a^2}</annotation>"
    html = f"<p>so <math><semantics><mi>a</mi>{tex}</semantics></math> is</p>"
    assert texts(in_c(body_of(html))) == texts(walk.walk(body_of(html))) == [("p", "so a^2 is")]
