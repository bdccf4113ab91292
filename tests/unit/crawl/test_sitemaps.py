"""Sitemaps and feeds: their formats, and broken and hostile files."""

import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import PageFetched
from schemas.ids import page_id
from streams.crawl.sitemap_entries import DAY_SECONDS, MAX_URL_CHARS
from streams.crawl.sitemaps import (
    MAX_BYTES,
    MAX_MEMBERS,
    MAX_SITEMAPS,
    MAX_URLS,
    Sitemap,
    _unpack,
    read_sitemap,
)
from streams.pages.sitemap_events import sitemap_events
from tests.sizes import size

A, B = "https://a.example/1", "https://a.example/2?x=1&y=2"
URLSET = '<?xml version="1.0"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
ESCAPED = B.replace("&", "&amp;")

CASES = [
    (URLSET.format(f"<url><loc>{A}</loc></url><url><loc> {ESCAPED}\n</loc></url>"), (A, B), "a sitemap"),
    (URLSET.format(f"<url><loc><![CDATA[{B}]]></loc></url>"), (B,), "CDATA"),
    (f"<s:urlset xmlns:s='x'><s:url><s:loc>{A}</s:loc></s:url></s:urlset>", (A,), "a prefix"),
    (URLSET.format(f"<url><loc>{A}</loc><image:image><image:loc>{B}</image:loc>"), (A,), "cut, with an image"),
    (f"<s:urlset xmlns:s='x'><s:url><s:loc>{A}</s:loc><loc>{B}</loc></s:url></s:urlset>", (A,), "another namespace"),
    (URLSET.format(f"<!-- <url><loc>{B}</loc></url> --><url><loc>{A}</loc></url>"), (A,), "a comment"),
    (f"<!-- <rss> -->{URLSET.format(f'<url><loc><!-- x -->{A}</loc></url>')}", (A,), "comments elsewhere"),
    (URLSET.format(f"<url><loc>{A}</loc></url><!-- <url><loc>{B}</loc></url>"), (A,), "a comment without an end"),
    (
        URLSET.format(f"<url><loc>{A}</loc></url><x><![CDATA[<!-- <loc>{B}</loc>]]></x><url><loc>{A}2</loc></url>"),
        (A, f"{A}2"),
        "tags within CDATA",
    ),
    (f"<rss><item><media:link>{B}</media:link><link>{A}</link></item></rss>", (A,), "RSS with media"),
    (f'<rss><item><atom:link href="{A}"/></item></rss>', (A,), "RSS with Atom"),
    (f"\ufeff{A}\r\n{B}\n\n", (A, B), "text"),
    (f"<rss><channel><link>https://x.example/</link><item><link>{A}</link></item></channel></rss>", (A,), "RSS"),
    (
        '<feed><link href="https://x.example/"/><entry><link rel="edit" href="/e"/>'
        f'<link href="{ESCAPED}"/></entry></feed>',
        (B,),
        "Atom",
    ),
    (f"<feed><entry><link rel=\"alternate\" href='{A}'/></entry></feed>", (A,), "Atom with rel"),
    (f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{{"url": "{A}"}}, {{}}, 3]}}', (A,), "JSON Feed"),
    ("<html><body>Not found</body></html>", (), "a page"),
    ('{"items": ' + "[" * 100_000, (), "JSON without end"),
    ("", (), "nothing"),
]


@pytest.mark.parametrize(("text", "pages"), [case[:2] for case in CASES], ids=[case[2] for case in CASES])
def test_formats(text: str, pages: tuple[str, ...]) -> None:
    found = read_sitemap(text.encode())
    assert found == Sitemap(pages=pages, is_feed=found.is_feed)
    assert read_sitemap(gzip.compress(text.encode())) == found


def test_an_index_has_no_images_and_no_comments() -> None:
    text = f"<sitemapindex><!-- <loc>{A}.old</loc> --><image:loc>{B}</image:loc><loc>{A}.xml</loc></sitemapindex>"
    assert read_sitemap(text.encode()).sitemaps == (f"{A}.xml",)


@pytest.mark.parametrize("behind", [b"", b"\0" * 512, b"\x1f\x8b damaged"])
def test_all_members_of_a_gzip_file_are_read(behind: bytes) -> None:
    file = URLSET.format("".join(f"<url><loc>{A}/{n}</loc></url>" for n in range(20))).encode()
    members = b"".join(gzip.compress(file[at : at + 100]) for at in range(0, len(file), 100))
    assert read_sitemap(members + behind) == read_sitemap(file)


def test_members_of_a_gzip_file_are_bounded() -> None:
    member = gzip.compress(f"{A}\n".encode())
    assert read_sitemap(member * MAX_MEMBERS + gzip.compress(B.encode())).pages == (A,)
    bombs = gzip.compress(b"x" * 40_000_000) * 3
    assert len(_unpack(bombs)) == MAX_BYTES


