# ruff: noqa: E501 - pages as they come
"""The facts of a page: each from its best source, and what is not one."""

from typing import Any

import pytest

from streams.pages.metadata.titles import remove_site_name
from streams.pages.normalize import normalize
from streams.pages.parse.head import last_day
from streams.pages.parse.robots_directives import directives
from streams.pages.text.dates import iso_date

URL = "https://site.example/news/page"


def facts_of(head: str, body: str = "<p>Text.") -> dict[str, Any]:
    headers = {"date": "Sat, 21 Nov 2026 12:00:00 GMT"}
    return normalize(f"<html><head>{head}</head><body>{body}", url=URL, headers=headers).document.facts


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2025-03-01", "2025-03-01"),
        ("2025-03-01T10:20:30Z", "2025-03-01T10:20:30+00:00"),
        ("2025-03-01T10:20:30.123+0200", "2025-03-01T10:20:30+02:00"),
        ("2025-03-01 10:20", "2025-03-01T10:20:00"),
        ("March 1, 2025", "2025-03-01"),
        ("Published Sept. 4th, 2025 by A", "2025-09-04"),
        ("1 März 2025", "2025-03-01"),
        ("le 1 février 2025", "2025-02-01"),
        ("Sat, 01 Mar 2025 10:20:30 +0100", "2025-03-01T10:20:30+01:00"),
        ("31/12/2025", "2025-12-31"),
        ("12/31/2025", "2025-12-31"),
        ("31.12.2025", "2025-12-31"),
        ("20250301", "2025-03-01"),
        ("1740823200", "2025-03-01T10:00:00+00:00"),
        ("2025年3月1日", "2025-03-01"),
        ("2025-02-30", ""),
        ("0001-01-01", ""),
        ("version 10.20.30", ""),
        ("", ""),
    ],
)
def test_dates(text: str, date: str) -> None:
    assert iso_date(text) == date


@pytest.mark.parametrize(
    ("title", "site", "expected"),
    [
        ("Moon landing | The Daily", "The Daily", "Moon landing"),
        ("The Daily - Moon landing", "The Daily", "Moon landing"),
        ("Moon landing: a history of it all - Daily", "", "Moon landing: a history of it all"),
        ("Moon-landing", "", "Moon-landing"),
        ("A | B | C site", "C site", "A | B"),
        ("北京天气预报_新浪网", "", "北京天气预报"),
        ("東京の天気｜NHKニュース", "", "東京の天気"),
        ("東京の天気-NHKニュース", "NHKニュース", "東京の天気"),
        ("天気：東京", "", "天気：東京"),
        ("Moon landing_The Daily", "The Daily", "Moon landing"),
        ("Moon landing｜The Daily", "", "Moon landing"),
        ("snake_case_name", "", "snake_case_name"),
        ("snake_case_name", "Name", "snake_case_name"),
        ("The Daily News: Moon landing", "The Daily News", "Moon landing"),
        ("Moon landing: The Daily News", "The Daily News", "Moon landing"),
        ("Moon landing: The Daily News", "", "Moon landing: The Daily News"),
        ("Daily: Moon landing - Daily", "Daily", "Daily: Moon landing"),
        ("Pre-Daily", "Daily", "Pre-Daily"),
        ("The Daily", "The Daily", "The Daily"),
        ("The Daily:", "The Daily", "The Daily:"),
        ("", "Site", ""),
    ],
)
def test_titles_lose_the_name_of_their_site(title: str, site: str, expected: str) -> None:
    assert remove_site_name(title, site) == expected


