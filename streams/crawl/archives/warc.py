"""A reader of WARC files (ISO 28500, drafts to version 1.1), packed or not (`unpacking`), with limits. Pure.

An archive may come from anywhere: it may end early, have wrong lengths or unpack to gigabytes. So each line has a
limit, and a block above the limit is skipped without being held. A record is valid only if the next record begins
where its length says, and if its digest (where it has one) matches its content. After an invalid record the reader
looks for the next record's first line.

Why not warcio or fastwarc: after a Content-Length that is too long both read the next record as a part of the block.
After a Content-Length that is too short fastwarc ends the whole file with an error. warcio has no limit on headers. The
tests compare this reader with warcio.

The reader does not read ARC files.
"""

from base64 import b16encode, b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5, sha1, sha256
from typing import BinaryIO

from streams.crawl.archives.unpacking import BLOCK_BYTES, DamagedArchive, Unpacked
from streams.crawl.fetch.outcomes import header_text

MAX_LINE_BYTES = 64 * 1024
"""Maximum length of a line of headers (bytes)."""
MAX_HEADER_LINES = 1_000
_PIECE_BYTES = 1024 * 1024
FIRST_LINES = (b"WARC/1.", b"WARC/0.")
"""The beginnings of records. Heritrix wrote drafts of the standard (0.17, 0.18) until 2009."""


_ARC = b"filedesc://"
_ADVICE = ". It is an ARC file: make a WARC file of it, with `warcio recompress FILE.arc.gz FILE.warc.gz`"


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record. `block` is None if it is above the limit; `damage` is the reason why the record is invalid."""

    headers: Mapping[str, str]
    """Lower-case names."""
    block: bytes | None = None
    damage: str = ""
    place: int | None = None
    """Place in the file at which the record can be read again (`WarcFile.read_again`). None: only with others."""


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
    return WarcFile(file, max_block_bytes).records()


class WarcFile:
    """A file of records. A block above the limit is skipped."""

    def __init__(self, file: BinaryIO, max_block_bytes: int) -> None:
        self._file, self._max_block_bytes = file, max_block_bytes
        self._unpacked: Unpacked | None = None
        self.bytes_read_again = 0
        """Number of unpacked bytes of all records that were read again, also in vain."""

    def size(self) -> int:
        """Return the size of the file, as it is stored (bytes)."""
        now = self._file.tell()
        size = self._file.seek(0, 2)
        self._file.seek(now)
        return size

    def records(self) -> Iterator[WarcRecord]:
        """Read the records in order, also damaged ones. Raises NotWarc if the file doesn't begin with a record."""
        line = b""
        try:
            self._unpacked = unpacked = Unpacked(self._file)
            stream = _Input(unpacked)
            line = stream.text_line()
            if not line.startswith(FIRST_LINES):
                advice = _ADVICE if line.startswith(_ARC) else ""
                raise NotWarc(f"it begins with {line[:20]!r} instead of WARC/1.0 or WARC/1.1{advice}")
            while line:
                place = unpacked.place_of(stream.place - len(line))
                record, line = _read_record(stream, self._max_block_bytes, place)
                yield record
        except DamagedArchive as error:
            if not line:
                raise NotWarc(str(error)) from error
            yield WarcRecord({}, damage=str(error))

    def read_again(self, place: int) -> WarcRecord | None:
        """Read a record at its place, in the midst of `records()`. None if there is none."""
        if self._unpacked is None:
            return None
        now = self._file.tell()
        stream: _Input | None = None
        try:
            stream = _Input(self._unpacked.at(place))
            return _read_alone(stream, self._max_block_bytes) if stream.line().startswith(FIRST_LINES) else None
        except DamagedArchive:
            return None
        finally:
            self.bytes_read_again += stream.place if stream else 0
            self._file.seek(now)


class _Input:
    """Buffered input of an archive. It skips long runs of empty lines or garbage without a loop over lines."""

    def __init__(self, stream: Unpacked) -> None:
        self._stream = stream
        self._buffer = b""
        self._position = 0
        self._read = 0
        """Number of unpacked bytes up to the end of the buffer."""

    @property
    def place(self) -> int:
        """The position in the unpacked bytes."""
        return self._read - len(self._buffer) + self._position

    def _fill(self) -> bool:
        piece = self._stream.read1(BLOCK_BYTES)  # it returns all bytes before a damaged part
        self._buffer = self._buffer[self._position :] + piece
        self._position = 0
        self._read += len(piece)
        return bool(piece)

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer at the end of the file."""
        data = self._buffer[self._position : self._position + size]
        self._position += len(data)
        if len(data) == size:
            return data
        rest = self._stream.read(size - len(data))
        self._read += len(rest)
        return data + rest

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
        patterns = [b"\n" + first for first in FIRST_LINES]
        self._buffer = b"\n" + self._buffer[self._position :]
        self._position = 0
        while (found := min((at for each in patterns if (at := self._buffer.find(each)) >= 0), default=-1)) < 0:
            self._position = max(0, len(self._buffer) - len(patterns[0]))
            if not self._fill():
                self._position = len(self._buffer)
                return b""
        self._position = found + 1
        return self.line()


def _read_alone(stream: _Input, max_block_bytes: int) -> WarcRecord | None:
    """Read the record after a first line, and nothing behind it. None if it has no length."""
    headers = _read_headers(stream)
    length = _length_of(headers)
    return None if length is None else WarcRecord(headers, _read_block(stream, length, max_block_bytes))


def _read_record(stream: _Input, max_block_bytes: int, place: int | None) -> tuple[WarcRecord, bytes]:
    """Read the record after a first line, and the next record's first line."""
    headers = _read_headers(stream)
    length = _length_of(headers)
    if length is None:
        return WarcRecord(headers, damage="it has no valid Content-Length"), stream.first_line()
    block = _read_block(stream, length, max_block_bytes)
    line = stream.text_line()
    damage = ""
    if line and not line.startswith(FIRST_LINES):
        damage = "its Content-Length is wrong: the next record doesn't begin after it"
    elif block is not None and len(block) < length:
        damage = f"it ends early: it has {len(block)} of {length} bytes"
    elif block is not None and not _is_whole(headers, block):
        damage = "its digest doesn't match its content"
    record = WarcRecord(headers, block, damage, place)
    return record, line if line.startswith(FIRST_LINES) else stream.first_line()


