"""Bodies as servers compress them, decoded piece by piece, so that a bomb is noticed and not inflated.

Nothing here holds more than one piece of output: 2 MB of gzip that would become 2 GiB stop at the caller's cap. Pure.
"""

import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # it ships no types
from backports import zstd

PIECE_BYTES = 64 * 1024
MAX_CODINGS = 2
"""Servers behind proxies sometimes compress twice; more is an attack on the decoder."""
ZSTD_WINDOW_LOG = 23
"""8 MiB, the largest window of the content coding (RFC 9659, section 3)."""
ACCEPT_ENCODING = "gzip, deflate, br, zstd"


class InvalidBody(ValueError):
    """The body isn't what its Content-Encoding says."""


class Decoder(Protocol):
    """One content coding. `feed` yields pieces of at most about PIECE_BYTES."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...


class _Deflate:
    """gzip (RFC 1952, several members allowed) and deflate (RFC 1950; servers also send bare RFC 1951)."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16 if gzip else zlib.MAX_WBITS)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._begun and data and not self._gzip and not _has_zlib_header(data):
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        self._begun = self._begun or bool(data)
        while data:
            if self._stream.eof:
                if not self._gzip or not data.startswith(b"\x1f"):
                    return  # padding behind the last member, which every browser ignores
                self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            yield self._stream.decompress(data, PIECE_BYTES)
            data = self._stream.unconsumed_tail or self._stream.unused_data


class _Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._stream.process(data, output_buffer_limit=PIECE_BYTES)
        while not self._stream.can_accept_more_data():
            yield self._stream.process(b"", output_buffer_limit=PIECE_BYTES)


class _Zstandard:
    """RFC 8878, with the window of RFC 9659. Several frames are allowed."""

    def __init__(self) -> None:
        self._stream = self._fresh()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._stream.eof:
                data = self._stream.unused_data or data
                if not data:
                    return
                self._stream = self._fresh()
            yield self._stream.decompress(data, PIECE_BYTES)
            data = b""
            if self._stream.needs_input and not self._stream.eof:
                return

    @staticmethod
    def _fresh() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})


_ERRORS = (zlib.error, brotli.error, zstd.ZstdError, EOFError)


def decoders(content_encoding: str) -> list[Decoder]:
    """One decoder per coding of a Content-Encoding header, in the order of decoding. Raises InvalidBody."""
    codings = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in codings if name not in ("", "identity")]
    if len(codings) > MAX_CODINGS:
        raise InvalidBody(f"{len(codings)} content codings, {MAX_CODINGS} are allowed")
    return [_decoder(name) for name in reversed(codings)]


def decode(data: bytes, chain: list[Decoder]) -> Iterator[bytes]:
    """The pieces that `data`, the next part of a body, comes to. Raises InvalidBody."""
    if not chain:
        yield data
        return
    try:
        for piece in chain[0].feed(data):
            yield from decode(piece, chain[1:])
    except _ERRORS as error:
        raise InvalidBody(f"the body can't be decompressed: {error}") from error


def _decoder(name: str) -> Decoder:
    match name:
        case "gzip" | "x-gzip":
            return _Deflate(gzip=True)
        case "deflate":
            return _Deflate(gzip=False)
        case "br":
            return _Brotli()
        case "zstd":
            return _Zstandard()
    raise InvalidBody(f"unknown content coding {name[:40]!r}")


def _has_zlib_header(data: bytes) -> bool:
    """RFC 1950, section 2.2: method 8, and the first two bytes a multiple of 31 (one byte alone can't tell)."""
    if len(data) < 2:
        return data[0] & 0x0F == 8
    return data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
