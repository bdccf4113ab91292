# ruff: noqa: E501 - pages as they come
"""What a page says of itself: each fact from its best source, and what is not one."""

from typing import Any

import pytest

from streams.pages.dates import iso_date
from streams.pages.directives import directives
from streams.pages.normalize import normalize
from streams.pages.titles import without_site

URL = "https://site.example/news/page"


def facts_of(head: str, body: str = "<p>Text.") -> dict[str, Any]:
    return normalize(f"<html><head>{head}</head><body>{body}", url=URL).document.facts


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
        ("", "Site", ""),
    ],
)
def test_titles_lose_the_name_of_their_site(title: str, site: str, expected: str) -> None:
    assert without_site(title, site) == expected


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
        "opengraph": {"site_name": "The Site", "image": "/og.png"},
        "twitter": {"card": "summary"},
    }


@pytest.mark.parametrize(
    ("body", "author"),
    [
        ("<h1>T</h1><p>By <a href=/x>Ada Autor</a> on March 1, 2025</p><p>Text", "Ada Autor"),
        ("<h1>T</h1><div class=byline>Ada Autor</div><p>Text", "Ada Autor"),
        ("<h1>T</h1><p>Written by</p><p>Ada Autor</p><p>Text", "Ada Autor"),
        ("<h1>T</h1><a href=/authors/ada>Ada Autor</a><p>Text", "Ada Autor"),
        ("<h1>T</h1><a rel=author href=/ada>Ada Autor</a><p>Text", "Ada Autor"),
        ("<h1>T</h1><p>Bythesea is a town.</p>", None),
        ("<h1>T</h1><div class=author>https://site.example</div><p>Text", None),
    ],
)
def test_bylines(body: str, author: str | None) -> None:
    assert facts_of("", body).get("author") == author


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
        ([("robots", "index, all")], "", ()),
    ],
)
def test_directives(metas: list[tuple[str, str]], header: str, expected: tuple[str, ...]) -> None:
    assert directives(metas, {"x-robots-tag": header} if header else {}) == expected
