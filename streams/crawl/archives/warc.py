"""A reader of WARC files (ISO 28500, versions 1.0 and 1.1), gzipped or not, with limits. Pure.

An archive may come from anywhere: it may end early, have wrong lengths or unpack to gigabytes. So each line has a
limit, and a block above the limit is skipped without being held. A record is valid only if the next record begins
where its length says, and if its digest (where it has one) matches its content. After an invalid record the reader
looks for the next record's first line.

Why not warcio or fastwarc: after a Content-Length that is too long both read the next record as a part of the block.
After a Content-Length that is too short fastwarc ends the whole file with an error. warcio has no limit on headers. The
tests compare this reader with warcio.

The reader does not read ARC files, or records in another compression than gzip.
"""

import gzip
import zlib
from base64 import b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from io import BufferedIOBase
from typing import BinaryIO, cast

from streams.crawl.fetch.outcomes import header_text

MAX_LINE_BYTES = 64 * 1024
"""Maximum length of a line of headers (bytes)."""
MAX_HEADER_LINES = 1_000
_PIECE_BYTES = 1024 * 1024
_BUFFER_BYTES = 64 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_FIRST_LINE = b"WARC/1."


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record. `block` is None if it is above the limit; `damage` is the reason why the record is invalid."""

    headers: Mapping[str, str]
    """Lower-case names."""
    block: bytes | None = None
    damage: str = ""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An HTTP response of a record. The body has no transfer coding, but still its content coding."""

    status: int
    headers: Mapping[str, list[str]]
    """Lower-case names."""
    body: bytes
    complete: bool = True
    """False if the last chunk of the chunked coding is missing."""


class NotWarc(ValueError):
    """The file does not begin like a WARC file."""


def read_records(file: BinaryIO, max_block_bytes: int) -> Iterator[WarcRecord]:
    """Read the records in order, also damaged ones. Raises NotWarc if the file doesn't begin with a record."""
    magic = file.read(2)
    file.seek(0)
    stream = _Input(gzip.GzipFile(fileobj=file, mode="rb") if magic == _GZIP_MAGIC else cast(BufferedIOBase, file))
    line = b""
    try:
        line = stream.text_line()
        if not line.startswith(_FIRST_LINE):
            raise NotWarc(f"it begins with {line[:20]!r} instead of WARC/1.0 or WARC/1.1")
        while line:
            record, line = _read_record(stream, max_block_bytes)
            yield record
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        damage = f"the gzip data ends early or is damaged ({error})"
        if not line:
            raise NotWarc(damage) from error
        yield WarcRecord({}, damage=damage)


class _Input:
    """Buffered input of an archive. It skips long runs of empty lines or garbage without a loop over lines."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream
        self._buffer = b""
        self._position = 0

    def _fill(self) -> bool:
        piece = self._stream.read1(_BUFFER_BYTES)  # unlike `read`, it returns all bytes before a damaged part
        self._buffer = self._buffer[self._position :] + piece
        self._position = 0
        return bool(piece)

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer at the end of the file."""
        data = self._buffer[self._position : self._position + size]
        self._position += len(data)
        return data + self._stream.read(size - len(data)) if len(data) < size else data

    def line(self) -> bytes:
        """Read a line, cut at MAX_LINE_BYTES; b"" at the end of the file."""
        while True:
            end = self._buffer.find(b"\n", self._position, self._position + MAX_LINE_BYTES) + 1
            if end or len(self._buffer) - self._position >= MAX_LINE_BYTES or not self._fill():
                rest = len(self._buffer) - self._position
                return self.read(end - self._position if end else min(rest, MAX_LINE_BYTES))

    def text_line(self) -> bytes:
        """Read the next line that isn't empty; b"" at the end of the file."""
        while True:
            self._buffer = self._buffer[self._position :].lstrip()
            self._position = 0
            if self._buffer or not self._fill():
                return self.line()

    def first_line(self) -> bytes:
        """Read the next first line of a record; b"" if there is none."""
        pattern = b"\n" + _FIRST_LINE
        self._buffer = b"\n" + self._buffer[self._position :]
        self._position = 0
        while (found := self._buffer.find(pattern)) < 0:
            self._position = max(0, len(self._buffer) - len(pattern))
            if not self._fill():
                self._position = len(self._buffer)
                return b""
        self._position = found + 1
        return self.line()