TITLES = [
    ("a heading is a part", "Errors | Tide v2 Documentation", "<h1>Errors</h1><p>Text.", "Errors"),
    ("two parts", "Tides - North - Elmsworth Gazette", "<h1>Tides: North</h1><p>Text.", "Tides: North"),
    ("the site's name is an h1 before the page's heading", "Errors | Tide v2 documentation",
     "<header><h1>Tide v2 Documentation</h1></header><h2>Errors</h2><p>Text.", "Errors"),
    ("the name of a book, in its header and on each page", "What is a tide? - The Book of Tides",
     "<h1>The Book of Tides</h1><main><h1>What Is a Tide?</h1><p>Text.</main>", "What Is a Tide?"),
    ("a link to the home page names the site", "Quickstart — Tide Documentation (3.1.x) of All Ports",
     "<a href='/'>Tide Documentation (3.1.x) of All Ports</a><p>Text.", "Quickstart"),
    ("a link to the contents above, too", "Quickstart — Tide Documentation (3.1.x) of All Ports",
     "<a href='../index.html'>Tide Documentation (3.1.x) of All Ports</a><p>Text.", "Quickstart"),
    ("a link elsewhere doesn't", "Quickstart — Tide Documentation (3.1.x) of All Ports",
     "<a href='/ports.html'>Tide Documentation (3.1.x) of All Ports</a><p>Text.",
     "Quickstart — Tide Documentation (3.1.x) of All Ports"),
    ("the host's name", "Coupons of the Harbour | Port Elmsworth", "<p>Text.", "Coupons of the Harbour"),
    ("several names", "Software | Port News | Port Elmsworth", "<h1>Software</h1><p>Text.", "Software"),
    ("a last part that no site is called", "Talk with the harbour master - part two", "<p>Text.",
     "Talk with the harbour master - part two"),
    ("several h1: each is the title of a part", "Data.Tide.Encoding", "<h1>Encoding tables</h1><p>A.<h1>Encoding</h1><p>B.",
     "Data.Tide.Encoding"),
    ("Javadoc: the manual's name in brackets", "TideUtils (Harbour Lang 3.12.0 API)",
     "<main><h1>Class TideUtils</h1><p>Text.</main>", "Class TideUtils"),
    ("Texinfo: and a number before the heading", "Data Retrieval (Tide Manual (version 7.3.0))",
     "<h3>33.4.2 Data Retrieval</h3><p>Text.", "Data Retrieval"),
    ("brackets of the heading, too", "Mercury (planet) - Sky News", "<h1>Mercury (planet)</h1><p>Text.", "Mercury (planet)"),
    ("brackets that no heading explains", "Sorting (and searching)", "<h2>Introduction</h2><p>Text.",
     "Sorting (and searching)"),
    ("gi-docgen: a style sheet draws the marks between the words", "Tide.Port.set_name",
     "<h1>Tide<span></span>Port<span></span>set_name</h1><p>Text.", "Tide.Port.set_name"),
    ("a heading in other marks is the title as readers see it", "Tides: North | Port Elmsworth",
     "<h1>Tides (North)</h1><p>Text.", "Tides (North)"),
    ("a permalink's mark", "Zones — tide 1.0", "<section id=x><h1>Zones<a href='#x'>\uf0c1</a></h1></section>", "Zones"),
    ("a separator alone before the name", "| Port Elmsworth", "<h1>Gadgets</h1><p>Text.", "Gadgets"),
    ("no title and no heading: the file's name", "", "<p>Text.", "tide tables"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "title", "body", "expected"), TITLES)
def test_the_title_is_the_pages_and_not_the_sites(why: str, title: str, body: str, expected: str) -> None:
    page = f"<title>{title}</title><body>{body}"
    url = "https://www.portelmsworth.example/manual/api/tide_tables.html"
    assert normalize(page, url=url).document.title == expected, why


def test_the_title_of_a_home_page_has_the_name_of_its_site() -> None:
    page = "<title>Port - Tides for all</title><a href='/'>Port</a><p>Text."
    assert normalize(page, url="https://port.example/").document.title == "Port - Tides for all"


@pytest.mark.parametrize("control", ["\x1b[31m", "\x9b31m", "\x07", "\u202e", "\n\t"])
def test_titles_and_descriptions_are_plain_lines(control: str) -> None:
    page = f"<title>A{control} log</title><meta name=description content='It{control} is fast'><p>Text."
    document = normalize(page, url="https://a.example/").document
    assert not set(control) & set(document.title + document.description) - set("[31m")
    assert document.title.startswith("A")
    assert document.description.startswith("It")


