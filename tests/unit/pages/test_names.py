# ruff: noqa: E501 - pages as they come
"""A heading stays if anything below it stays, and a name if its description does; posts that are written alike stay."""

from collections.abc import Sequence

import numpy as np
import pytest

from streams.pages.content.main_content import JudgedPage, drop_contents, keep_names, keep_paragraphs_alike
from streams.pages.content.segment_stats import segment_stats
from streams.pages.normalize import normalize
from streams.pages.parse.page import parse_page

URL = "https://site.example/page"
TEXT = "<p>Kept text.</p>"
CASES = [
    ("a heading above kept text", f"<h2>One</h2>{TEXT}", "One"),
    ("and the headings around it", f"<h2>One</h2><h3>Two</h3>{TEXT}", "One Two"),
    ("a heading above dropped text", f"{TEXT}<h2>One</h2><p>dropped", ""),
    ("behind the next heading of its rank it names nothing", f"<h2>One</h2><h2>Two</h2>{TEXT}", "Two"),
    ("a heading alone in its frame", f"<header><div><h2>One</h2></div></header><div>{TEXT}</div>", "One"),
    ("a heading in a frame with other text says nothing about the text behind it", f"<aside><h2>One</h2><p>dropped</aside>{TEXT}", ""),
    ("each title of an index of articles", f"<article><header><h2>One</h2></header>{TEXT}</article><article><h2>Two</h2>{TEXT}</article>", "One Two"),
    ("the page's title is left to the model", f"<h1>Title</h1>{TEXT}<h2>Re: Title</h2>{TEXT}", ""),
    ("the name of a kept description", "<div><div><p>One<div>Kept text.</div></div><div><p>Two<div>dropped text</div></div></div>", "One"),
    ("the question of a kept answer", "<details><summary>One?</summary><p>Kept text.</details><details><summary>Two?</summary>dropped</details>", "One?"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "names"), CASES, ids=[case[0] for case in CASES])
def test_names_of_kept_texts_are_kept(why: str, html: str, names: str) -> None:
    walk = parse_page(html, {}, url=URL).walk
    page = JudgedPage(walk, segment_stats(walk, "Title"))
    texts = [segment.text for segment in walk.segments]
    kept = np.array([index for index, text in enumerate(texts) if text == "Kept text."], np.int64)
    chosen = keep_names(np.full(len(texts), 0.2, np.float32), page, kept)
    assert " ".join(texts[index] for index in chosen if texts[index] != "Kept text.") == names, why


def test_a_doubtful_heading_above_all_text_is_the_name_of_a_site() -> None:
    walk = parse_page(f"<h1>Harbours</h1>{TEXT}", {}, url=URL).walk
    page = JudgedPage(walk, segment_stats(walk, ""))
    assert keep_names(np.array([0.05, 1], np.float32), page, np.array([1])).tolist() == [1]


NAMES = ("Mud", "Bricks", "The ferry")
LINKED = [f"<a href='#{number}'>{name}</a>" for number, name in enumerate(NAMES)]
ITEMS = "".join(f"<li>{link}" for link in LINKED)
SECTIONS = "".join(f"<h2 id={number}>{number + 1}. {name}</h2>{TEXT}" for number, name in enumerate(NAMES))
ANSWERS = f"<dl>{''.join(f'<dt id={number}>{name}<dd>Kept text.' for number, name in enumerate(NAMES))}</dl>"
QUESTIONS = (
    "What is the longest river of Europe?",
    "What is the highest mountain of Europe?",
    "What is the largest lake?",
)
YEARS = "".join(f"<h2 id={number}>{number}</h2>{TEXT}" for number in range(2020, 2023))


def in_items(names: Sequence[object], item: str) -> str:
    return "".join(f"<li>{item.format(number, name)}" for number, name in enumerate(names))


CONTENTS = [
    ("a list of links to the headings", f"<ul>{ITEMS}</ul>", SECTIONS, True),
    ("with numbers", f"<ol><li>1 {LINKED[0]}<li>2 {LINKED[1]}<li>3 {LINKED[2]}</ol>", SECTIONS, True),
    ("with lists inside", f"<ul><li>{LINKED[0]}<ul><li>{LINKED[1]}</ul><li>{LINKED[2]}</ul>", SECTIONS, True),
    ("a nav, with its own title", f"<nav><p>On this page</p><p>{'<p>'.join(LINKED)}</nav>", SECTIONS, True),
    ("a part with the role of one", f"<div role=doc-toc><div>{'</div><div>'.join(LINKED)}</div></div>", SECTIONS, True),
    ("names in elements of their own", f"<ul>{ITEMS}</ul>", "".join(f"<p><a name={number}></a><h2>{name}</h2>{TEXT}" for number, name in enumerate(NAMES)), True),
    ("encoded names", f"<ul>{ITEMS.replace('#', '#%C3%A9')}</ul>", SECTIONS.replace("id=", "id=é"), True),
    ("not routes of a script", f"<ul>{ITEMS.replace('#', '#/post/')}</ul>", SECTIONS, False),
    ("not names of places that the page lacks", f"<ul>{ITEMS}</ul>", SECTIONS.replace("id=", "class="), False),
    ("not questions with their answers", f"<ol>{in_items(QUESTIONS, '<h3 id=q{0}><a href=#q{0}>{1}</a></h3><p>The Volga.</p>')}</ol>", "", False),
    ("not an index of routes", f"<ul>{in_items(NAMES, '<h2><a href=#/post/{0}>{1}</a></h2>')}</ul>", "", False),
    ("not headings that are their own places", f"<ul>{in_items(NAMES, '<h2 id=p{0}><a href=#p{0}>{1}</a></h2>')}</ul>", "", False),
    ("not entries with descriptions", f"<ul>{in_items(NAMES, '<a href=#{0}>All about: {1}</a><p>Sorts.</p>')}</ul>", SECTIONS.replace(". ", ". All about: "), False),
    ("not entries with years", f"<ul>{in_items(range(2011, 2014), '<a href=#202{0}>{1}</a>')}</ul>", YEARS, False),
    ("questions before their answers", f"<ul>{ITEMS}</ul>", ANSWERS, True),
    ("not links to other pages", f"<ul>{ITEMS.replace('#', '/')}</ul>", SECTIONS, False),
    ("not links to other pages with the names of places", f"<ul>{ITEMS.replace('#', '/')}</ul>", f"{SECTIONS}<p>{LINKED[0]} {LINKED[1]} {LINKED[2]}", False),
    ("not places that no heading names", f"<ul>{ITEMS}</ul>", TEXT, False),
    ("not two links", f"<ul><li>{LINKED[0]}<li>{LINKED[1]}</ul>", SECTIONS, False),
    ("not notes with links back", f"<ul>{ITEMS.replace('</a>', '</a> is told in the book of the brick makers.')}</ul>", SECTIONS, False),
    ("not links outside of a list", f"<div>{'</div><div>'.join(LINKED)}</div>", SECTIONS, False),
]  # fmt: skip


