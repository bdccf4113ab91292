"""WebSub hubs that feeds name: where they stand, what is noted, and hostile feeds and headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.allowed_origins import AllowedOrigins
from streams.crawl.hubs import MAX_LINKS, FeedHubs, hubs_of
from streams.crawl.sitemaps import MAX_HUBS, Sitemap, read_sitemap

FEED = "https://a.example/feed"
HUB, OTHER = "https://hub.example/", "http://other.example:8080/push?x=1&y=2"
ESCAPED = OTHER.replace("&", "&amp;")

FEEDS = [
    (f'<feed><link rel="hub" href="{HUB}"/><link rel="self" href="{FEED}"/><entry>', (HUB,), FEED, "Atom"),
    (f"<feed><link href='{ESCAPED}' rel='hub'/></feed>", (OTHER,), "", "Atom, the address first"),
    (f'<rss><channel><atom:link rel="hub" href="{HUB}"/><atom:link href="{FEED}" rel="self" type="x"/>', (HUB,), FEED,
     "RSS"),
    (f'<rdf:RDF><channel><atom:link rel="self HUB" href="{FEED}"/></channel></rdf:RDF>', (FEED,), FEED, "both"),
    (f'<feed><link rel="hub" href="{HUB}"/><link rel="hub" href="{OTHER.replace("&", "&#38;")}"/><link rel="hub" '
     f'href="{HUB}"/></feed>', (HUB, OTHER), "", "two hubs, one of them twice"),
    (f'{{"items": [], "feed_url": "{FEED}", "hubs": [{{"type": "WebSub", "url": "{HUB}"}}, {{}}, 3]}}', (HUB,), FEED,
     "JSON Feed"),
    (f'<feed><entry><link rel="hub" href="{HUB}"/></entry></feed>', (), "", "a link of an entry"),
    (f'<feed><link rel="hubcap" href="{HUB}"/><link rel="alternate" href="{HUB}"/></feed>', (), "", "other relations"),
    ('{"hubs": "https://hub.example/", "feed_url": 3, "items": 4}', (), "", "JSON of other types"),
    ('<feed><link rel="hub"/></feed>', (), "", "no address"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "hubs", "topic"), [case[:3] for case in FEEDS], ids=[case[3] for case in FEEDS])
def test_hubs_stand_in_each_format(text: str, hubs: tuple[str, ...], topic: str) -> None:
    assert hubs_of(FEED, read_sitemap(text.encode()), "") == FeedHubs(hubs, topic)


HEADERS = [
    (f'<{HUB}>; rel="hub", <{FEED}>; rel="self"', (HUB,), FEED, "as the standard shows it"),
    (f"<{HUB}>;rel=hub;x=1,<{OTHER}> ; REL = Hub", (HUB, OTHER), "", "without quotes"),
    (f'<{HUB}>; title="a, b; rel=self"; rel="hub"; rel=self', (HUB,), "", "the first one counts, outside of values"),
    ('</push>; rel="hub self"', ("https://a.example/push",), "https://a.example/push", "a relative address"),
    (f'<{HUB}>; rel="preload", <{OTHER}>', (), "", "no hub"),
    (f"{HUB}; rel=hub", (), "", "no brackets"),
    (f'<{HUB}; rel="hub"', (), "", "no end"),
]


@pytest.mark.parametrize(("header", "hubs", "topic"), [case[:3] for case in HEADERS], ids=[case[3] for case in HEADERS])
def test_hubs_stand_in_the_header(header: str, hubs: tuple[str, ...], topic: str) -> None:
    assert hubs_of(FEED, Sitemap(), header) == FeedHubs(hubs, topic)


def test_the_header_comes_first() -> None:
    found = Sitemap(hubs=(OTHER, HUB), topic="https://a.example/other")
    assert hubs_of(FEED, found, f'<{HUB}>; rel="hub", <{FEED}>; rel="self"') == FeedHubs((HUB, OTHER), FEED)


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ftp://hub.example/",
        "https://127.0.0.1/",
        "http://169.254.169.254/latest",
        "http://[::1]/",
        "https://0x7f000001/",
        "http://localhost/",
        "https://hub/",
        "https://name:password@hub.example/",
        "https://hub.example/\u202e",
        "https://hub.example/" + "x" * 2_048,
        "https://[",
        "",
    ],
)
def test_an_address_that_nobody_may_connect_to_is_left_out(address: str) -> None:
    found = Sitemap(hubs=(address, HUB), topic=address)
    hubs = hubs_of(FEED, found, f'<{address}>; rel="hub"')
    assert [hub for hub in hubs.hubs if hub != FEED] == [HUB]
    assert hubs.topic == ""


def test_an_address_that_the_operator_allows_is_noted() -> None:
    allowed = AllowedOrigins(frozenset(["http://hub.corp"]))
    assert hubs_of(FEED, Sitemap(hubs=("http://hub.corp/",)), "", allowed).hubs == ("http://hub.corp/",)


def test_hubs_are_bounded() -> None:
    many = [f"https://hub{n}.example/" for n in range(1_000)]
    feed = "".join(f'<link rel="hub" href="{hub}"/>' for hub in many)
    assert len(read_sitemap(f"<feed>{feed}</feed>".encode()).hubs) == MAX_HUBS
    assert hubs_of(FEED, Sitemap(), ", ".join(f"<{hub}>; rel=hub" for hub in many)).hubs == tuple(many[:MAX_HUBS])
    behind = ", ".join(["<https://a.example/>; rel=next"] * MAX_LINKS)
    assert hubs_of(FEED, Sitemap(), f"{behind}, <{HUB}>; rel=hub").hubs == ()


PARTS = ["<", ">", ";", ",", "rel", "=", '"', "hub", "self", " ", "https://hub.example/", "//", "\0", "é", "[", "&"]


@given(st.lists(st.sampled_from(PARTS), max_size=60).map("".join), st.text(max_size=60))
def test_any_header_and_address_can_be_read(header: str, address: str) -> None:
    found = hubs_of(FEED, Sitemap(hubs=(address,), topic=address), header)
    assert len(found.hubs) <= MAX_HUBS
    assert all(hub.startswith(("http://", "https://")) for hub in (*found.hubs, found.topic or HUB))