def test_a_heading_is_the_title_with_raised_digits_too() -> None:
    page = "<title>CO2 | Climate of today</title><h1>CO<sub>2</sub></h1><p>Text."
    assert normalize(page, url=URL).document.title == "CO₂"


JSON_LD = """<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
  {"@type": "NewsArticle", "headline": "A &amp; B", "author": {"@id": "#a"}, "datePublished": "2025-03-01T10:00:00+01:00",
   "dateModified": "2025-03-02", "articleBody": "not kept", "image": ["/i.png"],},
  {"@type": "Person", "@id": "#a", "name": "Ada Autor"},
  {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "position": 1, "name": "Home"},
   {"@type": "ListItem", "position": 2, "item": {"@id": "/n", "name": "News"}}]}]}</script>"""


def test_json_ld_is_typed_and_its_references_are_put_in_place() -> None:
    facts = facts_of(JSON_LD)
    assert (facts["author"], facts["published"], facts["modified"]) == (
        "Ada Autor",
        "2025-03-01T10:00:00+01:00",
        "2025-03-02",
    )
    assert facts["breadcrumbs"] == ["Home", "News"]
    assert facts["image"] == "https://site.example/i.png"
    assert facts["type"] == "NewsArticle"
    assert facts["structured"][0]["headline"] == "A & B"
    assert "articleBody" not in facts["structured"][0]


def test_microdata_and_rdfa_are_typed_too() -> None:
    body = """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop=name>Lamp</h1>
    <div itemprop=offers itemscope itemtype=https://schema.org/Offer><meta itemprop=price content=9.50></div></div>
    <div vocab=https://schema.org/ typeof=Recipe><span property=name>Soup</span></div>"""
    assert facts_of("", body)["structured"] == [
        {"type": "Product", "name": "Lamp", "offers": {"type": "Offer", "price": "9.50"}},
        {"type": "Recipe", "name": "Soup"},
    ]


def test_meta_elements_links_and_cards() -> None:
    facts = facts_of(
        """<meta property=og:site_name content="The Site"><meta property=og:image content=/og.png>
        <meta name=twitter:card content=summary><meta name=author content="By Ada Autor">
        <link rel=canonical href=/canonical><link rel=license href=https://licence.example/by>
        <link rel=alternate type=application/rss+xml href=/feed>
        <meta property=article:published_time content=2025-01-02>"""
    )
    assert facts == {
        "author": "Ada Autor",
        "published": "2025-01-02",
        "site_name": "The Site",
        "image": "https://site.example/og.png",
        "canonical": "https://site.example/canonical",
        "feeds": ["https://site.example/feed"],
        "licence": "https://licence.example/by",
        "opengraph": {"site_name": "The Site", "image": "/og.png", "article:published_time": "2025-01-02"},
        "twitter": {"card": "summary"},
    }


