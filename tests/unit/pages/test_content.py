# ruff: noqa: E501 - pages as they come
"""Main content: what is chrome, what is not, and what must never be lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.content.main_content import OUTSIDE, with_whole_tables, without_those_outside
from streams.pages.content.segment_stats import segment_stats
from streams.pages.normalize import explain, normalize
from streams.pages.parse.page import parse_page

URL = "https://site.example/page"
SENTENCE = "This sentence, which is one of several, says what an article says about its subject, at some length. "
TEXT = f"<h1>The subject</h1><p>{SENTENCE * 2}</p><h2>More of it</h2><p>{SENTENCE * 3}</p>"
LONG = f"<h1>The subject</h1>{f'<p>{SENTENCE * 3}</p>' * 6}"
MENU = "<ul><li><a href=/a>Alpha</a><li><a href=/b>Beta</a><li><a href=/c>Gamma</a></ul>"


def texts(page: str, url: str = URL) -> list[str]:
    return [block.text for block in normalize(page, url=url).document.blocks]


@pytest.mark.parametrize("body", [TEXT, LONG], ids=["small", "large"])
@pytest.mark.parametrize(
    "chrome",
    [
        f"<nav>{MENU}</nav>",
        f"<div role=navigation>{MENU}</div>",
        f"<footer>Alpha Beta Gamma {MENU}</footer>",
        f"<aside>Alpha {MENU}</aside>",
        "<div class='cookie-banner'>Alpha: we use cookies to improve this site. <button>Accept</button></div>",
        "<form><label>Alpha: sign up for our newsletter</label><input><button>Sign up</button></form>",
        "<div class=breadcrumbs><a href=/>Alpha</a> &gt; <a href=/b>Beta</a></div>",
        "<div class='share-buttons'><a href=/s1>Alpha</a> <a href=/s2>Tweet</a></div>",
        f"<div class=related-posts><h3>Alpha, related</h3>{MENU}</div>",
        f"<div id=sidebar><h3>Alpha</h3>{MENU}</div>",
        "<script>Alpha</script><style>Alpha</style><noscript><img src=x>Alpha</noscript><template>Alpha</template>",
    ],
)  # fmt: skip
def test_chrome_goes_and_the_text_stays(body: str, chrome: str) -> None:
    page = f"<html><body>{chrome}<main><article>{body}</article></main></body></html>"
    found = texts(page)
    assert not [text for text in found if "Alpha" in text]
    assert len([text for text in found if text.startswith("This sentence")]) == body.count("<p>")


@pytest.mark.parametrize(
    "page",
    [
        "<p>Hello world",
        "Just text",
        "<nav>Only a menu</nav>",
        "<footer>Only a footer</footer>",
        "<form><p>Only a form</p></form>",
        "<div class=sidebar>Only a sidebar</div>",
        "<body class='has-sidebar no-comments'><p>Text in a body with such classes",
        "<noscript><p>Only for those without scripts</p></noscript>",
    ],
)
def test_a_page_never_loses_all_its_text(page: str) -> None:
    assert texts(page)


def test_the_only_article_that_holds_enough_holds_all() -> None:
    before = f"<p>Before it. {TEXT}</p>"
    page = f"<body>{{}}<main><article><h1>A</h1>{LONG}{LONG}{LONG}</article></main><p>Behind it. {TEXT}</p>"
    for outside in ("", before):
        texts = [block.text for block in normalize(page.format(outside), url=URL).document.blocks]
        assert texts
        assert not any(text.startswith(("Before", "Behind")) for text in texts)
    removed = dict(explain(page.format(before), URL))
    assert [why for text, why in removed.items() if text.startswith(("Before", "Behind"))]


RUNS = [
    ("what is doubtful before a certain text and behind it goes", "60 60 99 99 60 65", "", "2 3"),
    ("what is likely stays", "75 60 99 99 70 95", "", "0 2 3 4 5"),
    ("within the text the doubtful stays", "99 55 60 99 51", "", "0 1 2 3"),
    ("a title stays, wherever it stands", "60 55 99 99 55", "1", "0 2 3"),
    ("so does a heading of what stays, and no other", "60 75 99 99 99 40 80 60 60", "2 0 0 0 0 2 0 3 0", "0 1 2 3 4 5 6"),
    ("and a heading above it", "99 99 60 60 80 60", "0 0 2 3 0 2", "0 1 2 3 4"),
    ("where less is certain nothing has an end", "60 60 99 60 60", "", "0 1 2 3 4"),
    ("where nothing is, either", "60 70 80", "", "0 1 2"),
    ("one text behind others does not make the text longer", f"{'99 ' * 60}60 60 99", "", " ".join(map(str, [*range(60), 62]))),
]  # fmt: skip


def alone(index: int) -> np.ndarray:
    return np.array([index])


@pytest.mark.parametrize(("why", "percent", "ranks", "stays"), RUNS, ids=[case[0] for case in RUNS])
def test_what_is_doubtful_outside_of_a_text(why: str, percent: str, ranks: str, stays: str) -> None:
    likely = np.array(percent.split(), np.float32) / 100
    words = np.where(likely >= 0.9, 100, 10).astype(np.float32)
    padded = np.zeros(len(likely), np.int32)
    padded[: len(ranks.split())] = [int(rank) for rank in ranks.split()]
    found = without_those_outside(likely, words, np.arange(len(likely)), padded, alone)
    assert found.tolist() == [int(number) for number in stays.split()], why


@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(1, 90), st.booleans(), st.integers(0, 6)), max_size=30)
)
def test_only_what_is_doubtful_goes(rows: list[tuple[float, int, bool, int]]) -> None:
    likely, words = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.float32)
    kept, ranks = np.flatnonzero([row[2] for row in rows]), np.array([row[3] for row in rows], np.int32)
    stays = without_those_outside(likely, words, kept, ranks, alone).tolist()
    assert stays == [index for index in kept.tolist() if index in stays]
    assert not [
        index for index in kept.tolist() if index not in stays and (likely[index] >= OUTSIDE or ranks[index] == 1)
    ]


HEADLINES = [
    "Port workers vote on new contract",
    "Why the bridge will open a year late",
    "Three questions about the water bill",
    "A museum moves, stone by stone",
    "Rain ends the longest drought on record",
    "Council turns down second runway",
]
BOXES = [
    ("links in a list", "<div class=c4><ul>{}</ul></div>", "<li><a href=/{1}>{0}</a>"),
    ("articles with pictures", "<section class=x><h3>More</h3>{}</section>", "<article><a href=/{1}><img src=/{1}.jpg></a><div class=t><a href=/{1}>{0}</a></div></article>"),
    ("headings with dates", "<div class=c9>{}</div>", "<div class=r><h4><a href=/{1}>{0}</a></h4><span>May {1}, 2023</span></div>"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "box", "item"), BOXES, ids=[case[0] for case in BOXES])
@pytest.mark.parametrize("paragraphs", [3, 9], ids=["short", "long"])
def test_other_headlines_behind_an_article_go(why: str, box: str, item: str, paragraphs: int) -> None:
    told = [f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(paragraphs)]
    listed = box.format("".join(item.format(headline, number) for number, headline in enumerate(HEADLINES, 1)))
    page = f"<body><div class=w><div class=s><h1>The subject</h1>{''.join(told)}</div>{listed}</div>"
    found = texts(page)
    assert not [text for text in found if text in HEADLINES], why
    assert len([text for text in found if text.startswith("This sentence")]) == paragraphs


TABLES = [
    # (what is in the page, how many of its cells are kept when the second is)
    ("<table><tr><th>Name<th>Deep<tr><td>Leek<td>2 cm<tr><td>Beet<td>3 cm</table>", 6),
    ("<table><tr><td>Name<td>Deep<tr><td>Leek<td>2 cm</table>", 1),  # it may only lay the page out
    ("<table><tr><th>Name<td>Deep<tr><td><table><tr><td>Leek</table></table>", 1),
    ("<p>Name<p>Deep<p>Leek", 1),
]


@pytest.mark.parametrize(("html", "cells"), TABLES)
def test_a_table_of_data_is_kept_whole(html: str, cells: int) -> None:
    page = parse_page(f"<p>Before.</p>{html}<p>Behind.", {}, url=URL).walk
    found = with_whole_tables(segment_stats(page, ""), np.array([2]))
    assert len(found) == cells
    assert not {0, len(page.segments) - 1} & set(found.tolist())
    assert with_whole_tables(segment_stats(page, ""), np.array([0])).tolist() == [0]


def test_a_list_stays_or_goes_as_one() -> None:
    likely = np.array([0.95, 0.95, 0.74, 0.69, 0.68, 0.6, 0.6], np.float32)
    words, ranks = np.array([60, 60, 3, 3, 3, 3, 3], np.float32), np.zeros(7, np.int32)

    def together(index: int) -> np.ndarray:
        return np.array([2, 3, 4] if index < 5 else [5, 6])

    assert without_those_outside(likely, words, np.arange(7), ranks, together).tolist() == [0, 1, 2, 3, 4]


def test_code_behind_an_article_stays() -> None:
    told = [f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(6)]
    page = f"<main><h1>The subject</h1>{''.join(told)}<pre>x = read()\nprint(x)</pre></main>"
    assert "x = read()\nprint(x)" in texts(page)


def test_a_certain_text_is_believed_where_it_is_little_among_much_else() -> None:
    told = [f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(6)]
    listed = "".join(f"<li><a href=/{number}>{HEADLINES[number % 6]}, part {number}</a>" for number in range(200))
    page = f"<main><article><h1>The subject</h1>{''.join(told)}</article><div class=k>{listed}</div></main>"
    found = texts(page)
    assert len([text for text in found if text.startswith("This sentence")]) == 6
    assert not [text for text in found if "part" in text]


SMALL_PAGES = [
    ("a site that is one form", "<form><h1>News</h1><p>All of it stands here.</form><p>Copyright", "News|All of it stands here.|Copyright"),
    ("what a form tells", "<h1>Contact</h1><form><p>Call us at 555 1234.</p><label>Your name</label></form><p>Welcome, we are open.",
     "Contact|Call us at 555 1234.|Welcome, we are open."),
    ("words that begin other names", "<div class=share-price><p>12 dollars</div><div id=ad-hoc><p>b</div><p class=menu-of-the-day>c",
     "12 dollars|b|c"),
    ("but not names of parts", "<p>a b c d<div class=share-buttons>x</div><div class=social_links>y</div><div class='ad'>z", "a b c d"),
    ("an aside is chrome", "<p>a b c d e f<aside>x</aside>", "a b c d e f"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "expected"), SMALL_PAGES)
def test_small_pages_are_judged_by_their_elements(why: str, html: str, expected: str) -> None:
    assert "|".join(block.text for block in normalize(html, url=URL).document.blocks) == expected, why


def test_links_of_chrome_are_still_links_of_the_page() -> None:
    links = normalize(f"<nav>{MENU}</nav><main>{TEXT}<p>See <a href=/own>this</a>.</main>", url=URL).document.links
    assert {(link.url.rpartition("/")[2], link.in_content) for link in links} == {
        ("a", False), ("b", False), ("c", False), ("own", True)
    }  # fmt: skip


def test_what_was_removed_is_explained() -> None:
    removed = explain(
        f"<nav>Alpha {MENU}</nav><main>{LONG}</main><div class=share><a href=/x>Tweet this</a></div>", URL
    )
    assert ("Alpha Alpha Beta Gamma", "element: nav") in removed
    assert any(text == "Tweet this" and why.startswith("model: ") for text, why in removed)


def test_footnotes_stand_at_their_marks() -> None:
    page = """<p>A claim<sup><a href="#fn1" id=r1>1</a></sup>, and more<a href="#fn2">[2]</a>. See <a href="#part">below</a>.</p>
    <h2 id=part>Part</h2><ol><li id=fn1>The source. <a href="#r1">↩</a></li><li id=fn2><p>Another.</p></li></ol>"""
    document = normalize(page, url=URL).document
    assert [block.text for block in document.blocks] == ["A claim, and more. See below.", "Part"]
    assert [(span.start, span.target) for span in document.blocks[0].spans] == [(7, "The source."), (17, "Another.")]


def test_notes_that_look_like_chrome_stand_at_their_marks_too() -> None:
    """A list of short notes below an article is judged chrome, and its marks may name the page's whole address."""
    page = f"""<main><article><h1>Returns</h1>{LONG}<p>We refund it<sup><a href="#fn1">1</a></sup>, or exchange
    it<sup><a href="{URL}#fn2">2</a></sup>.</p>{LONG}<section class="footnotes sidebar related"><h2>Footnotes</h2>
    <ol><li id=fn1>Without shipping. <a href="#r">↩</a><li id=fn2>If we can.</ol></section></article></main>"""
    document = normalize(page, url=URL).document
    notes = [span.target for block in document.blocks for span in block.spans if span.kind == "footnote"]
    assert notes == ["Without shipping.", "If we can."]
    assert not {"Footnotes", "Without shipping. ↩", "If we can."} & {block.text for block in document.blocks}


