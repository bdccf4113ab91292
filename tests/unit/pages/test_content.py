# ruff: noqa: E501 - pages as they come
"""Main content: which texts are boilerplate, which are not, and which must never be lost."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streams.pages.content.main_content import (
    COPY,
    LIMITS,
    NEIGHBOUR_LINKS,
    JudgedPage,
    Kept,
    add_code,
    choose_above_cutoff,
    drop_copies,
    drop_doubtful_ends,
    keep_dropped_prose,
    keep_more_if_little,
    keep_paragraphs_beside,
)
from streams.pages.content.prose_runs import is_article
from streams.pages.content.segment_stats import segment_stats
from streams.pages.normalize import explain, normalize
from streams.pages.parse.head import Head
from streams.pages.parse.page import parse_page
from streams.pages.parse.segments import Removal

URL = "https://site.example/page"
SENTENCE = "This sentence, which is one of several, says what an article says about its subject, at some length. "
TEXT = f"<h1>The subject</h1><p>{SENTENCE * 2}</p><h2>More of it</h2><p>{SENTENCE * 3}</p>"
LONG = f"<h1>The subject</h1>{f'<p>{SENTENCE * 3}</p>' * 6}"
MENU = "<ul><li><a href=/a>Alpha</a><li><a href=/b>Beta</a><li><a href=/c>Gamma</a></ul>"


def texts(page: str, url: str = URL) -> list[str]:
    return [block.text for block in normalize(page, url=url).document.blocks]


@pytest.mark.parametrize("body", [TEXT, LONG], ids=["small", "large"])
@pytest.mark.parametrize(
    "boilerplate",
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
def test_boilerplate_is_dropped_and_the_text_is_kept(body: str, boilerplate: str) -> None:
    page = f"<html><body>{boilerplate}<main><article>{body}</article></main></body></html>"
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


def test_text_outside_of_the_only_article_is_dropped_if_most_is_inside() -> None:
    before = f"<p>Before it. {TEXT}</p>"
    page = f"<body>{{}}<main><article><h1>A</h1>{LONG}{LONG}{LONG}</article></main><p>Behind it. {TEXT}</p>"
    for outside in ("", before):
        texts = [block.text for block in normalize(page.format(outside), url=URL).document.blocks]
        assert texts
        assert not any(text.startswith(("Before", "Behind")) for text in texts)
    removed = dict(explain(page.format(before), URL))
    assert [why for text, why in removed.items() if text.startswith(("Before", "Behind"))]


def judged(words: NDArray[Any], html: str = "<p>x") -> JudgedPage:
    """A page with these numbers of words in its segments."""
    walk = parse_page(html, {}, url=URL).walk
    return JudgedPage(walk, replace(segment_stats(walk, ""), words=words))


ENDS = [
    ("doubtful segments before and after a certain text are dropped", "60 60 99 99 60 65", "2 3"),
    ("likely ones are kept", "75 60 99 99 70 95", "0 2 3 4 5"),
    ("within the text doubtful ones are kept", "99 55 60 99 51", "0 1 2 3"),
    ("if few are certain, the text has no ends", "60 60 99 60 60", "0 1 2 3 4"),
    ("if none is certain, neither", "60 70 80", "0 1 2"),
    ("one certain segment far after the others is an outlier", f"{'99 ' * 60}60 60 99", " ".join(map(str, [*range(60), 62]))),
]  # fmt: skip


@pytest.mark.parametrize(("why", "percent", "expected"), ENDS, ids=[case[0] for case in ENDS])
def test_doubtful_segments_at_the_ends_of_a_text(why: str, percent: str, expected: str) -> None:
    scores = np.array(percent.split(), np.float32) / 100
    words = np.where(scores >= 0.9, 100, 10).astype(np.float32)
    kept = drop_doubtful_ends(scores, judged(words, "<p>x" * len(words)), np.arange(len(scores)))
    assert kept.tolist() == [int(number) for number in expected.split()], why


@pytest.mark.parametrize(
    ("why", "html", "expected"),
    [
        ("a title before the text is kept", "<h1>title</h1><p>menu<p>share<p>text<p>text", "0 3 4"),
        ("so is a section below it", "<h1>title</h1><h2>name</h2><p>name - does that<p>text<p>text", "0 1 2 3 4"),
        ("a section before it is a menu's", "<h2>menu</h2><h1>title</h1><p>share<p>text<p>text", "1 3 4"),
        ("and one without a title, too", "<h2>menu</h2><h2>menu</h2><p>menu<p>text<p>text", "3 4"),
        (
            "what stands between title and section is none",
            "<h1>title</h1><p>share<h2>name</h2><p>text<p>text",
            "0 2 3 4",
        ),
    ],
)
def test_doubtful_beginnings_of_a_text(why: str, html: str, expected: str) -> None:
    scores = np.array([0.55, 0.55, 0.55, 0.99, 0.99], np.float32)
    page = judged(np.array([10, 10, 10, 100, 100], np.float32), html)
    kept = drop_doubtful_ends(scores, page, np.arange(5)).tolist()
    assert kept == [int(number) for number in expected.split()], why


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(1, 90), st.booleans()), max_size=30))
def test_only_doubtful_segments_are_dropped_at_the_ends(rows: list[tuple[float, int, bool]]) -> None:
    scores, words = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.float32)
    before: Kept = np.flatnonzero([row[2] for row in rows])
    after = drop_doubtful_ends(scores, judged(words, "<p>x" * len(words) or "<p>x"), before)
    assert set(after) <= set(before)
    assert all(scores[index] < LIMITS.outside for index in set(before) - set(after))


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(1, 90)), min_size=1, max_size=30))
def test_the_cutoff_has_bounds(rows: list[tuple[float, int]]) -> None:
    scores, words = np.array([row[0] for row in rows], np.float32), np.array([row[1] for row in rows], np.float32)
    kept = set(choose_above_cutoff(scores, words).tolist())
    assert set(np.flatnonzero(scores >= LIMITS.max_cutoff)) <= kept
    assert kept <= set(np.flatnonzero(scores >= LIMITS.min_cutoff))


def test_doubtful_code_is_kept_and_doubtful_text_is_not() -> None:
    page = judged(np.array([10, 10, 10], np.float32), "<p>a<pre>b</pre><pre>c</pre>")
    assert add_code(np.array([0.1, 0.1, 0.01], np.float32), page, np.array([], np.int64)).tolist() == [1]


PROSE = "word " * 45
RUN = "".join(f"<p>{number} {PROSE}" for number in range(6))
LINK = '<a href="/pier">of the pier</a>'
LINKED = "".join(f'<p>{number} {PROSE}<a href="/{number}">{"more " * 30}</a>' for number in range(6))
DROPPED_RUNS = [
    ("a run that dwarfs what is kept is kept as well", f"<div><h2>Videos</h2></div><div>{RUN}</div>", "0 1 2 3 4 5 6"),
    ("of two runs the first one", f"<h2>Videos</h2><div>{RUN}</div><div>{RUN}</div>", "0 1 2 3 4 5 6"),
    ("a short run before a long one is none", f"<h2>A</h2><div>{'<p>' + PROSE}</div><div>{RUN}</div>", "0 2 3 4 5 6 7"),
    (
        "a few links are in articles, too",
        f"<h2>Videos</h2><div>{RUN.replace('<p>', '<p>' + LINK)}</div>",
        "0 1 2 3 4 5 6",
    ),
    ("paragraphs with long links may be teasers", f"<h2>Videos</h2><div>{LINKED}</div>", "0"),
    ("paragraphs of several parents are no run", "<h2>A</h2>" + f"<div><p>{PROSE}</div>" * 6, "0"),
]


@pytest.mark.parametrize(("why", "html", "expected"), DROPPED_RUNS, ids=[case[0] for case in DROPPED_RUNS])
def test_a_run_of_prose_is_not_dropped_as_a_whole(why: str, html: str, expected: str) -> None:
    walk = parse_page(html, {}, url=URL).walk
    page = JudgedPage(walk, segment_stats(walk, ""))
    scores = np.full(len(walk.segments), 0.02, np.float32)
    kept = keep_dropped_prose(scores, page, np.array([0], np.int64))
    assert kept.tolist() == [int(number) for number in expected.split()], why
    assert keep_dropped_prose(scores, replace(page, is_article=False), np.array([0], np.int64)).tolist() == [0]


NOTE = "note " * 30
BESIDE = [
    ("a doubtful paragraph beside most of the text", f"<div>{RUN}<p>{NOTE}</div>", 0.2, "0 1 2 3 4 5 6"),
    ("one that is surely none", f"<div>{RUN}<p>{NOTE}</div>", 0.05, "0 1 2 3 4 5"),
    ("a paragraph elsewhere", f"<div>{RUN}</div><div><p>{NOTE}</div>", 0.2, "0 1 2 3 4 5"),
    ("a short text", f"<div>{RUN}<p>Share this</div>", 0.2, "0 1 2 3 4 5"),
    ("a text of links", f"<div>{RUN}<p><a href=/a>{NOTE}</a></div>", 0.2, "0 1 2 3 4 5"),
]


@pytest.mark.parametrize(("why", "html", "probability", "expected"), BESIDE, ids=[case[0] for case in BESIDE])
def test_paragraphs_beside_an_articles_text(why: str, html: str, probability: float, expected: str) -> None:
    walk = parse_page(html, {}, url=URL).walk
    page = JudgedPage(walk, segment_stats(walk, ""))
    scores, first = np.full(len(walk.segments), probability, np.float32), np.arange(6)
    assert keep_paragraphs_beside(scores, page, first).tolist() == [int(number) for number in expected.split()], why
    assert keep_paragraphs_beside(scores, replace(page, is_article=False), first).tolist() == first.tolist()
    assert keep_paragraphs_beside(scores, page, first[:0]).tolist() == []


def test_a_run_beside_a_longer_article_stays_dropped() -> None:
    walk = parse_page(f"<div>{RUN}{RUN}</div><section>{RUN}</section>", {}, url=URL).walk
    page, kept = JudgedPage(walk, segment_stats(walk, "")), np.arange(12)
    assert keep_dropped_prose(np.zeros(18, np.float32), page, kept).tolist() == kept.tolist()


def test_no_part_of_the_only_long_run_is_dropped() -> None:
    """Headlines that are links stand between the paragraphs, so that some of them look like teasers."""
    walk = parse_page(
        f"<h1>Deals</h1><div>{RUN.replace('<p>', '<h3><a href=/a>Deal</a></h3><p>')}</div>", {}, url=URL
    ).walk
    page, kept = JudgedPage(walk, segment_stats(walk, "")), np.array([0, 2, 4, 6, 8])
    assert keep_dropped_prose(np.zeros(13, np.float32), page, kept).tolist() == [0, 2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((), True),
        (("website", "NewsArticle"), True),
        (("article",), True),
        (("BlogPosting", "Person"), True),
        (("website",), True),
        (("website", "WebPage", "BreadcrumbList", "ListItem", "Organization"), True),
        (("website", "Product", "Brand"), False),
        (("WebPage", "CollectionPage"), False),
    ],
)
def test_a_page_that_declares_another_kind_is_no_article(kinds: tuple[str, ...], expected: bool) -> None:
    assert is_article(Head(kinds=kinds)) is expected


COPIES = [
    ("a block for another width of the screen is a copy", "<p>aa<p>bb<p>cc<p>aa<p>bb<p>cc", "0 1 2"),
    ("so is a third one", "<p>aa<p>bb<p>aa<p>bb<p>aa<p>bb", "0 1"),
    ("so is a quoted part of a post", "<p>aa<p>bb<p>cc<blockquote><p>bb<p>cc</blockquote><p>dd", "0 1 2 5"),
    ("a short text between two copies does not part them", "<p>aa<p>bb<p>cc<p>aa<p>-<p>bb", "0 1 2 4"),
    ("below another heading they are none", "<h2>f</h2><p>aa<p>bb<h2>g</h2><p>aa<p>bb", "0 1 2 3 4 5"),
    ("below the same heading they are", "<h2>f</h2><p>aa<p>bb<h2>f</h2><p>aa<p>bb", "0 1 2"),
    ("a lone repeated text is none", "<p>aa<p>bb<p>cc<p>bb<p>dd", "0 1 2 3 4"),
    ("texts that are repeated in another order are none", "<p>aa<p>bb<p>cc<p>bb<p>aa", "0 1 2 3 4"),
    ("a refrain is none", "<p>aa<p>bb<p>aa<p>bb<p>aa<p>bb<p>aa<p>bb", "0 1 2 3 4 5 6 7"),
    ("code is none", "<pre>aa</pre><pre>bb</pre><pre>aa</pre><pre>bb</pre>", "0 1 2 3"),
    ("table cells are none", "<table><tr><td>aa<td>bb<tr><td>aa<td>bb</table>", "0 1 2 3"),
]


@pytest.mark.parametrize(("why", "html", "expected"), COPIES, ids=[case[0] for case in COPIES])
def test_a_block_that_is_on_the_page_twice_is_kept_once(why: str, html: str, expected: str) -> None:
    walk = parse_page(html, {}, url=URL).walk
    texts = [segment.text for segment in walk.segments]
    page = judged(np.array([1 if text == "-" else 9 for text in texts], np.float32), html)
    kept = drop_copies(np.ones(len(texts), np.float32), page, np.arange(len(texts)))
    assert kept.tolist() == [int(number) for number in expected.split()], why


@given(st.lists(st.sampled_from(["aa", "bb", "cc", "-"]), max_size=30), st.data())
def test_each_kept_text_is_still_there_once_its_copies_are_dropped(parts: list[str], data: st.DataObject) -> None:
    page = judged(np.array([1 if part == "-" else 9 for part in parts], np.float32), "<p>".join(["", *parts]) or "<p>x")
    before: Kept = np.flatnonzero([data.draw(st.booleans()) for _ in parts])
    after = drop_copies(np.ones(len(parts), np.float32), page, before)
    assert set(after) <= set(before)
    assert {parts[index] for index in after} == {parts[index] for index in before}


def test_copies_are_explained() -> None:
    post = "".join(f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(4))
    page = f"<html><body><main><article><h1>The subject</h1><div>{post}</div><div>{post}</div></article></main>"
    assert sum("number 3" in text for text in texts(page)) == 1
    assert [why for text, why in explain(page, URL) if "number 3" in text] == [COPY]


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
    ("headings with summaries", "<div class=c2><h2>More news</h2>{}</div>", "<div class=q><h3><a href=/{1}>{0}</a></h3><p>The report of the day names {1} reasons.</p></div>"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "box", "item"), BOXES, ids=[case[0] for case in BOXES])
@pytest.mark.parametrize("paragraphs", [3, 9], ids=["short", "long"])
def test_other_headlines_after_an_article_are_dropped(why: str, box: str, item: str, paragraphs: int) -> None:
    paragraphs_of = [f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(paragraphs)]
    listed = box.format("".join(item.format(headline, number) for number, headline in enumerate(HEADLINES, 1)))
    page = f"<body><div class=w><div class=s><h1>The subject</h1>{''.join(paragraphs_of)}</div>{listed}</div>"
    found = texts(page)
    assert not [text for text in found if text in HEADLINES], why
    assert len([text for text in found if text.startswith("This sentence")]) == paragraphs


def test_code_after_an_article_is_kept() -> None:
    paragraphs_of = [f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(6)]
    page = f"<main><h1>The subject</h1>{''.join(paragraphs_of)}<pre>x = read()\nprint(x)</pre></main>"
    assert "x = read()\nprint(x)" in texts(page)


MANY = [
    ("200 headlines", 6, 200, "<li><a href=/{1}>{0}, part {1}</a>"),
    ("short news with 60 headlines", 3, 60, "<li><a href=/{1}>{0}, part {1}</a>"),
    ("short news with 40 teasers", 3, 40, "<div class=q><h3><a href=/{1}>{0}, part {1}</a></h3><p>The report of the day names {1} reasons.</p></div>"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "paragraphs", "many", "item"), MANY, ids=[case[0] for case in MANY])
def test_a_certain_text_is_kept_alone_on_a_page_with_much_else(why: str, paragraphs: int, many: int, item: str) -> None:
    paragraphs_of = [f"<p>{SENTENCE * 2}It is number {number} of those." for number in range(paragraphs)]
    listed = "".join(item.format(HEADLINES[number % 6], number) for number in range(many))
    page = f"<main><article><h1>The subject</h1>{''.join(paragraphs_of)}</article><div class=k>{listed}</div></main>"
    found = texts(page)
    assert len([text for text in found if text.startswith("This sentence")]) == paragraphs
    assert not [text for text in found if "part" in text or "reasons" in text], why


LITTLE = [
    ("short news is trusted, however much is around it", "99*70 6*2000", "0"),
    ("so is it beside a doubtful text of less than that", "99*70 60*40 6*2000", "0 1"),
    ("a few certain words are not", "99*20 6*2000", "0 1"),
    ("neither is a text that is mostly doubtful", "99*70 60*90 6*2000 1*90", "0 1 2"),
    ("a text that is a quarter of the page is", "60*90 6*200", "0"),
]


@pytest.mark.parametrize(("why", "segments", "expected"), LITTLE, ids=[case[0] for case in LITTLE])
def test_more_is_kept_if_the_model_finds_little(why: str, segments: str, expected: str) -> None:
    parts = [part.split("*") for part in segments.split()]
    scores = np.array([float(percent) for percent, _ in parts], np.float32) / 100
    page = judged(np.array([float(words) for _, words in parts], np.float32), "<p>x" * len(parts))
    kept = keep_more_if_little(scores, page, np.flatnonzero(scores >= LIMITS.max_cutoff))
    assert kept.tolist() == [int(number) for number in expected.split()], why


CHAPTERS = (
    "<div class=navheader><table><tr><th colspan=2>Chapter 1. Towers<tr><td><a accesskey=p href=x>Prev</a>"
    "<th>Part I<td><a accesskey=h href=y>Home</a></table></div>"
)
SMALL_PAGES = [
    ("a site that is one form", "<form><h1>News</h1><p>All of it stands here.</form><p>Copyright", "News|All of it stands here.|Copyright"),
    ("a paragraph in a form", "<h1>Contact</h1><form><p>Call us at 555 1234.</p><label>Your name</label></form><p>Welcome, we are open.",
     "Contact|Call us at 555 1234.|Welcome, we are open."),
    ("words that begin other names", "<div class=share-price><p>12 dollars</div><div id=ad-hoc><p>b</div><p class=menu-of-the-day>c",
     "12 dollars|b|c"),
    ("but not names of parts", "<p>a b c d<div class=share-buttons>x</div><div class=social_links>y</div><div class='ad'>z", "a b c d"),
    ("an aside is boilerplate", "<p>a b c d e f<aside>x</aside>", "a b c d e f"),
    ("links to the chapters around it, by their class", f"<main>{CHAPTERS}<p>{SENTENCE}</main>", SENTENCE.strip()),
    ("by their types", "<div><p>Next: <a rel=next href=x>The next chapter</a>, Up: <a rel=up href=y>y</a></div><p>a b", "a b"),
    ("but not prose with such a link", f"<p>{SENTENCE}<a rel=next href=x>Next</a>", f"{SENTENCE}Next"),
    ("nor a heading behind such an image", "<a rel=prev href=x><img src=y></a><h1>Title</h1><p>a b c d", "Title|a b c d"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "expected"), SMALL_PAGES)
def test_small_pages_are_judged_by_their_elements(why: str, html: str, expected: str) -> None:
    assert "|".join(block.text for block in normalize(html, url=URL).document.blocks) == expected, why


def test_links_in_boilerplate_are_links_of_the_page() -> None:
    links = normalize(f"<nav>{MENU}</nav><main>{TEXT}<p>See <a href=/own>this</a>.</main>", url=URL).document.links
    assert {(link.url.rpartition("/")[2], link.in_content) for link in links} == {
        ("a", False), ("b", False), ("c", False), ("own", True)
    }  # fmt: skip


def test_removed_texts_are_explained() -> None:
    removed = explain(
        f"<nav>Alpha {MENU}</nav><main>{LONG}</main><div class=share><a href=/x>Tweet this</a></div>", URL
    )
    assert ("Alpha Alpha Beta Gamma", Removal("element", "nav")) in removed
    assert any(text == "Tweet this" and why.kind == "model" for text, why in removed)


@pytest.mark.parametrize(
    ("html", "text", "why"),
    [
        (f"{CHAPTERS}<p>a", "Chapter 1. Towers Prev Part I Home", Removal("element", "div.navheader")),
        ("<p>Next: <a rel=next href=x>Bells</a><p>a", "Next: Bells", NEIGHBOUR_LINKS),
    ],
)
def test_removed_links_to_neighbours_are_explained(html: str, text: str, why: Removal) -> None:
    assert explain(html, URL) == [(text, why)]


def test_footnotes_stand_at_their_marks() -> None:
    page = """<p>A claim<sup><a href="#fn1" id=r1>1</a></sup>, and more<a href="#fn2">[2]</a>. See <a href="#part">below</a>.</p>
    <h2 id=part>Part</h2><ol><li id=fn1>The source. <a href="#r1">↩</a></li><li id=fn2><p>Another.</p></li></ol>"""
    document = normalize(page, url=URL).document
    assert [block.text for block in document.blocks] == ["A claim, and more. See below.", "Part"]
    assert [(span.start, span.target) for span in document.blocks[0].spans] == [(7, "The source."), (17, "Another.")]


def test_footnotes_that_look_like_boilerplate_are_at_their_marks() -> None:
    """A list of short notes below an article is judged as boilerplate, and its marks may hold the page's whole URL."""
    page = f"""<main><article><h1>Returns</h1>{LONG}<p>We refund it<sup><a href="#fn1">1</a></sup>, or exchange
    it<sup><a href="{URL}#fn2">2</a></sup>.</p>{LONG}<section class="footnotes sidebar related"><h2>Footnotes</h2>
    <ol><li id=fn1>Without shipping. <a href="#r">↩</a><li id=fn2>If we can.</ol></section></article></main>"""
    document = normalize(page, url=URL).document
    notes = [span.target for block in document.blocks for span in block.spans if span.kind == "footnote"]
    assert notes == ["Without shipping.", "If we can."]
    assert not {"Footnotes", "Without shipping. ↩", "If we can."} & {block.text for block in document.blocks}