@pytest.mark.parametrize(
    ("body", "author"),
    [
        ("<h1>T</h1><p>By <a href=/x>Ada Autor</a> on March 1, 2025</p><p>Text", "Ada Autor"),
        ("<h1>T</h1><div class=byline>Ada Autor</div><p>Text", "Ada Autor"),
        ("<h1>T</h1><p>Written by</p><p>Ada Autor</p><p>Text", "Ada Autor"),
        ("<h1>T</h1><a href=/authors/ada>Ada Autor</a><p>Text", "Ada Autor"),
        ("<h1>T</h1><a href=/users/ada-autor.html>Ada</a><p>Text", "Ada"),
        ("<h1>T</h1><a href=/users/people.html>People</a><p>Text", None),
        ("<h1>T</h1><a rel=author href=/ada>Ada Autor</a><p>Text", "Ada Autor"),
        ("<h1>T</h1><p>Bythesea is a town.</p>", None),
        ("<h1>T</h1><p>By Martin in der Au</p><p>Text", "Martin in der Au"),
        ("<h1>T</h1><p>By Jan in 't Veld in Utrecht</p><p>Text", "Jan in 't Veld"),
        ("<h1>T</h1><p>By Ada Autor in Bern</p><p>Text", "Ada Autor"),
        ("<h1>T</h1><ul><li>By Ada Autor<li>Bern</ul><p>Text", "Ada Autor"),
        ("<h1>T</h1><ul><li>By <a href=/ada>Ada</a><li>Bern</ul><p>Text", "Ada"),
        ("<h1>T</h1><ul><li>Alphabetic<li><span>By inheritance</span></ul><p>Text", None),
        ("<h1>T</h1><p>Text</p><a href=https://creativecommons.org/licenses/by/4.0/>CC BY</a>", None),
        (
            "<h1>T</h1><p>Text</p><a rel='license author' href=https://creativecommons.org/licenses/by/4.0/>CC BY</a>",
            None,
        ),
        ("<h1>T</h1><div class=author>https://site.example</div><p>Text", None),
        # A bibliography: the name is a part of a reference, and no byline.
        (
            "<h1>T</h1><p>[1] <em>A Guide to the Standard</em>. Fourth edition. <i class=author>Ada Autor</i>.<p>Text",
            None,
        ),
        ("<h1>T</h1>" + "<p>Text. " * 30 + "<p>[1] A Guide to the Standard, <i class=author>Ada Autor</i>", None),
        ("<h1>T</h1>" + "<p>Text. " * 30 + "<p>A text about the sea by <i class=author>Ada Autor</i>", "Ada Autor"),
        ("<h1>T</h1>" + "<p>Text. " * 30 + "<p>Posted on 3 May 2024 | <i class=author>Ada Autor</i>", "Ada Autor"),
        # A person whom the text names: SQLite's page about reading blobs.
        (
            "<h1>T</h1><p><a href=https://research.example/people/gray/>Jim Gray</a> and others studied the read "
            "performance of BLOBs versus file I/O for Microsoft SQL Server and found that it was faster.</p>",
            None,
        ),
        ("<h1>T</h1><p>We thank <a href=https://research.example/people/gray/>Jim Gray</a>.</p><p>Text", None),
        ("<h1>T</h1><p>By <a href=/people/ada>Ada Autor</a>, Senior Editor, 3 March</p><p>Text", "Ada Autor"),
        ("<h1>T</h1><p><a href=/people/ada>Ada Autor</a> · 3 March · 5 minutes</p><p>Text", "Ada Autor"),
        # A link that does not begin the byline is no name.
        ("<h1>T</h1><div class=author>Ada Autor | <a href=/terms>User Agreement</a></div><p>Text", "Ada Autor"),
        ("<h1>Books</h1><p>Author: Ada Autor<br>Publisher: <a href=https://shop.example/1>Shop</a></p><p>Text", None),
        ("<h1>Pie</h1><p>Recipe by <a href=/people/ada>Ada Autor</a> for four</p><p>Text", "Ada Autor"),
    ],
)
def test_bylines(body: str, author: str | None) -> None:
    assert facts_of("", body).get("author") == author


REVIEWED = """<div itemscope itemtype=https://schema.org/Product><h1 itemprop=name>Lamp</h1>
<div itemprop=review itemscope itemtype=https://schema.org/Review><span itemprop=author class=author>Joe</span>
<meta itemprop=datePublished content=2012-02-03><p class=date>2012-02-03</p></div></div>"""
LD = '<script type="application/ld+json">%s</script>'


