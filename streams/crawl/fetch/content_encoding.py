"""Content codings, decoded piece by piece, so that a decompression bomb is found before it is unpacked. Pure.

Only one piece of output is held at a time: 2 MB of gzip that would become 2 GiB stop at the caller's limit. The input
bytes of each coding are limited, and so is the number of its members or frames, because both can be endless without any
output. Each piece costs little time, so the caller decides how often it lets other tasks run.

A coding that nobody registered (`utf-8`, `none`, `aws-chunked`) changes nothing, as in browsers, and so does a coding
whose body is plain text in truth. A body that was compressed twice, and says so once, is unpacked twice.
"""

import re
import zlib
from collections.abc import Iterator
from typing import Protocol

import brotli
from backports import zstd

PIECE_BYTES = 64 * 1024
MAX_CODINGS = 2
"""Maximum number of codings of one body. Servers behind proxies sometimes compress twice; more is an attack."""
ZSTD_WINDOW_LOG = 23
"""Maximum window, as a power of two: 8 MiB, the largest of this content coding (RFC 9659, section 3)."""
ACCEPT_ENCODING = "gzip, deflate, br, zstd"
FIRST_BYTES = 16
"""Number of bytes by which a plain body is known from a compressed one."""

MAX_MEMBERS = 1_000
"""Maximum number of gzip members and zstd frames in one body."""
OVERHEAD_BYTES = 64 * 1024
"""Maximum excess of an encoded body over the decoded body (bytes)."""
_UNREADABLE = frozenset({"aes128gcm", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress"})
"""Registered codings that change a body and that no request asks for (IANA, HTTP Content Coding Registry)."""
_GZIP = b"\x1f\x8b"
_ZSTD_BYTES = 4
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--")


class InvalidBody(ValueError):
    """The body is not in the coding that its Content-Encoding names."""


class BodyEndsEarly(InvalidBody):
    """The body ends before its content coding does: some of it is missing."""


class Members:
    """Counts the members and frames of one body, over all of its codings."""

    def __init__(self, limit: int = MAX_MEMBERS) -> None:
        self._left = limit

    def count(self) -> None:
        """Count one more member or frame. Raises InvalidBody if there are too many."""
        self._left -= 1
        if self._left < 0:
            raise InvalidBody(f"more than {MAX_MEMBERS} gzip members or zstd frames")


class Decoder(Protocol):
    """One content coding."""

    @property
    def complete(self) -> bool:
        """True if the data may end here: nothing was fed yet, or the last member or frame is complete."""
        ...

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield all output for `data`, in pieces of 0 to PIECE_BYTES bytes."""
        ...


class _Deflate:
    """gzip (RFC 1952, several members allowed) and deflate (RFC 1950; servers also send bare RFC 1951)."""

    def __init__(self, gzip: bool, members: Members) -> None:
        self._gzip = gzip
        self._members = members
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16 if gzip else zlib.MAX_WBITS)
        self._first = b""
        """The data until there are the two bytes that the format is recognized by."""
        self._begun = False
        self._padding = False

    @property
    def complete(self) -> bool:
        return self._padding or self._stream.eof or not (self._begun or self._first)

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not self._begun:
            data = self._first = self._first + data
            if len(data) < 2:
                return
            self._begun = True
            if not self._gzip and not _has_zlib_header(data):
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        yield from self._inflate(data)

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        pending = False
        while (data or pending) and not self._padding:
            if self._stream.eof:
                # Browsers ignore the padding behind the last member, too.
                self._padding = not (self._gzip and data.startswith(b"\x1f"))
                if self._padding:
                    return
                self._members.count()
                self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            piece = self._stream.decompress(data, PIECE_BYTES)
            yield piece
            data = self._stream.unconsumed_tail or self._stream.unused_data
            # zlib may hold output after it took all input: only a piece that is not full shows that zlib is empty.
            pending = len(piece) == PIECE_BYTES and not self._stream.eof


class _Brotli:
    """Brotli (RFC 7932). Bytes after the end of the stream are ignored."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._begun = False

    @property
    def complete(self) -> bool:
        return bool(self._stream.is_finished()) or not self._begun

    def feed(self, data: bytes) -> Iterator[bytes]:
        if not data:
            return
        self._begun = True
        while not self._stream.is_finished():
            piece = self._stream.process(data, output_buffer_limit=PIECE_BYTES)
            yield piece
            data = b""
            # `can_accept_more_data` is also true while output is pending, so only an empty piece ends the loop.
            if not piece and self._stream.can_accept_more_data():
                return


class _Zstandard:
    """Zstandard (RFC 8878), with the window of RFC 9659. Several frames are allowed."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._stream = self._fresh()
        self._begun = False

    @property
    def complete(self) -> bool:
        return self._stream.eof or not self._begun

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._stream.needs_input or self._stream.eof):
            if self._stream.eof:
                self._members.count()
                self._stream = self._fresh()
            self._begun = True
            yield self._stream.decompress(data, PIECE_BYTES)
            data = self._stream.unused_data if self._stream.eof else b""

    @staticmethod
    def _fresh() -> zstd.ZstdDecompressor:
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: ZSTD_WINDOW_LOG})


_ERRORS = (zlib.error, brotli.error, zstd.ZstdError, EOFError)


class _Coding:
    """One coding of a body, which its first bytes may deny.

    `is_declared` is False for a second gzip, which only the bytes can say.
    """

    def __init__(self, name: str, members: Members, *, is_declared: bool = True) -> None:
        self._name = name
        self._is_declared = is_declared
        self._decoder: Decoder | None = _decoder(name, members)
        self._first = b""
        self._begun = False

    @property
    def complete(self) -> bool:
        return self._decoder is None or self._decoder.complete

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield all output for `data`. It waits for FIRST_BYTES."""
        if not self._begun:
            data = self._first = self._first + data
            if len(data) < FIRST_BYTES:
                return
        yield from self._decode(data)

    def finish(self) -> Iterator[bytes]:
        """Yield the output for a body that is shorter than FIRST_BYTES."""
        if not self._begun:
            yield from self._decode(self._first)

    def _decode(self, data: bytes) -> Iterator[bytes]:
        if not self._begun:
            self._begun = True
            if self._is_plain(data[:FIRST_BYTES]):
                self._decoder = None
        if self._decoder is None:
            yield data
        else:
            yield from self._decoder.feed(data)

    def _is_plain(self, first: bytes) -> bool:
        """Return whether a body that begins like this can't be in the coding. Text has no control characters."""
        match self._name:
            case "gzip" if not self._is_declared:
                return not first.startswith(_GZIP)
            case "gzip":
                return bool(first) and not first.startswith(_GZIP) and not _CONTROL.search(first)
            case "zstd":
                return len(first) >= _ZSTD_BYTES and not _ZSTD.match(first) and not _CONTROL.search(first)
        return first.lstrip().lower().startswith(_MARKUP)


class BodyDecoder:
    """Decodes one body from the codings of its Content-Encoding header.

    Each coding may read `max_bytes` and OVERHEAD_BYTES more. The caller limits the output of the last coding. Raises
    InvalidBody if the header is invalid.
    """

    def __init__(self, content_encoding: str, max_bytes: int) -> None:
        names = [_name_of(item) for item in content_encoding.split(",")]
        if unreadable := _UNREADABLE.intersection(names):
            raise InvalidBody(f"the content coding {min(unreadable)!r} was not asked for")
        names = [name for name in names if name in _KNOWN]
        if len(names) > MAX_CODINGS:
            raise InvalidBody(f"{len(names)} content codings, {MAX_CODINGS} are allowed")
        members = Members()
        self._chain = [_Coding(name, members) for name in reversed(names)]
        if names == ["gzip"]:
            self._chain.append(_Coding("gzip", members, is_declared=False))
        self._max_bytes = max_bytes + OVERHEAD_BYTES
        self._read_bytes = [0 for _ in self._chain]

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode the next part of the body. Yields the output in pieces, some of them empty. Raises InvalidBody."""
        try:
            yield from self._decode(data, 0)
        except _ERRORS as error:
            raise InvalidBody(f"the body can't be decompressed: {error}") from error

    def _decode(self, data: bytes, level: int) -> Iterator[bytes]:
        if level == len(self._chain) or not data:
            yield data
            return
        self._read_bytes[level] += len(data)
        if self._read_bytes[level] > self._max_bytes:
            raise InvalidBody(f"the compressed body is longer than {self._max_bytes} bytes")
        for piece in self._chain[level].feed(data):
            yield from self._decode(piece, level + 1)

    def finish(self) -> Iterator[bytes]:
        """Yield the last pieces, after the last part of the body. Raises BodyEndsEarly if something is missing."""
        try:
            for level, coding in enumerate(self._chain):
                for piece in coding.finish():
                    yield from self._decode(piece, level + 1)
        except _ERRORS as error:
            raise InvalidBody(f"the body can't be decompressed: {error}") from error
        if not all(coding.complete for coding in self._chain):
            raise BodyEndsEarly("the body ends before its content coding does")


_KNOWN = frozenset({"gzip", "deflate", "br", "zstd"})


def _name_of(item: str) -> str:
    """Return the name of a coding, without parameters and quotes."""
    name = item.partition(";")[0].strip(" \t\"'").lower()
    return "gzip" if name == "x-gzip" else name


def _decoder(name: str, members: Members) -> Decoder:
    match name:
        case "gzip":
            return _Deflate(True, members)
        case "deflate":
            return _Deflate(False, members)
        case "br":
            return _Brotli()
    return _Zstandard(members)


def _has_zlib_header(data: bytes) -> bool:
    """Return whether the data has a zlib header: method 8, first two bytes a multiple of 31 (RFC 1950, section 2.2)."""
    return data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
