"""Retry-After, and which headers are kept; tests/hostile has the table of statuses."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.fetch.outcomes import classify_response, header_text, retry_after_seconds, select_headers

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("120", 120),
        (" 7 ", 7),
        ("-5", 0),
        ("soon", 0),
        ("²", 0),
        ("9" * 5_000, 86_400),
        ("Thu, 01 Jan 2026 12:01:00 GMT", 60),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("Thu, 01 Jan 2099 11:00:00 GMT", 86_400),
        (" " * 20 + "7", 7),
        ("Thu, 01 Jan 2026 12:01:00 +99999999999999", 0),
        ("Thu, 01 Jan 2026 12:01:00 -99999999999999", 0),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0),
        ("Fri, 31 Dec 9999 23:59:59 -2359", 86_400),
        ("Thu, 99 Jan 2026 12:01:00 GMT", 0),
        # Forms that are near the grammar: a server that asks for time is not asked sooner.
        ("+120", 120),
        ("120.5", 120.5),
        ("120s", 120),
        ("120 seconds", 120),
        ("120 Sec.", 120),
        ("2 minutes", 120),
        ("2m", 120),
        ("1h", 3_600),
        ("1500 ms", 1.5),
        ("PT120S", 120),
        ('"120"', 120),
        ("120, 120", 120),
        ("5, 120", 120),
        ("Thu, 01 Jan 2026 12:01:00 GMT, Thu, 01 Jan 2026 12:01:00 GMT", 60),
        ("2026-01-01T12:02:00Z", 120),
        ("2026-01-01 12:02:00", 120),
        ("1767268920", 120),
        ("1767268920000", 120),
        ("31536000", 86_400),
        ("minutes", 0),
        ("-120s", 0),
    ],
)
def test_retry_after(value: str | None, seconds: float) -> None:
    assert retry_after_seconds(value, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"text/html", "text/html"),
        ("/café".encode(), "/café"),
        ("/café".encode("latin-1"), "/café"),
        (b"\xff\xfe", "ÿþ"),
        ("\udcff".encode("utf-8", "surrogatepass"), "í³¿"),
        (b"a\x1b]0;title\x07\x85b", "a ]0;title  b"),
        (b"", ""),
    ],
)
def test_header_bytes_are_utf8_or_latin1(value: bytes, text: str) -> None:
    assert header_text(value) == text


@given(st.text(st.sampled_from("Thu, 01Jan2026:+-9GMT\x00é"), max_size=60))
def test_no_retry_after_raises(value: str) -> None:
    assert 0 <= retry_after_seconds(value, NOW) <= 86_400


def test_only_headers_that_a_later_stage_reads_are_kept() -> None:
    headers = {"x-robots-tag": ["noindex", "nofollow"], "set-cookie": ["a=1"], "etag": ["x" * 9_000]}
    assert select_headers(headers) == {"x-robots-tag": "noindex, nofollow", "etag": "x" * 2_048}


REFRESHES = [
    # Refresh, target of the redirect, why
    ("0; url=/new", "https://a.example/new", "the usual form"),
    ("0;URL='/new'", "https://a.example/new", "quotes and capitals"),
    ("5, /new", "https://a.example/new", "a comma, and no name"),
    (" .5 ; url = /new", "https://a.example/new", "a fraction"),
    ("30; url=/new", None, "a page that waits is meant to be read"),
    ("5", None, "the page itself, again"),
    ("0; url=/x#top", None, "a place of the same page"),
    ("0; url=javascript:alert(1)", None, "no page"),
    ("now; url=/new", None, "no time"),
]


@pytest.mark.parametrize(("value", "target", "why"), REFRESHES)
def test_a_refresh_of_a_few_seconds_is_a_redirect(value: str, target: str | None, why: str) -> None:
    headers = {"refresh": [value], "content-type": ["text/html"]}
    verdict = classify_response("https://a.example/x", 200, headers, "page", conditional=False)
    assert (verdict.outcome, verdict.redirect_to) == ("redirect" if target else "ok", target), why


@pytest.mark.parametrize("status", [200, 201, 202, 203, 204, 205, 206, 226])
def test_each_success_is_an_answer_to_robots_txt(status: int) -> None:
    assert classify_response("https://a.example/robots.txt", status, {}, "robots", conditional=False).outcome == "ok"
