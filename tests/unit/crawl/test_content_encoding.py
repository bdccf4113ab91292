"""Content codings: the decoders give what the libraries give, in whatever parts a body arrives."""

import gzip
import random
import zlib
from collections.abc import Callable
from itertools import pairwise

import brotli
import pytest
from backports import zstd
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.crawl.fetch.content_encoding import PIECE_BYTES, BodyDecoder, BodyEndsEarly, InvalidBody
from tests.sizes import FULL


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


MAX_BYTES = 3_000_000


def in_two(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Compress as two members or frames."""
    return lambda body: compress(body[: len(body) // 3]) + compress(body[len(body) // 3 :])


def fast_brotli(body: bytes) -> bytes:
    return bytes(brotli.compress(body, quality=4))


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip, two members": ("x-gzip", in_two(gzip.compress)),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", fast_brotli),
    "zstd": ("zstd", zstd.compress),
    "zstd, two frames": ("zstd", in_two(zstd.compress)),
    "gzip in brotli": ("gzip, br", lambda body: fast_brotli(gzip.compress(body))),
    "brotli in gzip": ("br, gzip", lambda body: gzip.compress(fast_brotli(body))),
    "zlib in zstd": ("deflate, zstd", lambda body: zstd.compress(zlib.compress(body))),
    "zstd in raw deflate": ("zstd, deflate", lambda body: raw_deflate(zstd.compress(body))),
    "gzip in gzip": ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
    "not compressed": ("identity", bytes),
    "gzip in gzip that says so once": ("gzip", lambda body: gzip.compress(gzip.compress(body))),
    "no coding": ("", bytes),
}
COMPRESSED = [name for name in ENCODERS if "two" not in name and "no" not in name]
WORDS = b"the quick brown fox jumps over a lazy dog and <p class='x'> it </p> \xc3\xa9".split()


def page(size: int, seed: int) -> bytes:
    """Text that compresses about as a page does."""
    chance = random.Random(seed)
    return b" ".join(chance.choices(WORDS, k=size // 4 + 1))[:size]


def noise(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def one_letter(size: int, seed: int) -> bytes:
    return bytes([seed % 256]) * size


BODIES = [page, noise, one_letter]


def decoded(coding: str, data: bytes, cuts: list[int]) -> bytes:
    """Decode the data, divided at these positions."""
    decoder = BodyDecoder(coding, MAX_BYTES)
    borders = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    body = b"".join(piece for start, end in pairwise(borders) for piece in decoder.feed(data[start:end]))
    return body + b"".join(decoder.finish())


SIZES = st.one_of(
    st.integers(0, 3_000),
    st.builds(lambda pieces, more: max(pieces * PIECE_BYTES + more, 0), st.integers(0, 6), st.integers(-3, 3)),
    st.integers(0, 3_000_000 if FULL else 300_000),
)


@pytest.mark.parametrize("encoder", ENCODERS)
@given(size=SIZES, seed=st.integers(0, 2**32), kind=st.sampled_from(BODIES), cuts=st.lists(st.integers(0), max_size=20))
@example(size=445_942, seed=1, kind=page, cuts=[])
@example(size=PIECE_BYTES * 4, seed=1, kind=page, cuts=list(range(0, 300_000, 16_384)))
@settings(max_examples=12, deadline=None)
def test_a_body_is_whole_in_every_coding_size_and_division(
    encoder: str, size: int, seed: int, kind: Callable[[int, int], bytes], cuts: list[int]
) -> None:
    coding, encode = ENCODERS[encoder]
    body = kind(size, seed)
    assert decoded(coding, encode(body), cuts) == body


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_body_may_arrive_byte_by_byte(encoder: str) -> None:
    coding, encode = ENCODERS[encoder]
    body = page(3_000, 1)
    assert decoded(coding, encode(body), list(range(4_000))) == body


@pytest.mark.parametrize("encoder", COMPRESSED)
@given(size=st.integers(0, 300_000), missing=st.integers(1), cuts=st.lists(st.integers(0), max_size=5))
@settings(max_examples=15, deadline=None)
def test_a_body_that_ends_early_is_not_accepted(encoder: str, size: int, missing: int, cuts: list[int]) -> None:
    coding, encode = ENCODERS[encoder]
    data = encode(page(size, size))
    part = data[: max(len(data) - missing % len(data), 1)]
    if len(part) < len(data):
        with pytest.raises(BodyEndsEarly):
            decoded(coding, part, cuts)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_response_without_a_body_is_empty_in_any_coding(coding: str) -> None:
    assert decoded(coding, b"", []) == b""


PAGE = b"<!DOCTYPE html><p>Hello from the page"
PLAIN = [
    # (Content-Encoding, why the body is as it is)
    ("none", "a coding that nobody registered"),
    ("utf-8", "a character set in the wrong header"),
    ("UTF-8", "names have no case"),
    ("binary", "the name of another header of mail"),
    ("8bit", "another one"),
    ("text/html", "a media type"),
    ("aws-chunked", "how the file was uploaded"),
    ("identity, none", "several of them"),
    ("lzma", "registered by nobody"),
    ("*", "a value of Accept-Encoding"),
    ('""', "an empty string"),
    (", ,", "an empty list"),
    ("gzip", "the server forgot to compress, and so with the next ones"),
    ("x-gzip", ""),
    ("deflate", ""),
    ("br", ""),
    ("zstd", ""),
    ("gzip, br", ""),
]


@pytest.mark.parametrize("coding", [row[0] for row in PLAIN])
@pytest.mark.parametrize("body", [PAGE, b"<html>", b""])
def test_a_coding_that_is_none_changes_nothing(coding: str, body: bytes) -> None:
    for cuts in ([], list(range(len(body)))):
        assert decoded(coding, body, cuts) == body


@pytest.mark.parametrize("coding", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("body", [b"words", b"\xef\xbb\xbf" + PAGE, "кофе".encode(), b"<p>Hi"])
def test_a_body_without_the_mark_of_its_coding_may_be_any_text(coding: str, body: bytes) -> None:
    assert decoded(coding, body, []) == body


@pytest.mark.parametrize("coding", ["gzip, aws-chunked", "aws-chunked,gzip", "GZIP;q=1", '"gzip"', "none, x-gzip"])
def test_a_known_coding_is_decoded_beside_an_unknown_one(coding: str) -> None:
    assert decoded(coding, gzip.compress(PAGE), [1, 5]) == PAGE


@pytest.mark.parametrize("coding", ["compress", "x-compress", "gzip, exi", "dcb"])
def test_a_registered_coding_that_nobody_asked_for_is_refused(coding: str) -> None:
    with pytest.raises(InvalidBody, match="was not asked for"):
        decoded(coding, PAGE, [])


@given(st.lists(st.integers(0), max_size=5))
def test_padding_behind_gzip_is_ignored_wherever_it_is_divided(cuts: list[int]) -> None:
    assert decoded("gzip", gzip.compress(b"body") + b"\0\0\x1f\x8b\0", cuts) == b"body"


@given(
    st.sampled_from(["gzip", "deflate", "br", "zstd"]),
    st.binary(min_size=1, max_size=200),
    st.lists(st.integers(0), max_size=5),
)
def test_noise_is_decoded_or_refused_however_it_is_divided(coding: str, data: bytes, cuts: list[int]) -> None:
    whole, divided = (decoded_or_refused(coding, data, places) for places in ([], cuts))
    # Brotli refuses a stream that ends with wrong padding only if the same part of the body has bytes behind its end.
    assert whole == divided or (coding == "br" and not whole and not divided)


def decoded_or_refused(coding: str, data: bytes, cuts: list[int]) -> bytes | None:
    try:
        return decoded(coding, data, cuts)
    except InvalidBody:
        return None