@pytest.mark.parametrize(
    ("why", "head", "body"),
    [
        ("microdata", "", REVIEWED),
        ("a review beside what it is about", LD % """[{"@type": "Product", "name": "Lamp"},
         {"@type": "Review", "author": "Joe", "datePublished": "2012-02-03"}]""", "<p>Text."),
        ("and as the page shows it", LD % """{"@type": "Product", "name": "Lamp", "review": [{"@type": "Review", "author": "Joe",
         "datePublished": "2012-02-03"}]}""", "<h1>Lamp</h1><p>Text.<p class=author>Joe<p class=author>Ann<p>2012-02-03"),
        ("one of more reviews than are kept", LD % ('{"@type": "Product", "name": "Lamp", "review": [' + '{"@type": "Review"}, ' * 9
         + '{"@type": "Review", "author": {"name": "Joe"}, "datePublished": "2012-02-03"}]}'),
         "<h1>Lamp</h1><p>Text.<p class=author>Joe<p>2012-02-03"),
        ("a comment", LD % """{"@type": "Article", "headline": "Lamp", "comment": {"@type": "Comment", "author": "Joe",
         "datePublished": "2012-02-03"}}""", "<h1>Lamp</h1><p>Text.<p class=author>Joe<p>2012-02-03"),
    ],
)  # fmt: skip
def test_who_reviewed_a_page_did_not_write_it(why: str, head: str, body: str) -> None:
    facts = facts_of(head, body)
    assert (facts.get("author"), facts.get("published"), facts["type"] != "Review") == (None, None, True), why


def test_an_editors_review_of_a_product_is_the_editors() -> None:
    """Unlike those that stand in microdata, meta elements of the head speak of the page."""
    metas = """<meta name=author content="Jane Doe"><meta property=article:published_time content=2024-03-05>"""
    review = """{"@type": "Product", "name": "Cam", "review": {"@type": "Review", "author": {"name": "Jane Doe"},
     "datePublished": "2024-03-05"}}"""
    facts = facts_of(metas + LD % review, "<article><h1>The cam</h1><p class=byline>By Jane Doe<p>Text.</article>")
    assert (facts["author"], facts["published"]) == ("Jane Doe", "2024-03-05")


@pytest.mark.parametrize(
    ("why", "headers", "day"),
    [
        ("the day after: somewhere it is that day", {"date": "Sat, 21 Nov 2026 12:00:00 GMT"}, "2026-11-22"),
        ("nothing is said", {}, ""),
        ("nothing that is a date", {"date": "today"}, ""),
        ("a clock that was never set", {"date": "Thu, 01 Jan 1970 00:00:05 GMT"}, ""),
    ],
)
def test_the_last_day_on_which_a_page_was_published(why: str, headers: dict[str, str], day: str) -> None:
    assert last_day(headers) == day, why


def test_a_page_that_is_a_review_has_its_author() -> None:
    review = '{"@type": "Review", "author": {"@type": "Person", "name": "Joe"}, "datePublished": "2012-02-03"}'
    facts = facts_of(LD % f'[{{"@type": "WebSite", "name": "S"}}, {review}]')
    assert (facts["author"], facts["published"], facts["type"]) == ("Joe", "2012-02-03", "Review")


def test_who_began_a_thread_wrote_it_though_the_markup_says_comment() -> None:
    comments = ", ".join(f'{{"@type": "Comment", "author": "{name}"}}' for name in ("Ada", "Joe"))
    assert facts_of(LD % f"[{comments}]", "<h1>T</h1><p class=author>Ada<p>Text.<p class=author>Joe")["author"] == "Ada"