def test_an_index_names_sitemaps() -> None:
    text = f"<sitemapindex><sitemap><loc>{A}.xml</loc></sitemap></sitemapindex>"
    assert read_sitemap(text.encode()) == Sitemap(sitemaps=(f"{A}.xml",))


DATES = [
    ("2026-01-02T03:04:05Z", 1767323045, "a time"),
    ("2026-01-02T03:04:05.678+01:00", 1767319445, "an offset and a fraction"),
    (" 2026-01-02T03:04 ", 1767323040, "no offset: UTC"),
    ("2026-01-02", 1767398399, "a day: its end"),
    ("yesterday", 0, "words"),
    ("2026-13-45", 0, "no date"),
    ("0001-01-01T00:00:00+14:00", 0, "long ago"),
    ("9" * 50_000, 0, "a number without end"),
]


@pytest.mark.parametrize(("date", "seconds"), [case[:2] for case in DATES], ids=[case[2] for case in DATES])
def test_dates_of_changes(date: str, seconds: int) -> None:
    text = URLSET.format(f"<url><loc>{A}</loc><lastmod>{date}</lastmod></url><url><loc>{ESCAPED}</loc></url>")
    assert read_sitemap(text.encode()) == Sitemap(pages=(A, B), modified=(seconds, 0) if seconds else ())


def test_a_date_belongs_to_the_page_of_its_element() -> None:
    image = f"<image:image><image:loc>{B}</image:loc></image:image>"
    text = URLSET.format(f"<url><loc>{A}</loc>{image}<lastmod>2026-01-02</lastmod></url>")
    assert read_sitemap(text.encode()) == Sitemap(pages=(A,), modified=(1767398399,))
    fetched = PageFetched(
        page_id=page_id(A), url="https://a.example/s.xml", host="a.example", outcome="ok",
        generation=1767398400 * 1_000_000, purpose="sitemap",
    )  # fmt: skip
    (event,) = sitemap_events(fetched, read_sitemap(text.encode()))
    assert [(one.url, one.modified) for one in event.each()] == [(A, (1767398399,))]
    later = fetched.model_copy(update={"generation": fetched.generation + 4 * 86_400 * 1_000_000})
    (event,) = sitemap_events(later, read_sitemap(text.encode()))
    assert event.modified == (), "no news"


HINTS = [
    ("<changefreq> Weekly</changefreq><priority>0.8</priority>", (7 * DAY_SECONDS, 0), (80, 50), "both"),
    ("<priority>1</priority><changefreq>sometimes</changefreq>", (), (100, 50), "no such word"),
    ("<priority>2.5</priority><changefreq>always</changefreq>", (3_600, 0), (), "no such priority"),
    ("<priority>nan</priority>", (), (), "no number"),
    ("<priority>0.5</priority>", (), (), "the same for all pages"),
]


@pytest.mark.parametrize(("stated", "changes", "priorities"), [case[:3] for case in HINTS], ids=[c[3] for c in HINTS])
def test_stated_intervals_and_priorities(stated: str, changes: tuple[int, ...], priorities: tuple[int, ...]) -> None:
    text = URLSET.format(f"<url>{stated}<loc>{A}</loc></url><url><loc>{ESCAPED}</loc></url>")
    found = read_sitemap(text.encode())
    assert found == Sitemap(pages=(A, B), change_seconds=changes, priorities=priorities)
    (event,) = sitemap_events(fetched(), found)
    each = [(*one.change_seconds, *one.priorities) for one in event.each()]
    assert each[0] == (*changes[:1], *priorities[:1])


FEED_DATES = [
    (f"<rss><item><pubDate>Sat, 03 Jan 2026 01:00:00 +0100</pubDate><link>{A}</link></item></rss>", 1767398400, "RSS"),
    (f"<rdf:RDF><item><link>{A}</link><dc:date>2026-01-03T00:00:00Z</dc:date></item></rdf:RDF>", 1767398400, "RDF"),
    (
        f"<feed><updated>2026-02-01T00:00:00Z</updated><entry><published>2026-01-01T00:00:00Z</published>"
        f'<link href="{A}"/><updated>2026-01-03T00:00:00Z</updated></entry></feed>',
        1767398400,
        "Atom: the later one, and not the feed's",
    ),
    (f'{{"items": [{{"url": "{A}", "date_published": "2026-01-03T00:00:00Z"}}]}}', 1767398400, "JSON Feed"),
    (f"<rss><item><link>{A}</link><pubDate>Sat, 33 Jan 2026</pubDate></item></rss>", 0, "no date"),
    (f'{{"items": [{{"url": "{A}", "date_published": 7}}]}}', 0, "a number"),
]


@pytest.mark.parametrize(("text", "seconds"), [case[:2] for case in FEED_DATES], ids=[case[2] for case in FEED_DATES])
def test_the_dates_of_a_feed_are_those_of_its_entries(text: str, seconds: int) -> None:
    found = read_sitemap(text.encode())
    assert (found.pages, found.modified) == ((A,), (seconds,) if seconds else ())


