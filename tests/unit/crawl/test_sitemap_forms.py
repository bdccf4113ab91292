"""The forms of sitemaps and feeds on the web: encodings, markup, addresses, namespaces and relations.

Each table lists the forms that the standard names, and those that writers make. Where a user of another crawler
reported a form, its row has the report's address.
"""

import codecs

import pytest

from streams.crawl.sitemaps import Sitemap, read_sitemap

SITE = "https://site.example"
A, B = f"{SITE}/1", f"{SITE}/2"
G = "https://github.com"


def urlset(*locs: str, head: str = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>") -> str:
    return head + "".join(f"<url><loc>{loc}</loc></url>" for loc in locs) + "</urlset>"


def pages(document: str | bytes, content_type: str = "") -> tuple[str, ...]:
    body = document.encode() if isinstance(document, str) else document
    return read_sitemap(body, content_type).pages


LETTER = f"{SITE}/д"
ENCODINGS = [
    ("utf-16", "utf-16", b"", f"a mark in the order of this machine {G}/crawler-commons/crawler-commons/issues/161"),
    ("utf-16", "utf-16-le", codecs.BOM_UTF16_LE, "a mark, little end first"),
    ("utf-16", "utf-16-be", codecs.BOM_UTF16_BE, "a mark, big end first"),
    ("utf-16", "utf-16-le", b"", "no mark: the bytes of `<?` (appendix F)"),
    ("utf-16", "utf-16-be", b"", "no mark, big end first"),
    ("utf-16", "utf-8", b"", "declared as UTF-16, and UTF-8: a writer of strings in .NET"),
    ("utf-8", "utf-8", codecs.BOM_UTF8, "UTF-8 with a mark"),
    ("windows-1251", "cp1251", b"", f"declared {G}/crawler-commons/crawler-commons/issues/63"),
    ("koi8-r", "koi8-r", b"", "declared"),
    ("iso-8859-5", "iso8859-5", b"", "declared"),
    ("iso-8859-1", "utf-8", b"", "declared falsely"),
    ("utf-32", "utf-32", b"", "UCS-4 with a mark"),
    ("utf-32", "utf-32-be", b"", "UCS-4 without a mark"),
    ("utf-32", "utf-32-le", b"", "UCS-4 without a mark, little end first"),
]


@pytest.mark.parametrize(
    ("declared", "codec", "mark"), [row[:3] for row in ENCODINGS], ids=[row[3] for row in ENCODINGS]
)
def test_the_encoding_is_that_of_the_mark_the_declaration_or_the_bytes(declared: str, codec: str, mark: bytes) -> None:
    document = f"<?xml version = '1.0' encoding = '{declared}' ?>\n{urlset(LETTER)}"
    assert pages(mark + document.encode(codec)) == (LETTER,)
    document = f'<?xml version="1.0" encoding="{declared.upper()}"?>{urlset(LETTER)}'
    assert pages(mark + document.encode(codec)) == (LETTER,)


def test_the_encoding_may_be_in_the_header_and_in_ebcdic() -> None:
    assert pages(urlset(LETTER).encode("cp1251"), "text/xml; charset=windows-1251") == (LETTER,)
    assert pages(f"{LETTER}\n".encode("utf-16"), "text/plain") == (LETTER,)
    assert pages(f"<?xml version='1.0' encoding='ebcdic-cp-us'?>{urlset(A)}".encode("cp037")) == (A,)


MARKUP = [
    (f"<urlset\n><url\n><loc\n>{A}</loc\n></url><url\tid='1'><loc\tid='a'>{B}</loc></url></urlset>", (A, B),
     f"white space before > and between attributes {G}/danmactough/node-feedparser/issues/171"),
    (f"\n\n  {urlset(A)}", (A,), "white space before the root"),
    (f"<br />\n<b>Warning</b>: x in <b>/y.php</b><?xml version='1.0'?>{urlset(A)}", (A,), "an error of PHP before it"),
    (f"<?xml-stylesheet href='<urlset>'?><!DOCTYPE urlset [<!ENTITY a 'b'>]>{urlset(A)}", (A,), "a prolog"),
    (f"<urlset a='>' b=\"<\"><url><loc>{A}</loc></url></urlset>", (A,), "an end of a tag in quotes"),
    (f"<urlset><url title='<loc>{B}</loc>'><loc>{A}</loc></url></urlset>", (B, A), "a raw < ends an attribute"),
    (f"<urlset><url><loc>{A}<!-- x --></loc></url></urlset>", (A,), "a comment in the text"),
    (f"<urlset><url><loc><?x <loc>?>{A}</loc></url></urlset>", (A,), "an instruction in the text"),
    (f"<urlset><url><loc>{SITE}/?a<![CDATA[=1&b=2]]>&amp;c=3</loc></url></urlset>", (f"{SITE}/?a=1&b=2&c=3",),
     "CDATA is a part of the text"),
    (f"<urlset><url><loc>{SITE}/?p=1&region=us&copy=2&amp;lt=3</loc></url></urlset>",
     (f"{SITE}/?p=1&region=us&copy=2&lt=3",),
     f"a raw ampersand: no entity without a semicolon {G}/crawler-commons/crawler-commons/issues/148"),
    (f"<urlset><url><loc>{SITE}/?a=1&#38;b=2&#x26;c=&quot;</loc></url></urlset>", (f'{SITE}/?a=1&b=2&c="',),
     "characters by their numbers"),
    (f"<urlset><url><loc>{SITE}/&eacute;&unknown;</loc></url></urlset>", (f"{SITE}/é&unknown;",), "entities of HTML"),
    (f"<!DOCTYPE r [<!ENTITY e '{B}'>]><urlset><url><loc>{A}?&e;</loc></url></urlset>", (f"{A}?&e;",),
     "an entity of the document: not expanded"),
    (f"<URLSET><URL><LOC>{A}</LOC></URL></URLSET>", (A,), "capitals"),
    (f"<urlset><url><loc>{A}<loc>{B}</url></urlset>", (A, B), "no end tags"),
    (f"<urlset><loc>{A}</loc><loc>{B}</loc></urlset>", (A, B), "no url elements"),
    (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}", (A,), "cut within an address: half of one is none"),
    (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}</lo", (A, B), "cut behind an address"),
    (f"{urlset(A)}{urlset(B)}", (A, B), "two documents in one file"),
    (f"<urlset><url><loc/><loc></loc><loc>{A}</loc></url></urlset>", (A,), "empty elements"),
    (f"<urlset><url><loc>{A}\x08</loc></url></urlset>", (f"{A}\x08",), "a character that XML forbids"),
    ("<html><head><title>404</title></head><body><a href='/loc'>x</a></body></html>", (), "a page"),
]  # fmt: skip
NAMESPACES = [
    (f"<s:urlset xmlns:s='x'><s:url><s:loc>{A}</s:loc></s:url></s:urlset>", (A,), "a prefix"),
    (f"<s:urlset><s:url><s:loc>{A}</s:loc></s:url></s:urlset>", (A,), "a prefix that nobody declares"),
    (f"<urlset xmlns='x' xmlns:s='x'><s:url><s:loc>{A}</s:loc></s:url></urlset>", (A,), "a prefix of the default"),
    (f"<urlset xmlns='x'><url xmlns=''><loc>{A}</loc></url></urlset>", (A,), "the namespace is taken back, as by .NET"),
    (f"<s:urlset xmlns:s='x'><s:url><loc>{A}</loc></s:url></s:urlset>", (A,), "the prefix is left out"),
    (urlset(f"{A}</loc><image:image><image:loc>{B}</image:loc></image:image><loc>", head="<urlset>"), (A,), "an image"),
    (f"<urlset><url><image:image><image:loc>{B}</image:loc></image:image><loc>{A}</loc></url></urlset>", (A,),
     "an image before the address"),
    (f"<urlset><url><loc>{A}</loc><xhtml:link rel='alternate' hreflang='de' href='{B}'/></url></urlset>", (A,),
     "another language: it has an entry of its own (sitemaps of Google)"),
]  # fmt: skip
ADDRESSES = [
    ("/rooted", ("/rooted",), "a path from the root"),
    ("//site.example/x", ("//site.example/x",), "without its scheme"),
    ("HTTP://site.example/x", ("HTTP://site.example/x",), "capitals"),
    (f"\n\t{A}\n", (A,), "white space around"),
    (f"{SITE}/a b", (f"{SITE}/a b",), "a space within: browsers escape it"),
    ("page.html", (), "relative: no address in a sitemap"),
    ("www.site.example/x", (), "no scheme"),
    ("ftp://site.example/x", (), "another scheme"),
    ("javascript:alert(1)", (), "a script"),
    ("mailto:a@b.example", (), "mail"),
    ("Not found", (), "words"),
    ("https:x", (), "a scheme without a host"),
]
CASES = [*MARKUP, *NAMESPACES, *((urlset(text), found, why) for text, found, why in ADDRESSES)]


@pytest.mark.parametrize(("document", "found"), [row[:2] for row in CASES], ids=[row[2] for row in CASES])
def test_the_pages_of_a_sitemap(document: str, found: tuple[str, ...]) -> None:
    assert pages(document) == found


TEXTS = [
    (f"\ufeff{A}\r\n\r\n# pages of the shop\r\n{B}\r\n", (A, B),
     "a mark, ends of lines of Windows, a comment https://github.com/Norconex/crawler/issues/419"),
    (f"{A}\r{B}", (A, B), "ends of lines of old systems"),
    (f"  {A}  \n\t{B}", (A, B), "white space around"),
    (f"{A}\nno address\n{B}", (A, B), "a line that is no address"),
    ("/1\n/2", ("/1", "/2"), "paths from the root"),
    ('["error", "no such sitemap"]\n', (), f"an error as JSON {G}/crawler-commons/crawler-commons/pull/206"),
    ("null", (), "nothing, as JSON"),
    ("Not found. See https://site.example/ for help.", (), "a sentence with an address"),
    (f"An error happened.\nPlease go back.\n{A}\nSorry.", (), "few lines are addresses"),
    ("User-agent: *\nDisallow: /x\nSitemap: https://site.example/s.xml", (), "a robots.txt"),
    ("404", (), "a number"),
    ("1.html\n2.html", (), "relative ones"),
    (f"{A} 0.8\n{B} 0.5", (), "columns"),
    ("", (), "nothing"),
    ("\0" * 100, (), "no text"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), [row[:2] for row in TEXTS], ids=[row[2] for row in TEXTS])
def test_a_text_is_a_sitemap_if_most_of_its_lines_are_addresses(text: str, found: tuple[str, ...]) -> None:
    assert pages(text) == found


def item(content: str, head: str = "<rss><channel>") -> str:
    return f"{head}<link>{SITE}/</link><item>{content}</item></channel></rss>"


def entry(content: str, head: str = "<feed xmlns='http://www.w3.org/2005/Atom'>") -> str:
    return f"{head}<link href='{SITE}/'/><entry>{content}</entry></feed>"


FEEDS = [
    (item(f"<link>{SITE}/?p=1&region=us</link>"), (f"{SITE}/?p=1&region=us",),
     f"a raw ampersand {G}/crawler-commons/crawler-commons/issues/148"),
    (item(f"<title>AT&T <3 <br>you</title><description>a<br><img src=x>b</description><link>{A}</link>"), (A,),
     "HTML that is not escaped"),
    (item(f"<guid>{A}</guid>"), (A,), "a guid without a link is a permalink (RSS 2.0)"),
    (item(f"<guid isPermaLink='true'>{A}</guid>"), (A,), "a guid that says so"),
    (item(f"<guid isPermaLink='false'>{A}</guid>"), (), "a guid that is none"),
    (item("<guid>tag:site.example,2026:1</guid>"), (), "a guid that is no address"),
    (item(f"<guid>{B}</guid><link>{A}</link>"), (A,), "a guid beside a link"),
    (item("<link>/rooted</link>"), ("/rooted",), "a path from the root"),
    (item("<link>page.html</link>"), ("page.html",), "a relative address"),
    (item("<link>Read more</link>"), (), "words"),
    (item(f"<link>{A}</link><source url='{B}'>Other</source><comments>{B}</comments>"), (A,), "other addresses"),
    (item(f"<link>{A}</link><enclosure url='{B}'/><media:link>{B}</media:link>"), (A,), "media"),
    (item(f"<a:link href='{A}'/>", head="<rss xmlns:a='http://www.w3.org/2005/Atom'><channel>"), (A,),
     "a link of Atom, whatever its prefix"),
    (item(f"<atom:link rel='self' href='{B}'/><link>{A}</link>"), (A,), "Atom's other relations"),
    (item("<link>x</link>", head="<rss xml:base='https://site.example/a/'><channel>"), ("https://site.example/a/x",),
     "xml:base of the root"),
    ("<rdf:RDF xmlns='http://purl.org/rss/1.0/'><channel rdf:about='x'><items><rdf:li rdf:resource='y'/></items>"
     f"</channel><item rdf:about='{B}'><link>{A}</link></item><item rdf:about='{B}'/></rdf:RDF>", (A, B),
     "RSS 1.0, also with its address in rdf:about alone"),
    (entry(f"<link rel='self' href='/s'/><link rel='edit' href='/e'/><link rel='enclosure' href='/m.mp3'/>"
           f"<link rel='replies' href='/r'/><link rel='via' href='/v'/><link rel='related' href='/l'/>"
           f"<link rel='alternate' href='{A}'/>"), (A,), "Atom's relations: only alternate is the page"),
    (entry(f"<link href='{A}'/>"), (A,), "Atom without a relation"),
    (entry(f"<link href='{A}' rel='http://www.iana.org/assignments/relation/alternate'/>"), (A,),
     "the relation as an address (RFC 4287, 4.2.7.2)"),
    (entry(f"<link\nREL = 'Alternate'\n HREF = '{SITE}/?a&amp;b'\n/>"), (f"{SITE}/?a&b",), "white space, capitals"),
    (entry(f"<link href={A} />"), (A,), "no quotes"),
    (entry(f"<source><link href='https://other.example/'/></source><link href='{A}'/>"), (A,),
     "the feed from which an entry was taken over"),
    (entry("<link href='x' xml:base='c/'/>", head="<feed xml:base='https://site.example/a/'>"), (f"{SITE}/a/c/x",),
     "xml:base of the link within that of the feed (XML Base, 4.2)"),
    (f"<feed><entry xml:base='{SITE}/a/'><link href='x'/></entry><entry><link href='{B}'/></entry></feed>",
     (f"{SITE}/a/x", B), "xml:base of one entry"),
    (f"<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:link href='{A}'/></a:entry></a:feed>",
     (A,), "Atom with a prefix"),
    (f"<feed><entry><link href='{A}'/></entry><entry><link href='{B}", (A,), "cut"),
    (f'{{"items": [{{"id": "1", "url": "{A}"}}, {{"id": "2", "url": "not an address"}}, {{"url": 7}}]}}', (A,),
     "JSON Feed"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "found"), [row[:2] for row in FEEDS], ids=[row[2] for row in FEEDS])
def test_the_pages_of_a_feed(document: str, found: tuple[str, ...]) -> None:
    assert read_sitemap(document.encode()) == Sitemap(pages=found, is_feed=True)


def test_an_index_may_name_pages_and_a_sitemap_sitemaps() -> None:
    document = f"<sitemapindex><sitemap><loc>{A}.xml</loc></sitemap><url><loc>{B}</loc></url></sitemapindex>"
    assert read_sitemap(document.encode()) == Sitemap(pages=(B,), sitemaps=(f"{A}.xml",))


def test_a_file_that_is_only_tags_costs_no_memory_of_a_tree() -> None:
    assert read_sitemap(b"<urlset>" + b"<a>" * 300_000 + f"<url><loc>{A}</loc>".encode()).pages == (A,)


CUT = {
    "a sitemap": ("<urlset>", "<url><loc>{}</loc><lastmod>2026-01-01</lastmod></url>", "</urlset>"),
    "without entries": ("<urlset>", "<loc>{}</loc>", "</urlset>"),
    "RSS": ("<rss><channel>", "<item><title>A</title><link>{}</link></item>", "</channel></rss>"),
    "Atom": ("<feed>", "<entry><id>x</id><link href='{}'/></entry>", "</feed>"),
    "a text": ("", "{}\n", ""),
}


@pytest.mark.parametrize(("begin", "entry", "end"), CUT.values(), ids=CUT)
def test_a_file_that_is_cut_anywhere_keeps_the_whole_entries_before(begin: str, entry: str, end: str) -> None:
    urls = [f"{SITE}/{number}" for number in range(5)]
    entries = [entry.format(url) for url in urls]
    whole = begin + "".join(entries) + end
    for cut in range(len(whole) + 1):
        before = sum(len(begin + "".join(entries[: n + 1])) <= cut for n in range(len(urls)))
        found = read_sitemap(whole[:cut].encode()).pages
        assert found[:before] == tuple(urls[:before]), cut
        if end:  # half of the last line of a text is an address, too
            assert set(found) <= set(urls), cut