@pytest.mark.parametrize(
    ("why", "body", "published", "modified"),
    [
        ("not a date in a menu", "<nav><time datetime=2020-01-01>x</time></nav><h1>T</h1><p>Published on March 1, 2024<p>Text", "2024-03-01", None),
        ("nor in the footer", "<h1>T</h1><p>Published on March 1, 2024<p>Text<footer><time datetime=2020-01-01>x</time></footer>", "2024-03-01", None),
        ("nor in a comment", "<h1>T</h1><p>March 1, 2024<p>Text<div class=comment><time datetime=2020-01-01>x</time></div>", "2024-03-01", None),
        ("nor of an event", "<h1>T</h1><p>March 1, 2024<p>Text<div class=event-list><time datetime=2020-01-01>x</time></div>", "2024-03-01", None),
        ("nor when it begins", "<h1>T</h1><p>March 1, 2024<p>Text <time itemprop=startDate datetime=2020-01-01>x</time>", "2024-03-01", None),
        ("nor one to come", "<h1>T</h1><p>March 1, 2024<p>On <time datetime=2093-01-01>x</time>", "2024-03-01", None),
        ("nor a line with one", "<h1>T</h1><p>January 1, 2093<p>March 1, 2024<p>Text", "2024-03-01", None),
        ("an update", "<h1>T</h1><p>Last updated <time datetime=2024-05-02>x</time><p>Text", None, "2024-05-02"),
        ("by its class", "<h1>T</h1><time class=updated datetime=2024-05-02>x</time><p>Text", None, "2024-05-02"),
        ("WordPress says both", "<h1>T</h1><time class='published updated' datetime=2024-05-02>x</time><p>Text", "2024-05-02", None),
        ("a word in an element", "<h1>T</h1><p><b>Updated:</b> <span><time datetime=2024-05-02>x</time></span><p>Text", None, "2024-05-02"),
        ("first the one, then the other", "<h1>T</h1><p>Updated <time datetime=2024-05-02>x</time> Posted <time datetime=2024-03-01>x</time><p>Text", "2024-03-01", "2024-05-02"),
        ("a line that says so", "<h1>T</h1><p>Updated on May 2, 2024<p>Text", None, "2024-05-02"),
        ("both in a line", "<h1>T</h1><p>Published March 1, 2024 | Updated May 2, 2024<p>Text", "2024-03-01", "2024-05-02"),
        ("in a line each", "<h1>T</h1><p>Published March 1, 2024<p>Updated May 2, 2024<p>Text", "2024-03-01", "2024-05-02"),
        ("not somewhere below", "<h1>T</h1><p>Published March 1, 2024" + "<p>Text" * 5 + "<p>Updated May 2, 2024", "2024-03-01", None),
        ("times beside each other", "<h1>T</h1><p>By Ada <time datetime=2024-03-01>x</time> (updated <time datetime=2024-05-02>x</time>)<p>Text", "2024-03-01", "2024-05-02"),
        ("the other way around", "<h1>T</h1><p>Updated: May 2, 2024. Published: March 1, 2024<p>Text", "2024-03-01", "2024-05-02"),
        ("in German", "<h1>T</h1><p>Aktualisiert am 2. Mai 2024<p>Text", None, "2024-05-02"),
        ("of a reference", "<h1>T</h1>" + "<p>Text</p>" * 30 + "<p>[1] " + "word " * 12 + "<i class=pubdate>2 May 1998</i>",
         None, None),
        ("a label in a block of its own", "<h1>T</h1><dl><dt>Last updated:</dt><dd>2 May 2024</dd></dl><p>Text", None, "2024-05-02"),
        ("a listing", "<h1>T</h1><pre>INSERT INTO t VALUES ('x', '1994-11-29');</pre><p>Text", None, None),
        ("a sentence about a day", "<h1>T</h1><p>The festival of the harbour takes place on 12 May 2019.<p>Text", None, None),
        ("a sentence with a label", "<h1>T</h1><p>This page of the harbour was last updated on 12 May 2019.<p>Text", None, "2019-05-12"),
        ("the day of an event, by its class", "<h1>T</h1><p class=event-date>12 May 2019<p>Text", None, None),
        ("of a mail archive", "<h1>T</h1><p><i>Tue Mar  5 14:22:31 CET 2013</i><p>Text", "2013-03-05T14:22:31+01:00", None),
        ("named for a date", "<h1>T</h1>" + "<p>Text</p>" * 30 + "<p class=date>Updated May 2, 2024", None, "2024-05-02"),
    ],
)  # fmt: skip
def test_visible_dates(why: str, body: str, published: str | None, modified: str | None) -> None:
    facts = facts_of("", body)
    assert (facts.get("published"), facts.get("modified")) == (published, modified), why