def test_the_title_of_notes_stays_while_a_note_is_below_it() -> None:
    page = f"""{LONG}<p>A claim<a href="#fn1">[1]</a>.<h2>Notes</h2><p id=fn1>The first.
    <p>Another note, which nobody marks in the text, in a sentence of its own.</p>"""
    found = texts(page)
    assert "The first." not in found
    assert found[-2:] == ["Notes", "Another note, which nobody marks in the text, in a sentence of its own."]


def test_a_note_without_an_end_is_none() -> None:
    """Of nothing but signs, or of hundreds that stand in each other: what is read of it has a limit."""
    signs = f'{LONG}<p>x<a href="#fn1">[1]</a></p>{LONG}<p id=fn1>{"^" * 50_000}x</p>'
    marks = "".join(f'<p>x<a href="#fn{number}">[1]</a></p>' for number in range(500))
    nested = "".join(f"<div id=fn{number}>" for number in range(500)) + "<p>y</p>" * 5_000
    for page in (signs, LONG + marks + nested):
        spans = [span for block in normalize(page, url=URL).document.blocks for span in block.spans]
        assert not [span for span in spans if span.kind == "footnote"]


def test_formulas_are_read_from_what_draws_them() -> None:
    page = r"""<p>KaTeX <span class=katex><span class=katex-mathml><math><semantics><mi>x</mi>
    <annotation encoding="application/x-tex">x_1</annotation></semantics></math></span><span class=katex-html>x1</span></span>,
    MathJax <span class=MathJax_Preview>y</span><script type="math/tex">y^2</script>.</p>"""
    (block,) = normalize(page, url=URL).document.blocks
    assert block.text == "KaTeX x_1, MathJax y^2."
    assert [block.text[span.start : span.end] for span in block.spans if span.kind == "math"] == ["x_1", "y^2"]