def read(html: str, title: str = "") -> tuple[JudgedPage, list[str]]:
    walk = parse_page(f"<main>{html}</main>", {}, url=URL).walk
    return JudgedPage(walk, segment_stats(walk, title)), [segment.text for segment in walk.segments]


def without_contents(html: str, title: str = "") -> list[str]:
    page, texts = read(html, title)
    return [texts[at] for at in drop_contents(np.ones(len(texts), np.float32), page, np.arange(len(texts)))]


@pytest.mark.parametrize(("why", "contents", "rest", "is_dropped"), CONTENTS, ids=[case[0] for case in CONTENTS])
def test_a_table_of_contents_says_names_a_second_time(why: str, contents: str, rest: str, is_dropped: bool) -> None:
    assert without_contents(contents + rest) == read(rest if is_dropped else contents + rest)[1], why


def test_what_no_heading_says_stays_with_the_name_of_the_table() -> None:
    items = f"{ITEMS}<li><a href='#3'>Tides</a>"
    assert without_contents(f"<h2>Contents</h2><ul>{items}</ul>{SECTIONS}<p id=3>Tides.")[:3] == [
        "Contents",
        "Tides",
        "1. Mud",
    ]


def test_a_heading_that_names_only_a_table_of_contents_goes_with_it() -> None:
    assert without_contents(f"<h1>River</h1><h2>Contents</h2><ul>{ITEMS}</ul>{SECTIONS}")[:2] == ["River", "1. Mud"]


@pytest.mark.parametrize(("before", "title"), [("", ""), ("<h1>Site</h1>", "River")], ids=["first", "as the title"])
def test_the_title_of_a_page_is_no_name_of_a_table(before: str, title: str) -> None:
    html = f"{before}<h1>River</h1><ul>{ITEMS}</ul>{SECTIONS.replace('h2', 'h1')}"
    assert "River" in without_contents(html, title)


def test_a_heading_above_a_table_of_contents_and_sections_of_it_stays() -> None:
    sections = SECTIONS.replace("h2", "h3")
    assert without_contents(f"<h2>River</h2><ul>{ITEMS}</ul>{sections}")[:2] == ["River", "1. Mud"]


def test_a_heading_above_a_table_of_contents_and_text_stays() -> None:
    assert without_contents(f"<h2>River</h2><ul>{ITEMS}</ul>{TEXT}{SECTIONS}")[:2] == ["River", "Kept text."]


SECOND = "The mud is sold to the brick makers of the town every second year."
POST = "<div class=a><div class=b>Kept text.</div></div>"
ALIKE = [
    ("a second paragraph of a kept post", f"<div>Kept text. <p>{SECOND}</p></div>", 0.4, True),
    ("not one that the model is sure of", f"<div>Kept text. <p>{SECOND}</p></div>", 0.1, False),
    ("a post in a frame, as most others", f"{POST * 20}<div class=a><div class=b>{SECOND}</div></div>", 0.3, True),
    ("not a signature", f"{POST * 20}<div class=a><div class=c>{SECOND}</div></div>", 0.3, False),
    ("not a paragraph that shares its frame with the others", f"<div class=a>{'<p>Kept text.</p>' * 20}<p>{SECOND}</div>", 0.3, False),
    ("not a row of links", f"<div>Kept text. <p><a href=x>{SECOND}</a></p></div>", 0.4, False),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "probability", "is_kept"), ALIKE, ids=[case[0] for case in ALIKE])
def test_doubtful_posts_that_are_written_as_kept_ones_stay(
    why: str, html: str, probability: float, is_kept: bool
) -> None:
    walk = parse_page(f"<main>{html}</main>", {}, url=URL).walk
    page = JudgedPage(walk, segment_stats(walk, ""))
    texts = [segment.text for segment in walk.segments]
    kept = np.array([index for index, text in enumerate(texts) if text == "Kept text."], np.int64)
    chosen = keep_paragraphs_alike(np.full(len(texts), probability, np.float32), page, kept)
    assert (SECOND in [texts[index] for index in chosen]) is is_kept, why


def test_a_class_of_a_description_makes_it_no_menu() -> None:
    html = "<main><dl><dt>When?<dd class=accordion-navigation><p>Every day.</dl></main>"
    assert [block.text for block in normalize(html, url=URL).document.blocks] == ["When?", "Every day."]
