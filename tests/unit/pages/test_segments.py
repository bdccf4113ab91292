"""The segments, spans, links and elements that the walk finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.parse.link_resolver import OTHER, ROOTED
from streams.pages.parse.segments import Walk
from streams.pages.parse.walk import walk
from tests.cpu_guard import cpu_guard
from tests.sizes import examples


def body_of(html: str | bytes) -> LexborNode:
    body = LexborHTMLParser(html).body
    assert body is not None
    return body


def texts(page: Walk) -> list[tuple[str, str]]:
    return [(page.tags[segment.element], segment.text) for segment in page.segments]


CASES = [
    ("spaces collapse, blocks divide", "<p> a\n  b </p><div>c<p>d</p>e</div>",
     [("p", "a b"), ("div", "c"), ("p", "d"), ("div", "e")]),
    ("no-break and wide spaces are spaces", "<p>a&nbsp;b\u3000c\u2009d", [("p", "a b c d")]),
    ("hints for line breaks, and icons' characters, are nothing",
     "<p>a&shy;b&#8203;c\u2060d\ufeffe \uf0c1f<pre>g\ue000&shy;h", [("p", "abcde f"), ("pre", "gh")]),
    ("joiners are letters", "<p>\u0645\u06cc\u200c\u062e\u0648", [("p", "\u0645\u06cc\u200c\u062e\u0648")]),
    ("inline elements divide nothing", "<p>un<b>believ</b>able <x-y>sight</x-y>", [("p", "unbelievable sight")]),
    ("a line break is one, two divide", "<p>a <br>\n b<br><br>c<br/>\n<br>d", [("p", "a\nb"), ("p", "c"), ("p", "d")]),
    ("whatever spaces are between two", "<p>a<br>&nbsp;<br>b<br><b> </b><br>c", [("p", "a"), ("p", "b"), ("p", "c")]),
    ("in each kind of element", "<address>a<br>b</address><ul><li>c<br>d</ul><table><td>e<br>f</table>",
     [("address", "a\nb"), ("li", "c\nd"), ("td", "e\nf")]),
    ("within emphasis and links", "<p><b>a<br>b</b> <a href=x>c<br>d</a>", [("p", "a\nb c\nd")]),
    ("not around a text", "<p><br>a<br></p><div>b<br><p>c", [("p", "a"), ("div", "b"), ("p", "c")]),
    ("Unicode's line separator is one", "<p>a&#8232;b<br>c", [("p", "a\nb\nc")]),
    ("a heading is one line", "<h2>a<br>b<br><br>c</h2>", [("h2", "a b c")]),
    ("a place where a word may be divided is nothing", "<p>a<wbr>b", [("p", "ab")]),
    ("a heading is one text, whatever stands in it", "<h2>a<div>b</div>c</h2>", [("h2", "a b c")]),
    ("preformatted text keeps its lines", "<pre>\n\n  a\n\tb  \n\n</pre>", [("pre", "  a\n\tb")]),
    ("lines of code in a paragraph", "<p><code>a <br />\n  b(<i>c</i>) <br>d</code></p>", [("pre", "a\nb(c)\nd")]),
    ("each in an element of its own", "<p><code>a</code><br><kbd>b</kbd></p>", [("pre", "a\nb")]),
    ("code and a text", "<p>Say <code>a</code><br><code>b</code>", [("p", "Say a\nb")]),
    ("code of one line", "<p><code>a\nb</code>", [("p", "a b")]),
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
def test_texts(why: str, html: str, expected: list[tuple[str, str]]) -> None:
    assert texts(walk(body_of(html))) == expected, why


SUPERSCRIPTS = [
    ("powers", "<p>3 × 10<sup>−8</sup> m<sup>2</sup>", "3 × 10⁻⁸ m²"),
    ("formulas of chemistry", "<p>H<sub>2</sub>O, SO<sub>4</sub><sup>2-</sup>", "H₂O, SO₄²⁻"),
    ("what stands before a letter", "<p><sup>14</sup>C and <sup>235</sup>U", "¹⁴C and ²³⁵U"),
    ("fractions", "<p><sup>1</sup>⁄<sub>2</sub>", "¹⁄₂"),
    ("indices", "<p>x<sub>n-1</sub> + x<sub>i</sub> = 2<sup>(n+1)</sup>", "xₙ₋₁ + xᵢ = 2⁽ⁿ⁺¹⁾"),
    ("a power within small text", "<p>2<sup><small>48</small></sup>, 10<sup><font><b>6</b></font></sup>", "2⁴⁸, 10⁶"),
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


@pytest.mark.parametrize(("why", "html", "text"), SUPERSCRIPTS)
def test_superscripts_and_subscripts_are_characters(why: str, html: str, text: str) -> None:
    assert walk(body_of(html)).segments[0].text == text, why


def test_links_are_named_with_superscripts() -> None:
    page = walk(body_of("<p><b>a</b> <a href=x>the m<sup><i>2</i> </sup> of it</a>"))
    assert page.links == [("x", "the m² of it", "", 0, OTHER)]
    assert page.segments[0].spans == [(0, 1, "strong", "", ""), (2, 14, "link", "x", "")]
    assert page.segments[0].link_chars == len("the m") + 1 + len("of it")


SPANS = [
    ("a link", "<p>see <a href=x>the  page</a>.", "see the page.", [(4, 12, "link", "x", "")]),
    ("nested emphasis", "<p><b>a <i>b</i></b> c", "a b c", [(2, 3, "em", "", ""), (0, 3, "strong", "", "")]),
    ("spaces around are not marked", "<p>a<b> b </b>c", "a b c", [(2, 3, "strong", "", "")]),
    ("empty ones are nothing", "<p>a<b></b><i> </i>b", "a b", []),
    ("over a line break", "<p><b>a <br> b</b> <i>c", "a\nb c", [(0, 3, "strong", "", ""), (4, 5, "em", "", "")]),
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
    ("whose placeholder is a file", '<p>a<img src="blank.gif" data-src=i.png>', "a", [(1, 1, "image", "i.png", "")]),
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
def test_spans(why: str, html: str, text: str, spans: list[tuple[int, int, str, str, str]]) -> None:
    (segment,) = walk(body_of(html)).segments
    assert (segment.text, segment.spans) == (text, spans), why


def test_a_link_has_the_number_of_the_segment_in_which_it_ends() -> None:
    html = '<p>a <a href="x?a=1&amp;b=2" rel="nofollow me">b  c</a></p><a href=/y><p>d</p></a><a href=z></a>'
    page = walk(body_of(html))
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
def test_images_stay_with_the_text_of_their_element(why: str, html: str, expected: list[list[str]]) -> None:
    found = walk(body_of(html)).segments
    assert [[target for _, _, _, target, _ in segment.spans] for segment in found] == expected, why


def test_code_gives_its_language_to_the_text_around_it() -> None:
    page = walk(body_of('<pre class="x"><code class="language-python">a</code></pre>'))
    assert page.attributes[1]["class"] == page.named("class")[1] == "x language-python"


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


def assert_consistent(html: str | bytes) -> None:
    """Properties that hold for the walk of any page."""
    page = walk(body_of(html))
    assert page.parents[0] == -1
    assert all(0 <= parent < element for element, parent in enumerate(page.parents) if element)
    assert len(page.tags) == len(page.parents) == len(page.attributes)
    for segment in page.segments:
        solid = page.tags[segment.element] == "pre"
        assert segment.text.strip()
        lines = (" ".join(line.split()) for line in segment.text.split("\n"))
        assert solid or segment.text == "\n".join(filter(None, lines))
        for start, end, kind, _, _ in segment.spans:
            assert 0 <= start <= end <= len(segment.text)
            assert (start == end) == (kind in ("image", "footnote")), kind
    for _, text, _, index, _ in page.links:
        assert text == " ".join(text.split())
        assert 0 <= index <= len(page.segments)


@settings(max_examples=examples(400), deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=40))
def test_a_walk_is_consistent(pieces: list[str]) -> None:
    assert_consistent("".join(pieces))


@settings(max_examples=examples(300), deadline=None)
@given(junk=st.binary(max_size=2_000), pieces=st.lists(st.sampled_from(PIECES), max_size=20))
def test_a_walk_of_random_bytes_is_consistent(junk: bytes, pieces: list[str]) -> None:
    """Bytes of any kind between pieces of markup, as UTF-8: what a page is decoded to before it is parsed."""
    assert_consistent(("".join(pieces) + junk.decode("utf-8", "replace") + "".join(reversed(pieces))).encode())


def test_attributes_by_name() -> None:
    page = walk(body_of("<p id=a>x<p>y<p id>z<p id=b>"))
    assert page.named("id") == {1: "a", 4: "b"}
    assert [page.attribute(element, "id") for element in range(5)] == ["", "a", "", "", "b"]


def test_formulas_in_formulas_are_read_once() -> None:
    html = "<p>a <math alttext=x><mi>y<math alttext=z></math></mi></math> b <math><mi>c</mi></math>"
    assert texts(walk(body_of(html))) == [("p", "a x b c")]


def test_the_source_of_a_formula_is_its_annotation() -> None:
    tex = "<annotation encoding='application/x-tex'>{\\displaystyle a^2}</annotation>"
    html = f"<p>so <math><semantics><mi>a</mi>{tex}</semantics></math> is</p>"
    assert texts(walk(body_of(html))) == [("p", "so a^2 is")]


def test_many_classes_in_preformatted_text_are_gathered_in_linear_time() -> None:
    page = walk(body_of("<pre>" + "<b class=x>y</b>" * 30_000))
    assert page.attributes[1]["class"] == " x" * 30_000


@pytest.mark.parametrize(
    "html",
    [
        "<h1>" + "<div></div>" * 60_000 + "a<sup>1</sup> " * 30_000,
        "<p>a<a href=x>" + "<b> </b>" * 60_000 + "a<sup>1</sup> " * 30_000,
    ],
    ids=["in a heading", "in a link"],
)
def test_many_superscripts_behind_much_space_take_linear_time(html: str) -> None:
    body = body_of(html)
    with cpu_guard(30):
        page = walk(body)
    assert page.segments[0].text.endswith("a¹ a¹")
