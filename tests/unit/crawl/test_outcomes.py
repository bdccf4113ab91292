"""Retry-After and the bodies' decoders as laws; statuses are tabled in tests/hostile."""

import gzip
import zlib
from contextlib import suppress
from datetime import UTC, datetime

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.fetch.content_encoding import InvalidBody, decode, decoders
from streams.crawl.fetch.outcomes import kept, retry_after_seconds

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


def test_only_headers_that_someone_reads_are_kept() -> None:
    headers = {"x-robots-tag": ["noindex", "nofollow"], "set-cookie": ["a=1"], "etag": ["x" * 9_000]}
    assert kept(headers) == {"x-robots-tag": "noindex, nofollow", "etag": "x" * 2_048}


CODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "identity": bytes,
    "": bytes,
}


def decoded(coding: str, data: bytes, piece_bytes: int) -> bytes:
    chain = decoders(coding)
    pieces = (data[start : start + piece_bytes] for start in range(0, len(data), piece_bytes))
    return b"".join(out for piece in pieces for out in decode(piece, chain))


@given(st.sampled_from(sorted(CODERS)), st.binary(max_size=2_000), st.integers(1, 200), st.integers(1, 300))
def test_a_body_is_the_same_in_whatever_pieces_it_comes(coding: str, body: bytes, times: int, piece: int) -> None:
    assert decoded(coding, CODERS[coding](body * times), piece) == body * times


@given(st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.binary(min_size=1, max_size=200), st.integers(1, 50))
def test_noise_is_decoded_or_refused(coding: str, noise: bytes, piece_bytes: int) -> None:
    with suppress(InvalidBody):
        decoded(coding, noise, piece_bytes)