def test_the_heading_of_notes_is_kept_while_a_note_is_below_it() -> None:
    page = f"""{LONG}<p>A claim<a href="#fn1">[1]</a>.<h2>Notes</h2><p id=fn1>The first.
    <p>Another note, which nobody marks in the text, in a sentence of its own.</p>{LONG}"""
    found = texts(page)
    assert "The first." not in found
    at = found.index("Notes")
    assert found[at + 1] == "Another note, which nobody marks in the text, in a sentence of its own."


def test_a_note_without_an_end_is_none() -> None:
    """A note of only signs, or of hundreds of nested elements, is read up to a limit."""
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
    assert why["Solar System"].kind == "quirk"
    assert why["NASA"].kind == "quirk"


@pytest.mark.parametrize("mark", ["¶", "#", "§", " ¶ "])
def test_a_headings_handle_is_no_text(mark: str) -> None:
    page = f"<main><article><h2>More of it<a href='#more'>{mark}</a></h2>{TEXT}</article></main>"
    assert "More of it" in texts(page)


def test_a_link_within_the_page_keeps_its_text() -> None:
    page = f"<main><article><p>{SENTENCE} See <a href='#note'>the note</a> and <a href='/x'>#</a>.</p>{TEXT}</article></main>"
    assert any("See the note and #." in text for text in texts(page))