def _is_whole(headers: Mapping[str, str], block: bytes) -> bool:
    """Return whether a block has its record's digest. wget writes the digest of no bytes into each revisit."""
    is_revisit = headers.get("warc-type", "").lower() == "revisit"
    return is_revisit or digest_matches(headers.get("warc-block-digest", ""), block)


def _length_of(headers: Mapping[str, str]) -> int | None:
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None


def _read_headers(stream: _Input) -> dict[str, str]:
    """Read the headers. A line that begins with a space continues the value before it."""
    headers: dict[str, str] = {}
    last = ""
    for _ in range(MAX_HEADER_LINES):
        line = stream.line()
        if not line.strip():
            return headers
        text = line.decode("utf-8", "replace")
        if text[0] in " \t" and last:
            headers[last] = f"{headers[last]} {text.strip()}"[:MAX_LINE_BYTES]
            continue
        name, _, value = text.partition(":")
        last = name.strip().lower()
        headers.setdefault(last, value.strip())
    return {}


def _read_block(stream: _Input, length: int, limit: int) -> bytes | None:
    """Read up to `length` bytes. If they are more than the limit, skip them piece by piece and return None."""
    if length <= limit:
        return stream.read(length)
    while length > 0 and (piece := stream.read(min(length, _PIECE_BYTES))):
        length -= len(piece)
    return None


_ALGORITHMS = {"sha1": sha1, "sha-1": sha1, "sha256": sha256, "sha-256": sha256, "md5": md5}


def digest_matches(digest: str, block: bytes) -> bool:
    """Return whether a digest (in base 32 or 16) fits its block. One by another algorithm fits."""
    algorithm, _, value = digest.partition(":")
    if (compute := _ALGORITHMS.get(algorithm.strip().lower())) is None:
        return True
    expected = compute(block, usedforsecurity=False).digest()
    return value.strip().rstrip("=").upper() in (b32encode(expected).decode().rstrip("="), b16encode(expected).decode())


def content_of(record: WarcRecord) -> HttpResponse | None:
    """Return the response in a record, or the content of a `resource`, which has no HTTP; None if there is none."""
    block, kind = record.block or b"", record.headers.get("content-type", "")
    if record.headers.get("warc-type", "").lower() == "resource" and not kind.lower().startswith("application/http"):
        return HttpResponse(200, {"content-type": [kind]}, block)
    return parse_response(block)


def parse_response(block: bytes) -> HttpResponse | None:
    """Parse the HTTP response in a block; None if there is none.

    The lines of its head may end with a bare line feed. Writers spell the first one as they like: `HTTP/2 200`,
    `http/1.1 200 OK`, `h2 200`.
    """
    head, body = _split_head(block)
    if body is None:
        return None
    lines = head[: 16 * MAX_LINE_BYTES].split(b"\n")
    version, *rest = lines[0].decode("latin-1").split(None, 2)[:2] or [""]
    status = rest[0][:3] if rest else ""
    if not (version.lower().startswith(_VERSIONS) and len(status) == 3 and status.isascii() and status.isdigit()):
        return None
    headers: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines[1:MAX_HEADER_LINES]:
        if line[:1] in (b" ", b"\t") and values:  # it continues the line before
            values[-1] = f"{values[-1]} {header_text(line.strip())}"[:MAX_LINE_BYTES]
            continue
        name, colon, value = line.partition(b":")
        if colon:
            values = headers.setdefault(name.strip().decode("latin-1").lower(), [])
            values.append(header_text(value.strip()))
    chunked = "chunked" in ", ".join(headers.get("transfer-encoding", ())).lower()
    body, complete = remove_chunked_coding(body) if chunked else (body, True)
    return HttpResponse(int(status), headers, body, complete)


_VERSIONS = ("http/", "h2", "h3")


def _split_head(block: bytes) -> tuple[bytes, bytes | None]:
    """Return the head and the body, between which the first empty line is. No body: there is no such line."""
    start = 0
    while (end := block.find(b"\n", start, 16 * MAX_LINE_BYTES)) >= 0:
        if not block[start:end].strip(b"\r"):
            return block[:start], block[end + 1 :]
        start = end + 1
    return block, None


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
