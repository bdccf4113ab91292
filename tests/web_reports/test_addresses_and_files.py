"""Names, certificates, sitemaps and listings that users of other crawlers reported.

The forms themselves are tested where they are read: test_resolver, test_tls_failures, test_sitemap_forms,
test_web_dates, test_media_types; a site whose pages differ at each visit in test_frontier_visit_budget
(https://bonfire.cafe/post/01KBX5M680H8DPX4TPRS72CDCR).
"""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.crawl.content_signals import is_expired
from streams.crawl.fetch.http import close_session, get, limits_of, open_session
from streams.crawl.fetch.resolver import Resolver
from streams.crawl.sitemaps import read_sitemap
from streams.crawl.urls import canonicalize, reason_not_to_crawl
from tests.hostile.servers import bad_server, response
from tests.unit.crawl.test_resolver import addresses, name_server
from tests.web_reports.harness import fetch1, norm

PUBLIC, OTHER, PRIVATE = "93.184.215.14", "93.184.215.15", "10.0.0.5"
NAMES = [
    # report, addresses of the name server, what is tried
    ("https://github.com/XTLS/Xray-core/issues/4473", (PUBLIC, OTHER), {PUBLIC, OTHER}),  # the first may be dead
    ("https://github.com/sabnzbd/sabnzbd/issues/3099", (PRIVATE, PUBLIC), {PUBLIC}),  # the guard refuses the other
]


@pytest.mark.parametrize(("report", "known", "tried"), NAMES)
async def test_all_public_addresses_of_a_name_are_tried(report: str, known: tuple[str, ...], tried: set[str]) -> None:
    async with name_server(*known) as (_, server):
        resolver = Resolver({}, time.monotonic, [server])
        found = {host for host, _ in await addresses(resolver, "www.example.com")}
        await resolver.close()
    assert found - {PRIVATE} == tried, report


async def test_a_missing_intermediate_certificate_has_a_sentence(tmp_path: Path) -> None:
    """https://github.com/curl/curl/issues/2793: browsers fetch it by themselves, so the operator sees no fault."""
    async with bad_server(tmp_path, {"/": response(b"<p>hi")}, trusted=False) as server:
        crawl = server.settings(timeout_seconds=5)
        session = open_session(crawl)
        answer = await get(
            session, "https://bad.example/", purpose="page", limits=limits_of(crawl), monotonic=time.monotonic
        )
        await close_session(session)
    assert "the chain of certificates is incomplete" in (answer.verdict.error or "")


TYPES = [
    ("https://github.com/scrapy/scrapy/issues/2063", "binary/octet-stream"),
    ("https://github.com/Norconex/crawler/pull/688", "application/x-gzip-compressed"),
    ("https://github.com/Norconex/crawler/pull/688", "application/zip"),
    ("https://github.com/scrapy/scrapy/issues/2900", "application/xml-sitemap"),
]


@pytest.mark.parametrize(("report", "content_type"), TYPES)
async def test_a_sitemap_is_read_whatever_its_type(report: str, content_type: str) -> None:
    answer = await fetch1(response(b"<urlset/>", content_type=content_type), "/sitemap.xml.gz", "sitemap")
    assert answer.verdict.outcome == "ok", report


@pytest.mark.parametrize(
    "date", ["2026", "2026-03", "2026-03-04T10:20+01:00", "2026-03-04T10:20:30.5Z", "2026-03-04 10:20:30"]
)
def test_the_date_of_a_sitemaps_page_is_read(date: str) -> None:
    """https://github.com/ekalinin/sitemap.js/issues/174"""
    entry = f"<url><loc>https://site.example/1</loc><lastmod>{date}</lastmod></url>"
    assert read_sitemap(f"<urlset>{entry}</urlset>".encode()).modified


@pytest.mark.parametrize(
    "date",
    [
        "25-Aug-2020 15:00:00 EST",
        "2020-08-25 15:00:00 PST",
        "Tuesday, 25-Aug-20 15:00:00 UTC",
        "2020-08-25",
        "Aug 25, 2020",
    ],
)
def test_a_past_date_takes_a_page_out(date: str) -> None:
    """https://github.com/GoogleChrome/lighthouse/pull/3657"""
    page = norm(f"<meta name=robots content='unavailable_after: {date}'><p>x")
    assert is_expired(page.directives, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("query", [f"C={column};O={order}" for column in "NMSD" for order in "AD"])
def test_a_sorted_listing_is_no_page_of_its_own(query: str) -> None:
    """https://github.com/oupala/apaxy/issues/92: eight links of each folder lead to the same list."""
    url = canonicalize(f"https://example.com/pub/?{query}")
    assert url == "https://example.com/pub/" or reason_not_to_crawl(url)
