"""WARC files (ISO 28500, versions 1.0 and 1.1), read record by record with limits: gzipped or not. Pure.

An archive comes from anywhere: it may be cut off, lie about lengths or unfold into gigabytes. So each line has a
limit, a block above the limit is skipped and not held, and a record counts only when the next one begins where its
length says (and its digest agrees, where it has one). After a lie the reader looks for the next record's first line.
What it doesn't read: ARC files, and records that are compressed with anything but gzip.
"""

import gzip
import zlib
from base64 import b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import BinaryIO, cast

MAX_LINE_BYTES = 64 * 1024
MAX_HEADER_LINES = 1_000
_PIECE_BYTES = 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_FIRST_LINE = b"WARC/1."


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record. `block` is None when it is above the limit; `damage` says what is wrong with it, if anything is."""

    headers: Mapping[str, str]
    """Lower-case names."""
    block: bytes | None = None
    damage: str = ""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response as it is kept in a record: the body still in its transfer and content codings."""

    status: int
    headers: Mapping[str, list[str]]
    """Lower-case names."""
    body: bytes


class NoWarc(ValueError):
    """The file doesn't begin as a WARC file does."""


def read_records(file: BinaryIO, max_block_bytes: int) -> Iterator[WarcRecord]:
    """The records in order, damaged ones included. Raises NoWarc when there isn't one at the beginning."""
    magic = file.read(2)
    file.seek(0)
    stream = cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb")) if magic == _GZIP_MAGIC else file
    line = b""
    try:
        line = _next_line(stream)
        if not line.startswith(_FIRST_LINE):
            raise NoWarc(f"it begins with {line[:20]!r} and not with WARC/1.0 or WARC/1.1")
        while line:
            record, line = _read_record(stream, max_block_bytes)
            yield record
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        damage = f"the gzip data is cut off or damaged ({error})"
        if not line:
            raise NoWarc(damage) from error
        yield WarcRecord({}, damage=damage)


def _next_line(stream: BinaryIO) -> bytes:
    """The next line that isn't empty; nothing at the end of the file."""
    while (line := stream.readline(MAX_LINE_BYTES)) and not line.strip():
        pass
    return line


def _read_record(stream: BinaryIO, max_block_bytes: int) -> tuple[WarcRecord, bytes]:
    """The record behind a first line, and the next one's first line."""
    headers = _read_headers(stream)
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 16):
        return WarcRecord(headers, damage="it has no valid Content-Length"), _next_first_line(stream, b"")
    block = _read_block(stream, int(length), max_block_bytes)
    line = _next_line(stream)
    damage = ""
    if line and not line.startswith(_FIRST_LINE):
        damage = "its Content-Length is wrong: the next record doesn't begin behind it"
    elif block is not None and len(block) < int(length):
        damage = f"it is cut off: {len(block)} of {length} bytes are there"
    elif block is not None and not _digest_agrees(headers.get("warc-block-digest", ""), block):
        damage = "its digest doesn't agree with its content"
    return WarcRecord(headers, block, damage), _next_first_line(stream, line)


def _next_first_line(stream: BinaryIO, line: bytes) -> bytes:
    """The first line of a record, `line` or one of those that follow."""
    while not line.startswith(_FIRST_LINE):
        line = stream.readline(MAX_LINE_BYTES)
        if not line:
            return b""
    return line


def _read_headers(stream: BinaryIO) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADER_LINES):
        line = stream.readline(MAX_LINE_BYTES)
        if not line.strip():
            return headers
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers.setdefault(name.strip().lower(), value.strip())
    return {}


def _read_block(stream: BinaryIO, length: int, limit: int) -> bytes | None:
    """Up to `length` bytes; None when they are more than the limit, and then they are passed over piece by piece."""
    if length <= limit:
        return stream.read(length)
    while length > 0 and (piece := stream.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
    return None


def _digest_agrees(digest: str, block: bytes) -> bool:
    """Whether it is that of the block. Only SHA-1 in base 32 or 16 is known; the standard names it as its example."""
    algorithm, _, value = digest.partition(":")
    if algorithm.lower() != "sha1":
        return True
    found = sha1(block, usedforsecurity=False).digest()
    return value.upper() in (b32encode(found).decode(), found.hex().upper())


def parse_response(block: bytes) -> HttpResponse | None:
    """The HTTP response in a block; None when there is none."""
    head, separator, body = block.partition(b"\r\n\r\n")
    if not separator:
        head, separator, body = block.partition(b"\n\n")
    lines = head[: 16 * MAX_LINE_BYTES].decode("latin-1").splitlines()
    version, _, rest = (lines[0] if lines else "").partition(" ")
    status = rest.strip()[:3]
    if not (version.startswith("HTTP/") and status.isascii() and status.isdigit() and separator):
        return None
    headers: dict[str, list[str]] = {}
    for line in lines[1:MAX_HEADER_LINES]:
        name, colon, value = line.partition(":")
        if colon:
            headers.setdefault(name.strip().lower(), []).append(value.strip())
    chunked = "chunked" in ", ".join(headers.get("transfer-encoding", ())).lower()
    return HttpResponse(int(status), headers, dechunked(body) if chunked else body)


def dechunked(body: bytes) -> bytes:
    """A body without its chunks (RFC 9112, section 7.1). Many archives undo them and keep the header: so as it was."""
    parts: list[bytes] = []
    position = 0
    while True:
        end = body.find(b"\r\n", position, position + 1_024)
        size = body[position:end].partition(b";")[0].strip() if end >= 0 else b""
        if not size or len(size) > 8 or size.strip(b"0123456789abcdefABCDEF"):
            return b"".join(parts) if parts else body
        length = int(size, 16)
        if length == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + length])
        position = end + 2 + length + 2