WIKIPEDIA = """<html lang=en><title>Moon - Wikipedia</title><body><div id=mw-navigation>menu</div><main id=content>
<h1 id=firstHeading>Moon</h1><div id=siteSub>From Wikipedia, the free encyclopedia</div>
<div class=mw-parser-output><div role=note class=hatnote>For other uses, see Moon (disambiguation).</div>
<table class=infobox><tr><th>Mass</th><td>7.342e22 kg</td></tr></table>
<figure typeof="mw:File/Thumb"><img src=//upload.example/m.jpg><figcaption>The Moon</figcaption></figure>
<p>The <b>Moon</b> is Earth's only natural satellite.<sup class=reference><a href="#cite_note-1">[1]</a></sup> Its mass is
<span class=mwe-math-element><span><math alttext="{\\displaystyle m}"><semantics><mi>m</mi>
<annotation encoding="application/x-tex">{\\displaystyle m}</annotation></semantics></math></span><img class=mwe-math-fallback-image-inline alt="{\\displaystyle m}" src=m.svg></span>.</p>
<div class=mw-heading><h2 id=Orbit>Orbit</h2><span class=mw-editsection>[<a href=/edit>edit</a>]</span></div><p>It orbits.</p>
<div class=mw-heading><h3>Phases</h3></div><p>It has phases.</p>
<div class=mw-heading><h2>See also</h2></div><ul><li><a href=/wiki/Moons>Moons</a></li></ul>
<div class=mw-heading><h2>References</h2></div><div class=reflist><ol><li id=cite_note-1>A book.</li></ol></div>
<div class=mw-heading><h2>External links</h2></div><ul><li><a href=https://nasa.example/>NASA</a></li></ul>
<div class=navbox>Solar System</div><div class=printfooter>Retrieved from</div></div><div class=catlinks>Categories</div></main>
<footer>Privacy policy</footer>"""