@pytest.mark.parametrize(
    ("why", "head", "published", "modified"),
    [
        ("an announced date", '<meta property=article:published_time content=2093-01-01><meta name=date content=2024-03-01>', "2024-03-01", None),
        ("in structured data", LD % '{"@type": "Article", "datePublished": "2093-01-01", "dateCreated": "2024-03-01"}', "2024-03-01", None),
        ("when an event is", LD % '{"@type": "Event", "startDate": "2024-06-01"}' + "<meta itemprop=date content=2024-06-01>", None, None),
        ("when an event is, as people write it", LD % '{"@type": "Event", "startDate": "2024-06-01T20:00"}' + "<h1>T</h1><p>June 1, 2024<p>Text", None, None),
        ("of the film, not of the product", LD % '[{"@type": "Product"}, {"@type": "VideoObject", "uploadDate": "2024-03-01"}]', None, None),
        ("of a film", LD % '[{"@type": "WebPage"}, {"@type": "VideoObject", "uploadDate": "2024-03-01"}]', "2024-03-01", None),
    ],
)  # fmt: skip
def test_dates_of_metadata(why: str, head: str, published: str | None, modified: str | None) -> None:
    facts = facts_of(head)
    assert (facts.get("published"), facts.get("modified")) == (published, modified), why


def test_a_visible_update_beside_a_date_in_the_metadata() -> None:
    facts = facts_of("<meta name=date content=2024-03-01>", "<h1>T</h1><p>Updated on May 2, 2024<p>Text")
    assert (facts["published"], facts["modified"]) == ("2024-03-01", "2024-05-02")


@pytest.mark.parametrize(
    ("why", "head", "body", "expected"),
    [
        ("a link in the footer", "", "<p>Text<footer><a href=https://creativecommons.org/licenses/by/4.0/>CC BY</a></footer>",
         "https://creativecommons.org/licenses/by/4.0/"),
        ("to the public domain", "", "<p>Text <a href=http://www.creativecommons.org/publicdomain/zero/1.0/>0</a>",
         "http://www.creativecommons.org/publicdomain/zero/1.0/"),
        ("of the page rather than of a picture", "", "<h1>T</h1><p>Photo: <a href=https://creativecommons.org/licenses/by/2.0/>A</a>, a text of "
         "some length.<footer><a href=https://creativecommons.org/licenses/by-sa/4.0/>CC</a></footer>",
         "https://creativecommons.org/licenses/by-sa/4.0/"),
        ("what is said to be one", "", "<p><a href=https://creativecommons.org/licenses/by/2.0/>A</a> <a rel=license href=/own>B</a>",
         "https://site.example/own"),
        ("structured data", LD % '{"@type": "Article", "license": "/own"}', "<p><a href=https://creativecommons.org/licenses/by/2.0/>A</a>",
         "https://site.example/own"),
        ("not that of a picture", LD % '{"@type": "ImageObject", "license": "/own"}', "<p>Text", None),
        ("not a list of all", "", "<p>Text <a href=https://creativecommons.org/licenses/>all</a>", None),
        ("rights", "<meta name=dcterms.rights content='CC BY'><meta name=copyright content=Org>", "<p>Text", "CC BY"),
        ("copyright", "<meta name=copyright content='Org 2024'>", "<p>Text", "Org 2024"),
    ],
)  # fmt: skip
def test_licences(why: str, head: str, body: str, expected: str | None) -> None:
    assert facts_of(head, body).get("licence") == expected, why


def test_feeds_are_alternatives_of_the_page_each_once() -> None:
    head = """<link rel="Alternate home" type="application/RSS+XML; charset=utf-8" href=/a><link rel=alternate type=application/atom+xml href=/b>
    <link rel=alternate type=application/atom+xml href=/b#x><link rel=alternate type=application/rss+xml href="mailto:x">
    <link rel=preload type=application/rss+xml href=/c><link rel=alternate type=text/html href=/d>"""
    assert facts_of(head)["feeds"] == ["https://site.example/a", "https://site.example/b"]