def test_files_are_bounded() -> None:
    many = "".join(f"<loc>https://a.example/{n}</loc>" for n in range(MAX_URLS + 10))
    assert len(read_sitemap(f"<urlset>{many}".encode()).pages) == MAX_URLS
    assert len(read_sitemap(f"<sitemapindex>{many}".encode()).sitemaps) == MAX_SITEMAPS
    bomb = gzip.compress(b"<urlset>" + b" " * (MAX_BYTES + 1_000) + f"<loc>{A}</loc>".encode())
    assert read_sitemap(bomb) == Sitemap()


SIZES = size(40_000), size(400_000)


@pytest.mark.parametrize(
    "part",
    ["<loc>", "<loc", "<link ", "<link href=", "<a:", "<![CDATA[", "<entry><link rel='", "<pubDate>1 ", "<updated>9"],
)
@pytest.mark.parametrize("root", ["<urlset>", "<feed><entry>", "<rss><item>"])
def test_hostile_files_are_read_in_linear_time(root: str, part: str) -> None:
    """A file ten times as long has at most some ten times the cost; a quadratic reader would have a hundred times."""
    short, long = (_cost((root + part * (chars // len(part))).encode()) for chars in SIZES)
    assert long < 40 * short


def _cost(body: bytes) -> float:
    """Return the least CPU time of a few readings (seconds): no load of the machine counts."""
    costs = []
    for _ in range(3):
        began = time.process_time()
        found = read_sitemap(body)
        costs.append(time.process_time() - began)
        assert len(found.pages) <= MAX_URLS
        assert all(len(url) <= MAX_URL_CHARS for url in found.pages)
    return max(min(costs), 0.000_5)


@given(st.text(max_size=45) | st.text(st.sampled_from("0123456789 ,:+-MonJanZGT"), max_size=45))
def test_any_text_can_be_a_date(date: str) -> None:
    found = read_sitemap(
        f"<rss><item><link>{A}</link><pubDate>{date}</pubDate></item></rss>".encode("utf-8", "replace")
    )
    assert all(at >= 0 for at in found.modified)


@given(
    st.binary(max_size=300)
    | st.text(st.sampled_from("<urlset>loc/feed\"=' entryhref{}[]items"), max_size=200).map(str.encode)
)
def test_any_bytes_can_be_read(body: bytes) -> None:
    found = read_sitemap(body)
    assert len(found.pages) + len(found.sitemaps) <= MAX_URLS


def fetched(depth: int = 0, max_depth: int | None = None, level: int | None = None) -> PageFetched:
    url = "https://a.example/sitemap.xml"
    fields = {"page_id": page_id(url), "url": url, "host": "a.example", "purpose": "sitemap", "outcome": "ok"}
    return PageFetched(**fields, generation=1, depth=depth, max_depth=max_depth, sitemap_level=level, crawl_id="c")


def test_only_urls_of_its_own_domain_are_discovered() -> None:
    found = Sitemap(
        pages=(A, "/3", "https://www.a.example/4", "https://b.example/5", "javascript:x", "https://a.example/6.zip")
    )
    events = list(sitemap_events(fetched(), found))
    assert [(event.host, [one.url for one in event.each()]) for event in events] == [
        ("a.example", [A, "https://a.example/3"]),
        ("www.a.example", ["https://www.a.example/4"]),
    ]
    assert {(event.why, event.purpose, event.depth, event.crawl_id) for event in events} == {
        ("sitemap", "page", 1, "c")
    }


LEVELS = [
    ((0, 0), (1, 1), 1, "a sitemap of a seed's robots.txt, or an index"),
    ((1, 1), None, 1, "a sitemap of such an index: an index within an index is ignored"),
    ((3, 0), (4, 1), 4, "a page at depth 3 led to the host"),
    ((4, 1), None, 4, "a sitemap of that index"),
]


@pytest.mark.parametrize(("sitemap", "part", "of_pages", "why"), LEVELS)
def test_the_depth_and_level_of_what_a_sitemap_names(
    sitemap: tuple[int, int], part: tuple[int, int] | None, of_pages: int, why: str
) -> None:
    depth, level = sitemap
    found = Sitemap(pages=(A,), sitemaps=(f"{A}.xml",))
    events = {one.purpose: one for one in sitemap_events(fetched(depth, level=level), found)}
    named = events.pop("sitemap", None)
    assert (named and (named.depth, named.sitemap_level)) == part, why
    assert (events["page"].depth, events["page"].sitemap_level) == (of_pages, None), why
    assert list(sitemap_events(fetched(depth, of_pages, level), found)), why
    assert list(sitemap_events(fetched(depth, of_pages - 1, level), found)) == [], "beyond the crawl's depth"


def test_a_robots_file_in_an_index_leads_to_no_further_index() -> None:
    for level in (0, 1):
        event = fetched(2, level=level).model_copy(update={"url": "https://a.example/robots.txt"})
        (named,) = sitemap_events(event, Sitemap(sitemaps=(f"{A}.xml",)))
        assert (named.depth, named.sitemap_level) == (2, level)