def test_wikipedia_is_its_article_alone() -> None:
    normalized = normalize(WIKIPEDIA, url="https://en.wikipedia.org/wiki/Moon").document
    assert normalized.title == "Moon"
    assert [block.text for block in normalized.blocks] == [
        "Moon", "Mass", "7.342e22 kg", "The Moon is Earth's only natural satellite. Its mass is m.",
        "Orbit", "It orbits.", "Phases", "It has phases.",
    ]  # fmt: skip
    assert ("math", "m") in [
        (span.kind, normalized.blocks[3].text[span.start : span.end]) for span in normalized.blocks[3].spans
    ]
    assert "https://en.wikipedia.org/wiki/Moons" in [link.url for link in normalized.links]
    why = dict(explain(WIKIPEDIA, "https://en.wikipedia.org/wiki/Moon"))
    assert "quirk" in why["Solar System"]
    assert "quirk" in why["NASA"]


@pytest.mark.parametrize("mark", ["¶", "#", "§", " ¶ "])
def test_a_headings_handle_is_no_text(mark: str) -> None:
    page = f"<main><article><h2>More of it<a href='#more'>{mark}</a></h2>{TEXT}</article></main>"
    assert "More of it" in texts(page)


def test_a_link_within_the_page_keeps_its_text() -> None:
    page = f"<main><article><p>{SENTENCE} See <a href='#note'>the note</a> and <a href='/x'>#</a>.</p>{TEXT}</article></main>"
    assert any("See the note and #." in text for text in texts(page))