@pytest.mark.parametrize(
    ("why", "head", "body", "expected"),
    [
        ("of the page", LD % """{"@type": "WebPage", "breadcrumb": {"@type": "BreadcrumbList", "itemListElement": [
         {"@type": "ListItem", "position": 1, "name": "A"}, {"@type": "ListItem", "position": 2, "item": {"name": "B"}}]}}""", "", ["A", "B"]),
        ("by position", LD % """{"@type": "BreadcrumbList", "itemListElement": [{"position": 10, "name": "C"}, {"position": "2", "name": "B"},
         {"name": "D", "position": "last"}, {"position": 1, "name": "A"}]}""", "", ["A", "B", "C", "D"]),
        ("one alone", LD % '{"@type": "BreadcrumbList", "itemListElement": {"@type": "ListItem", "name": "A"}}', "", ["A"]),
        ("microdata", "", """<ol itemscope itemtype=https://schema.org/BreadcrumbList><li itemprop=itemListElement itemscope
         itemtype=https://schema.org/ListItem><a itemprop=item href=/a><span itemprop=name>A</span></a><meta itemprop=position content=1></ol>""", ["A"]),
        ("names of links alone", "", """<ol itemscope itemtype=https://schema.org/BreadcrumbList><li itemprop=itemListElement itemscope
         itemtype=https://schema.org/ListItem><a itemprop=item href=/a>A</a><meta itemprop=position content=1></ol>""", ["A"]),
        ("no addresses", LD % '{"@type": "BreadcrumbList", "itemListElement": [{"item": "https://a.example/"}, {"item": "/b", "name": "B"}]}', "", ["B"]),
    ],
)  # fmt: skip
def test_breadcrumbs(why: str, head: str, body: str, expected: list[str]) -> None:
    assert facts_of(head, body + "<p>Text.")["breadcrumbs"] == expected, why


@pytest.mark.parametrize(
    ("why", "head", "expected"),
    [
        ("its file", LD % '{"@type": "Article", "image": {"@type": "ImageObject", "contentUrl": "/i.png"}}', "/i.png"),
        ("several addresses", LD % '{"@type": "Article", "image": {"@type": "ImageObject", "url": ["/i.png", "/j.png"]}}', "/i.png"),
        ("the article's, not the site's", LD % '[{"@type": "Organization", "image": "/o.png"}, {"@type": "Article", "image": "/i.png"}]', "/i.png"),
        ("one that leads somewhere", LD % '{"@type": "Article", "image": ["data:x", "/i.png"]}', "/i.png"),
        ("a link", "<link rel=image_src href=/i.png>", "/i.png"),
    ],
)  # fmt: skip
def test_images(why: str, head: str, expected: str) -> None:
    assert facts_of(head)["image"] == "https://site.example" + expected, why


def test_opengraph_keeps_the_properties_of_its_types() -> None:
    head = """<meta property=og:title content=T><meta property=og:title content=U><meta property=article:tag content=a>
    <meta property=article:tag content=b><meta property=article:tag content=a><meta property=product:price:amount content=5>
    <meta property=book:isbn content=1><meta property=profile:username content=ada><meta property=fb:app_id content=1>"""
    assert facts_of(head)["opengraph"] == {
        "title": "T", "article:tag": ["a", "b"], "product:price:amount": "5", "book:isbn": "1", "profile:username": "ada",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metas", "header", "expected"),
    [
        ([("robots", "NoIndex, follow")], "", ("noindex",)),
        ([("robots", "none")], "", ("nofollow", "noindex")),
        ([("rifflebot", "noarchive"), ("googlebot", "noindex")], "", ("noarchive",)),
        ([], "noindex, nofollow", ("nofollow", "noindex")),
        ([], "googlebot: noindex, nofollow", ()),
        ([], "googlebot: noindex, rifflebot: nosnippet", ("nosnippet",)),
        ([], "max-snippet:20, noai", ("max-snippet:20", "noai")),
        ([("tdm-reservation", "1")], "", ("noai",)),
        ([], "otherbot: noindex, *: nofollow", ("nofollow",)),
        ([("robots", "index, all")], "", ()),
    ],
)
def test_directives(metas: list[tuple[str, str]], header: str, expected: tuple[str, ...]) -> None:
    assert directives(metas, {"x-robots-tag": header} if header else {}) == expected