def _read_record(stream: _Input, max_block_bytes: int) -> tuple[WarcRecord, bytes]:
    """Read the record after a first line, and the next record's first line."""
    headers = _read_headers(stream)
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 16):
        return WarcRecord(headers, damage="it has no valid Content-Length"), stream.first_line()
    block = _read_block(stream, int(length), max_block_bytes)
    line = stream.text_line()
    damage = ""
    if line and not line.startswith(_FIRST_LINE):
        damage = "its Content-Length is wrong: the next record doesn't begin after it"
    elif block is not None and len(block) < int(length):
        damage = f"it ends early: it has {len(block)} of {length} bytes"
    elif block is not None and not _digest_matches(headers.get("warc-block-digest", ""), block):
        damage = "its digest doesn't match its content"
    return WarcRecord(headers, block, damage), line if line.startswith(_FIRST_LINE) else stream.first_line()


def _read_headers(stream: _Input) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADER_LINES):
        line = stream.line()
        if not line.strip():
            return headers
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers.setdefault(name.strip().lower(), value.strip())
    return {}


def _read_block(stream: _Input, length: int, limit: int) -> bytes | None:
    """Read up to `length` bytes. If they are more than the limit, skip them piece by piece and return None."""
    if length <= limit:
        return stream.read(length)
    while length > 0 and (piece := stream.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
    return None


def _digest_matches(digest: str, block: bytes) -> bool:
    """Return whether a digest fits its block. Only SHA-1 (in base 32 or 16) is checked, the standard's example."""
    algorithm, _, value = digest.partition(":")
    if algorithm.lower() != "sha1":
        return True
    expected = sha1(block, usedforsecurity=False).digest()
    return value.upper() in (b32encode(expected).decode(), expected.hex().upper())


def parse_response(block: bytes) -> HttpResponse | None:
    """Parse the HTTP response in a block; None if there is none."""
    head, separator, body = block.partition(b"\r\n\r\n")
    if not separator:
        head, separator, body = block.partition(b"\n\n")
    lines = head[: 16 * MAX_LINE_BYTES].split(b"\n")
    version, _, rest = lines[0].decode("latin-1").partition(" ")
    status = rest.strip()[:3]
    if not (version.startswith("HTTP/") and status.isascii() and status.isdigit() and separator):
        return None
    headers: dict[str, list[str]] = {}
    for line in lines[1:MAX_HEADER_LINES]:
        name, colon, value = line.partition(b":")
        if colon:
            headers.setdefault(name.strip().decode("latin-1").lower(), []).append(header_text(value.strip()))
    chunked = "chunked" in ", ".join(headers.get("transfer-encoding", ())).lower()
    body, complete = remove_chunked_coding(body) if chunked else (body, True)
    return HttpResponse(int(status), headers, body, complete)


def remove_chunked_coding(body: bytes) -> tuple[bytes, bool]:
    """Remove the chunked coding (RFC 9112, section 7.1); many archives have removed it before.

    Returns the body, and False if the body has chunks but not the last chunk.
    """
    parts: list[bytes] = []
    position = 0
    while True:
        end = body.find(b"\r\n", position, position + 1_024)
        size = body[position:end].partition(b";")[0].strip() if end >= 0 else b""
        if not size or len(size) > 8 or size.strip(b"0123456789abcdefABCDEF"):
            return (b"".join(parts), False) if parts else (body, True)
        length = int(size, 16)
        if length == 0:
            return b"".join(parts), True
        parts.append(body[end + 2 : end + 2 + length])
        position = end + 2 + length + 2
