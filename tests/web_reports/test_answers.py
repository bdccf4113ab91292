"""Answers of servers that users of other crawlers reported, and what browsers make of them.

The forms themselves are tested where they are read: test_framing, test_content_encoding, test_media_types.
"""

import gzip
from datetime import UTC, datetime

import pytest

from schemas.ids import page_id
from streams.allowed_origins import NO_ORIGINS
from streams.crawl.fetch.outcomes import retry_after_seconds
from streams.crawl.frontier.intake.answers import _own_sitemaps
from streams.crawl.robots import robots_access
from streams.stores.protocols import FrontierUrl
from tests.hostile.servers import Script, raw, response
from tests.web_reports.harness import allowed, fetch1, robots

GITHUB = "https://github.com/"
PAGE = b"<p>Hello from the page"
LENGTH = f"Content-Length: {len(PAGE)}"
HTML = "Content-Type: text/html"


def head(*lines: str, body: bytes = PAGE) -> Script:
    return raw("\r\n".join(("HTTP/1.1 200 OK", *lines, "", "")).encode("latin-1") + body)


def coded(coding: str, body: bytes = PAGE) -> Script:
    return head(HTML, f"Content-Encoding: {coding}", f"Content-Length: {len(body)}", body=body)


def typed(content_type: str) -> Script:
    return head(f"Content-Type: {content_type}", LENGTH)


POLICY = "Content-Security-Policy: " + "a" * 9_000
PRELOADS = "Link: " + ", ".join(f"</js/{n:05}.js>; rel=preload; as=script" for n in range(300))
WARNING = "PHP Warning: Module x already loaded in Unknown on line 0"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
BOTH = head(HTML, "Transfer-Encoding: chunked", "Content-Length: 500", body=CHUNKS)
UPLOADED = coded("gzip,aws-chunked", gzip.compress(PAGE))
PAGES: list[tuple[str, str, Script]] = [
    # (report, situation, what the server sends)
    ("Rongronggg9/RSS-to-Telegram-Bot/issues/705", "a policy of 9 kB", head(HTML, POLICY, LENGTH)),
    ("aio-libs/aiohttp/issues/2304", "preloads of 15 kB", head(HTML, PRELOADS, LENGTH)),
    ("sbstp/attohttpc/issues/92", "a warning of PHP between the headers", head(HTML, WARNING, LENGTH)),
    ("Karlson2k/libmicrohttpd/issues/15", "the same length twice", head(HTML, LENGTH, LENGTH)),
    ("aio-libs/aiohttp/pull/6182", "chunks and a length", BOTH),
    ("apify/crawlee/issues/1067", "the coding `none`", coded("none")),
    ("dondai44423/donsetch/issues/290", "the coding `utf-8`", coded("utf-8")),
    ("sparklemotion/mechanize/issues/138", "the coding `aws-chunked`", coded("aws-chunked")),
    ("hgoebl/DavidWebb/issues/31", "the coding `binary`", coded("binary")),
    ("dondai44423/donsetch/issues/290", "gzip, and how the file was uploaded", UPLOADED),
    ("bda-research/node-crawler/issues/193", "a type twice", typed("text/html, text/html; charset=utf-8")),
    ("bda-research/node-crawler/issues/193", "a colon in place of the semicolon", typed("text/html:charset=UTF-8")),
    ("aden-hive/hive/issues/2804", "no type, but a character set", typed("charset=utf-8")),
    ("postmodern/spidr/issues/32", "any type", typed("*/*")),
    ("postmodern/spidr/issues/32", "an unknown type", typed("unknown/unknown")),
]


@pytest.mark.parametrize(("report", "situation", "script"), PAGES, ids=[row[1] for row in PAGES])
async def test_a_page_that_browsers_show_is_read(report: str, situation: str, script: Script) -> None:
    answer = await fetch1(script)
    assert (answer.verdict.outcome, answer.body) == ("ok", PAGE), f"{GITHUB}{report}: {situation}"


async def test_bytes_behind_the_length_of_a_body_are_no_part_of_it() -> None:
    """https://github.com/dotnet/corefx/issues/21314: the length counted letters, and not bytes."""
    answer = await fetch1(head(HTML, "Connection: close", f"Content-Length: {len(PAGE) - 4}"))
    assert (answer.verdict.outcome, answer.body) == ("ok", PAGE[:-4])


async def test_a_refresh_of_the_header_leads_on() -> None:
    """https://github.com/apache/stormcrawler/issues/350: an empty page whose header leads to another one."""
    answer = await fetch1(head(HTML, "Refresh: 0; url=/new", "Content-Length: 0", body=b""))
    assert answer.verdict.redirect_to == "https://bad.example/new"


@pytest.mark.parametrize("value", ["120.5", "120s", "120 seconds", "120, 120"])
def test_a_server_that_asks_for_time_is_not_asked_sooner(value: str) -> None:
    """https://github.com/squirrelscan/squirrelscan/pull/196: forms near that of the standard."""
    assert retry_after_seconds(value, datetime(2026, 1, 1, tzinfo=UTC)) >= 120


RULES = b"User-agent: *\nDisallow:"
ROBOTS: list[tuple[str, str, Script]] = [
    (
        "Rongronggg9/RSS-to-Telegram-Bot/issues/705",
        "a policy of 9 kB",
        head("Content-Type: text/plain", POLICY, f"Content-Length: {len(RULES)}", body=RULES),
    ),
    ("lightpanda-io/browser/pull/3201", "no content", response(status="204 No Content")),
    ("lightpanda-io/browser/pull/3201", "accepted", response(status="202 Accepted")),
    ("lightpanda-io/browser/pull/3201", "a part", response(RULES, status="206 Partial Content")),
]


@pytest.mark.parametrize(("report", "situation", "script"), ROBOTS, ids=[row[1] for row in ROBOTS])
async def test_a_success_for_robots_txt_opens_the_host(report: str, situation: str, script: Script) -> None:
    answer = await fetch1(script, "/robots.txt", purpose="robots")
    assert robots_access(answer.verdict.outcome, 0) == "rules", f"{GITHUB}{report}: {situation}"
    assert answer.body is not None


def test_a_sitemap_without_a_scheme_leads_to_no_path_of_its_words() -> None:
    """https://github.com/nystudio107/craft-seomatic/issues/824: `www.site.example/sitemap.xml`."""
    url = FrontierUrl(page_id("https://site.example/a/b"), "https://site.example/a/b", "site.example", "done", 0)
    named = robots("Sitemap: www.site.example/sitemap.xml\nSitemap: maps.xml\n").sitemaps
    assert _own_sitemaps(named, url, NO_ORIGINS) == ["https://site.example/maps.xml"]


@pytest.mark.parametrize("mark", ["\xa0", "\u200b"])
def test_spaces_of_web_pages_and_invisible_characters_forbid_as_their_writer_meant(mark: str) -> None:
    """https://github.com/meziantou/Meziantou.Framework/pull/2618: rules that were copied out of a page."""
    assert not allowed(f"{mark}User-agent:{mark}*\n{mark}Disallow:{mark}/x\n", "/x")
