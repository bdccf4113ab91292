"""Retry-After, and which headers are kept; tests/hostile has the table of statuses."""

from datetime import UTC, datetime

import pytest

from streams.crawl.fetch.outcomes import kept_headers, retry_after_seconds

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
        ("Thu, 99 Jan 2026 12:01:00 GMT", 0),
    ],
)
def test_retry_after(value: str | None, seconds: float) -> None:
    assert retry_after_seconds(value, NOW) == seconds


def test_only_headers_that_a_later_stage_reads_are_kept() -> None:
    headers = {"x-robots-tag": ["noindex", "nofollow"], "set-cookie": ["a=1"], "etag": ["x" * 9_000]}
    assert kept_headers(headers) == {"x-robots-tag": "noindex, nofollow", "etag": "x" * 2_048}
