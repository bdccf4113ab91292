"""The ways on from a page: refreshes, frames, image maps, drawings, relations, and canonical URLs.

The forms of a refresh are those of the HTML standard (4.2.5.3), of a header's links those of RFC 8288.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import PageDiscovered, PageFetched
from schemas.ids import page_id
from streams.crawl.refresh import read_refresh
from streams.pages.link_events import discoveries
from streams.pages.parse.link_header import read_links
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.pages.sandbox.worker_messages import PageOutcome

PAGE = "https://site.example/dir/page"
G = "https://github.com"
REFRESHES = [
    ("0; url=/x", (0, "/x"), "the usual form"),
    ("0;URL=/x", (0, "/x"), "capitals, no space"),
    ("5,/x", (5, "/x"), "a comma, and no name"),
    ("5 /x", (5, "/x"), "white space alone"),
    ("\n 0 \t;\r url \n=\f /x ", (0, "/x"), "white space wherever it may be"),
    ("0;url='/x'", (0, "/x"), "single quotes"),
    ('0;url="/x"y', (0, "/x"), "what is behind the quotes does not count"),
    ("0;'/x'", (0, "/x"), "quotes without a name"),
    ('0;url="/x', (0, "/x"), "no second quote"),
    ("0;url='/a\"b'", (0, '/a"b'), "the other quote within"),
    ("1.5;url=/x", (1, "/x"), "a fraction"),
    (".5;url=/x", (0, "/x"), "a fraction without a number"),
    ("1.2.3;url=/x", (1, "/x"), "what is no number, and still read as one"),
    ("0;;url=/x", (0, ";url=/x"), "only one separator"),
    ("0;urn=/x", (0, "urn=/x"), "no url: a relative address"),
    ("0;url /x", (0, "url /x"), "no equals sign"),
    ("999999999999999999999;/x", (999_999_999, "/x"), "a long number"),
    ("0", None, "a page that only loads itself again"),
    ("0;", None, "no address"),
    ("0;url=", None, "an empty address"),
    ("", None, "nothing"),
    ("url=/x", None, "no time"),
    ("-1;url=/x", None, "a sign"),
    ("+1;url=/x", None, "another sign"),
    ("0url=/x", None, "no separator"),
    ("x0;url=/x", None, "words"),
]


@pytest.mark.parametrize(("content", "found"), [row[:2] for row in REFRESHES], ids=[row[2] for row in REFRESHES])
def test_the_declarative_refresh_steps(content: str, found: tuple[int, str] | None) -> None:
    assert read_refresh(content) == found


def outcome(html: str, **headers: str) -> PageOutcome:
    return normalize_to_outcome(html.encode(), url=PAGE, headers={"content-type": "text/html", **headers})


META = [
    ('<meta http-equiv="refresh" content="0; url=/en/latest/"><title>Redirecting</title>', "https://site.example/en/latest/",
     f"the whole page {G}/apache/stormcrawler/issues/350"),
    ("<HTML><HEAD><META HTTP-EQUIV=REFRESH CONTENT='0;URL=en/x.html'></HEAD></HTML>", "https://site.example/dir/en/x.html",
     f"capitals and no quotes {G}/Norconex/crawler/issues/141"),
    ("<noscript><meta http-equiv=refresh content='1;URL=/x'></noscript>", "https://site.example/x", "without scripts"),
    ("<body><p>Wait.<meta http-equiv=refresh content='9;/x'>", "https://site.example/x", "in the body"),
    ("<base href=/a/><meta http-equiv=refresh content='0;x'>", "https://site.example/a/x", "below a base"),
    ("<meta http-equiv=refresh content='0'><meta http-equiv=refresh content='0;/x'>", "https://site.example/x",
     "the first one with an address"),
    ("<meta http-equiv=refresh content='0;/1'><meta http-equiv=refresh content='0;/2'>", "https://site.example/1",
     "two: the first one"),
    ("<meta http-equiv=refresh content='0;https://other.example/'>", "https://other.example/", "another host"),
    ("<meta http-equiv=refresh content='0;page'>", None, "itself"),
    ("<meta http-equiv=refresh content='0;#top'>", None, "a place on the page"),
    ("<meta http-equiv=refresh content='600;/x'>", None, "after ten minutes: a link"),
    ("<meta http-equiv=refresh content='0;javascript:alert(1)'>", None, "a script"),
    ("<meta name=refresh content='0;/x'>", None, "a name"),
    ("<!-- <meta http-equiv=refresh content='0;/x'> -->", None, "a comment"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "redirect"), [row[:2] for row in META], ids=[row[2] for row in META])
def test_a_refresh_of_a_few_seconds_is_a_redirect(html: str, redirect: str | None) -> None:
    assert outcome(html).redirect_url == redirect


def test_the_header_refreshes_a_page_and_a_file() -> None:
    assert outcome("<p>x", refresh="0;url=/x").redirect_url == "https://site.example/x"
    file = normalize_to_outcome(b"text", url=f"{PAGE}.txt", headers={"content-type": "text/plain", "refresh": "0;/x"})
    assert file.redirect_url == "https://site.example/x"
    slow = outcome("<p>x", refresh="300;url=/x")
    assert (slow.redirect_url, [link.url for link in slow.links]) == (None, ["https://site.example/x"])


LINKS = [
    ("<frameset><frame src=/a><frame src=b.html></frameset>", ["/a", "/dir/b.html"],
     f"frames {G}/apache/stormcrawler/pull/681"),
    ("<iframe src=/a></iframe><iframe src='https://video.example/'></iframe>", ["/a"], "a frame of the own host"),
    ("<iframe src='about:blank'></iframe><iframe srcdoc='<a href=/a>'></iframe>", [], "frames without an address"),
    ("<object data=/a></object><embed src=/b><embed src='https://other.example/x'>", ["/a", "/b"], "older frames"),
    ("<img usemap=#m><map name=m><area href=/a alt=A><area shape=default nohref></map>", ["/a"], "an image map"),
    ("<svg><a xlink:href=/a><text>x</text></a><g><a href=/b></a></g></svg>", ["/a", "/b"],
     f"a drawing {G}/Norconex/crawler/issues/438"),
    ("<link rel=next href=/2><link rel=PREV href=/0>", ["/2", "/0"], "the pages of a series"),
    ("<link rel=alternate hreflang=de href=/de/>", ["/de/"], "another language"),
    ("<link rel=alternate type='application/rss+xml' href=/feed>", [], "a feed: it is read as one"),
    ("<link rel=stylesheet href=/a.html><link rel=preload href=/b><link rel=icon href=/c>", [], "what a page loads"),
    ("<base href=/x/><frameset><frame src=a></frameset>", ["/x/a"], "below a base"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "paths"), [row[:2] for row in LINKS], ids=[row[2] for row in LINKS])
def test_elements_that_lead_on(html: str, paths: list[str]) -> None:
    found = outcome(html).links
    assert [link.url for link in found] == [f"https://site.example{path}" for path in paths]
    assert not any(link.in_content for link in found), "such a link recommends nothing"


def test_the_header_names_pages_of_a_series_and_other_languages() -> None:
    links = '</2>; rel="next", </de>; rel=alternate; hreflang=de, </s.css>; rel=preload, </x>; rel=next; anchor="/y"'
    assert [link.url for link in outcome("<p>x", link=links).links] == [
        "https://site.example/2",
        "https://site.example/de",
    ]


@pytest.mark.parametrize(
    ("rel", "nofollow"),
    [
        ("nofollow", True), ("NoFollow noopener", True), ("ugc", True), ("sponsored", True), ("external,ugc", True),
        ("noopener", False), ("", False), ("author ugcx", False), ("dofollow", False),
    ],
)  # fmt: skip
def test_what_others_wrote_or_paid_for_gives_no_authority(rel: str, nofollow: bool) -> None:
    (link,) = outcome(f"<p>Some <a href=/x rel='{rel}'>text</a>").links
    assert link.nofollow is nofollow


A, B = "https://site.example/a", "https://site.example/b"
CANONICAL = [
    ("<head><link rel=canonical href=/a></head>", "", A, "in the head"),
    ("<link rel='alternate CANONICAL' href=/a>", "", A, "one of several relations, in capitals"),
    ("<noscript><link rel=canonical href=/a></noscript>", "", A, "in the head, without scripts"),
    ("<p>x<link rel=canonical href=/a>", "", None, "in the body: a reader may have written it"),
    ("<head><div></div><link rel=canonical href=/a></head>", "", None, "behind an element that ends the head"),
    ("<p>x", f"<{A}>; rel=canonical", A, "in the header"),
    ("<p>x", '</a>; REL="canonical"', A, "relative, with quotes"),
    ("<base href=/dir2/><p>x", "<a>; rel=canonical", "https://site.example/dir/a", "relative to the page"),
    ("<link rel=canonical href=/a>", f"<{A}>; rel=canonical", A, "twice the same"),
    ("<link rel=canonical href='http://site.example/a'>", f"<{A}>; rel=canonical", A, "with http and https"),
    ("<link rel=canonical href=/a>", f"<{B}>; rel=canonical", None, "the header says something else"),
    ("<link rel=canonical href=/a><link rel=canonical href=/b>", "", None, "two that differ"),
    ("<link rel=canonical href=/a><p><link rel=canonical href=/b>", "", A, "one in the head, another one in the body"),
    ("<link rel=canonical href='' ><link rel=canonical href=/a>", "", A, "an empty one"),
    ("<link rel=canonical href=/a media=print>", "", None, "the address of a form of the page"),
    ("<link rel=canonical hreflang=de href=/a>", "", None, "the address in a language"),
    ("<p>x", f"<{A}>; rel=canonical; anchor='#part'", None, "a link of a part of the page"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "header", "found"), [row[:3] for row in CANONICAL], ids=[row[3] for row in CANONICAL])
def test_the_canonical_address(html: str, header: str, found: str | None) -> None:
    canonical = outcome(html, **({"link": header} if header else {})).canonical_url
    assert canonical and canonical.replace("http:", "https:") == found if found else canonical is None


DE, EN = "https://site.example/de/", "https://site.example/en/"
ALTERNATES = [
    ("<head><link rel=alternate hreflang=de href=/de/><link rel=alternate hreflang=en href=/en/>", "",
     {"de": DE, "en": EN}, "in the head"),
    ("<link rel=alternate hreflang=' de-AT ' href=/de/>", "", {"de-at": DE}, "a tag with a region"),
    ("<link rel=alternate hreflang=x-default href=/en/>", "", {"x-default": EN}, "for all other readers"),
    ("<p>x", f"<{DE}>; rel=alternate; hreflang=de, <{EN}>; rel=next", {"de": DE}, "in the header"),
    ("<link rel=alternate hreflang=de href=/de/>", f"<{EN}>; rel=alternate; hreflang=en", {"de": DE, "en": EN}, "both"),
    ("<link rel=alternate hreflang=de href=/de/><link rel=alternate hreflang=de href=/x/>", "", {"de": DE},
     "the first one of a language counts"),
    ("<link rel=alternate hreflang=de href='HTTPS://Site.Example/a/../de/#x'>", "", {"de": DE}, "made canonical"),
    ("<p>x<link rel=alternate hreflang=de href=/de/>", "", {}, "in the body: a reader may have written it"),
    ("<link rel=alternate hreflang='no language' href=/de/>", "", {}, "no tag"),
    ("<link rel=alternate hreflang=de href='javascript:x'>", "", {}, "no page"),
    ("<link rel=alternate type=application/rss+xml href=/feed>", "", {}, "a feed"),
    ("<link rel=canonical hreflang=de href=/de/>", "", {}, "another relation"),
    ("".join(f"<link rel=alternate hreflang=aa-{one} href=/{one}>" for one in range(100, 165)), "", {},
     "more than a page can have"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "header", "found"), [row[:3] for row in ALTERNATES], ids=[row[3] for row in ALTERNATES]
)
def test_the_versions_in_other_languages(html: str, header: str, found: dict[str, str]) -> None:
    assert outcome(html, **({"link": header} if header else {})).alternates == found


def test_a_file_names_its_page_in_the_header() -> None:
    """Files have no other way. https://github.com/GoogleChrome/lighthouse/issues/4343"""
    headers = {"content-type": "text/plain", "link": '<https://site.example/doc.html>; rel="canonical"'}
    found = normalize_to_outcome(b"plain words here", url="https://site.example/doc.txt", headers=headers)
    assert (found.canonical_url, found.facts["canonical"]) == ("https://site.example/doc.html",) * 2


HEADERS = [
    ("</a>;rel=next,</b>;rel=prev", [("/a", {"rel": "next"}), ("/b", {"rel": "prev"})], "no white space"),
    ('</a?x=1,2;3>; title="a, b; \\"c\\""; rel="next"', [("/a?x=1,2;3", {"title": 'a, b; "c"', "rel": "next"})],
     "separators within an address and within quotes"),
    ("</a>; rel=next; rel=prev", [("/a", {"rel": "next"})], "the first relation counts (3.3)"),
    ("</a> ; rel = next", [("/a", {"rel": "next"})], "white space (bad, and to be read)"),
    ("</a>; crossorigin; rel=next;", [("/a", {"crossorigin": "", "rel": "next"})], "a parameter without a value"),
    (", ,</a>, ", [("/a", {})], "empty items"),
    ("<>; rel=canonical", [("", {"rel": "canonical"})], "the page itself"),
    ("/a; rel=next", [], "no brackets"),
    ("</a", [], "a cut address"),
    ('</a>; rel="next', [("/a", {"rel": ""})], "a cut value"),
    ("</a>; rel=next x, </b>", [("/a", {"rel": "next"})], "what follows a fault is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "links"), [row[:2] for row in HEADERS], ids=[row[2] for row in HEADERS])
def test_the_grammar_of_the_header(value: str, links: list[tuple[str, dict[str, str]]]) -> None:
    assert [(link.target, dict(link.parameters)) for link in read_links(value)] == links


@given(st.text(st.sampled_from("<>;,=\"'\\ relx/0.u"), max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    assert all(link.target in text and ">" not in link.target for link in read_links(text))
    seconds, address = read_refresh(text) or (0, "/")
    assert 0 <= seconds < 10**9
    assert address == address.strip() != ""


def event(**fields: Any) -> PageFetched:
    return PageFetched(
        page_id=page_id(PAGE), url=PAGE, host="site.example", outcome="ok", generation=1, max_depth=2, **fields
    )


def announced(fetched: PageFetched, html: str) -> list[PageDiscovered]:
    return list(discoveries(fetched, outcome(html)))


def test_a_refresh_is_announced_as_a_redirect_of_the_page() -> None:
    html = "<meta http-equiv=refresh content='0;/x'><meta name=robots content=nofollow><a href=/x>here</a>"
    (found,) = announced(event(depth=2, redirects=1), html)
    assert (found.url, found.why, found.depth, found.redirects) == ("https://site.example/x", "redirect", 2, 2)
    assert not announced(event(source="warc", depth=2), html), "an import follows nothing"
    (found,) = announced(event(depth=0), "<meta http-equiv=refresh content='0;/x'><a href=/x>here</a>")
    assert found.why == "redirect", "announced once"
