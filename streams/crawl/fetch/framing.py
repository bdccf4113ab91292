"""The bytes of a connection in the strict form that a parser reads in one way only. Pure.

Many servers break the rules for the form of a response, and browsers read most of their answers. Here each form that
RFC 9110 and RFC 9112 let a client go on with becomes the strict one; `must_close` then says that the connection can't
be used again. A response whose length has two readings is refused, so nobody can put a second response into a page.

Trailers and extensions of chunks are dropped. Nothing here decodes a content coding.
"""

import re
from enum import Enum, auto

MAX_HEADER_BYTES = 64 * 1024
"""Maximum size of all headers of a response (bytes): browsers and servers have limits of this size."""
MAX_INFORMATIONAL = 20
"""Maximum number of informational responses in a row. One or two are usual (103 Early Hints)."""
MAX_CHUNK_LINE_BYTES = 4 * 1024
"""Maximum length of the line with the size of a chunk (bytes)."""
OVERHEAD_BYTES = 32 * 1024
"""Maximum bytes of a response's chunks in addition to twice its body: so chunks of about six bytes pass."""
SLOP_BYTES = 4
"""Maximum bytes before the status line that are passed over, as Chrome does: such as a byte order mark."""

_HEAD_END = re.compile(rb"\n\r{0,2}\n")
_STATUS_LINE = re.compile(rb"HTTP/([0-9])(?:\.([0-9]))?[ \t]+([0-9]{3})(?![0-9])[ \t]*(.*)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROLS = bytes(range(0x09)) + bytes(range(0x0A, 0x20)) + b"\x7f"
_SPACE_FOR_CONTROLS = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_MAX_LENGTH_DIGITS = 18
_WITHOUT_BODY = frozenset({204, 304})
_LENGTH, _CODING = b"content-length", b"transfer-encoding"


class InvalidFraming(ValueError):
    """The response has no form that a client may go on with."""


class HeadTooLong(InvalidFraming):
    """The headers of the response exceed MAX_HEADER_BYTES."""


class _State(Enum):
    HEAD = auto()
    SIZED = auto()
    CHUNK_SIZE = auto()
    CHUNK = auto()
    CHUNK_END = auto()
    TRAILERS = auto()
    UNTIL_CLOSE = auto()
    DONE = auto()


class Framing:
    """The bytes of one response and of the informational ones before it."""

    def __init__(self) -> None:
        self.must_close = False
        """True if the connection can't be used for another request."""
        self.has_surplus = False
        """True if bytes came behind the end of the response."""
        self._state = _State.HEAD
        self._kept = bytearray()
        """Received bytes that wait for the rest of a head or a line."""
        self._skipped_bytes = 0
        self._informational = 0
        self._left = 0
        """Bytes of the body or of the chunk that are still to come."""
        self._chunked_bytes = self._body_bytes = 0

    @property
    def is_done(self) -> bool:
        return self._state is _State.DONE

    def feed(self, data: bytes) -> bytes:
        """Return what a strict parser gets for these received bytes. Raises InvalidFraming."""
        out = bytearray()
        while data:
            match self._state:
                case _State.HEAD:
                    data = self._take_head(data, out)
                case _State.SIZED:
                    out += data[: self._left]
                    data, self._left = data[self._left :], self._left - min(self._left, len(data))
                    self._state = _State.SIZED if self._left else _State.DONE
                case _State.UNTIL_CLOSE:
                    out += data
                    data = b""
                case _State.DONE:
                    self.has_surplus = self.must_close = True
                    data = b""
                case _:
                    data = self._take_chunks(data, out)
        return bytes(out)

    def finish(self) -> bytes:
        """Return what a strict parser needs at the end of the connection, if the body is complete without it."""
        self.must_close = True
        if self._state is not _State.TRAILERS:
            return b""
        self._state = _State.DONE
        return b"0\r\n\r\n"

    def _take_head(self, data: bytes, out: bytearray) -> bytes:
        kept = self._kept
        searched = max(len(kept) - 3, 0)
        kept += data
        if not searched and (blank := len(kept) - len(kept.lstrip(b"\r\n"))):
            self._skipped_bytes += blank
            del kept[:blank]
            if self._skipped_bytes > MAX_HEADER_BYTES:
                raise InvalidFraming(f"no head of a response in {self._skipped_bytes} bytes")
        end = _HEAD_END.search(kept, searched)
        size = end.end() if end else len(kept)
        if size > SLOP_BYTES + 5 and b"http/" not in bytes(kept[: SLOP_BYTES + 5]).lower():
            raise InvalidFraming(f"{bytes(kept[:20])!r} is no status line")
        if size > MAX_HEADER_BYTES:
            raise HeadTooLong(f"more than {MAX_HEADER_BYTES} bytes of headers")
        if end is None:
            return b""
        out += self._read_head(bytes(kept[: end.start()]))
        rest = bytes(kept[end.end() :])
        kept.clear()
        return rest

    def _read_head(self, head: bytes) -> bytes:
        """Return the strict form of a head, and set the state for what follows."""
        if b"\0" in head:  # RFC 9110, section 5.5; browsers refuse it, too
            raise InvalidFraming("a NUL in the head")
        first, *lines = head.split(b"\n")
        version, status, reason = self._read_status_line(first)
        fields = self._read_fields(lines)
        if 100 <= status < 200:
            self._informational += 1
            if self._informational > MAX_INFORMATIONAL:
                raise InvalidFraming(f"more than {MAX_INFORMATIONAL} informational responses")
            fields = [field for field in fields if field[0].lower() not in (_LENGTH, _CODING)]
        else:
            fields = self._frame(status, version, fields)
        line = b"HTTP/1.%d %d %s" % (version != b"1.0", status, reason)
        return b"\r\n".join((line, *(name + b": " + value for name, value in fields))) + b"\r\n\r\n"

    def _read_status_line(self, line: bytes) -> tuple[bytes, int, bytes]:
        """Return version, status and reason. A missing reason and any case are accepted (RFC 9112, section 4)."""
        begin = line[: SLOP_BYTES + 5].lower().find(b"http/")
        found = _STATUS_LINE.fullmatch(line.translate(_SPACE_FOR_CONTROLS).rstrip(), max(begin, 0))
        if not found:
            raise InvalidFraming(f"{line[:60]!r} is no status line")
        version = found[1] + b"." + (found[2] or b"0")
        self.must_close |= begin > 0 or version not in (b"1.0", b"1.1")
        return b"1.0" if version <= b"1.0" else b"1.1", int(found[3]), found[4]

    def _read_fields(self, lines: list[bytes]) -> list[tuple[bytes, bytes]]:
        """Return the headers. Lines that are none are passed over, folded ones are joined (RFC 9112, section 5.2)."""
        fields: list[tuple[bytes, list[bytes]]] = []
        folded: list[bytes] | None = None
        for line in lines:
            line = line.translate(_SPACE_FOR_CONTROLS)
            if line[:1] in (b" ", b"\t"):
                if folded is None:
                    self.must_close |= bool(line.strip())
                else:
                    folded.append(line.strip())
                continue
            name, colon, value = line.partition(b":")
            name = name.rstrip(b" \t")
            if colon and _TOKEN.fullmatch(name):
                folded = [value.strip()]
                fields.append((name, folded))
            else:
                folded = None
                self.must_close |= bool(line.strip())
        return [(name, b" ".join(parts)) for name, parts in fields]

    def _frame(self, status: int, version: bytes, fields: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Find where the body ends (RFC 9112, section 6.3), and return the headers with one statement of it."""
        codings = [coding for coding in _items(fields, _CODING) if coding not in (b"", b"identity")]
        others = [field for field in fields if field[0].lower() not in (_LENGTH, _CODING)]
        if status in _WITHOUT_BODY:
            self._state = _State.DONE
            return others
        if codings:
            self._state = _State.CHUNK_SIZE if codings[-1] == b"chunked" else _State.UNTIL_CLOSE
            self.must_close |= len(codings) > 1 or version == b"1.0" or any(_items(fields, _LENGTH))
            # Other codings are named, so that they are refused where the body is read.
            return [*others, (_CODING, b", ".join(dict.fromkeys(codings)))]
        length = self._read_length(_items(fields, _LENGTH))
        if length is None:
            self._state = _State.UNTIL_CLOSE
            return others
        self._left = length
        self._state = _State.SIZED if length else _State.DONE
        return [*others, (_LENGTH, b"%d" % length)]

    def _read_length(self, values: list[bytes]) -> int | None:
        """Return the length of the body, or None if it ends with the connection. Equal values count as one."""
        if not any(values):
            return None
        for value in values:
            if not value.isdigit() or len(value.lstrip(b"0")) > _MAX_LENGTH_DIGITS:
                raise InvalidFraming(f"the length {value[:40]!r} is no number")
        lengths = {int(value) for value in values}
        if len(lengths) > 1:
            raise InvalidFraming(f"different lengths: {', '.join(map(str, sorted(lengths)))}"[:200])
        self.must_close |= len(values) > 1
        return lengths.pop()

    def _take_chunks(self, data: bytes, out: bytearray) -> bytes:
        """Take chunks, and give them on as one. Return what stands behind the last chunk and its trailers."""
        data = bytes(self._kept) + data
        self._kept.clear()
        body = bytearray()
        at = 0
        while at < len(data) and self._state is not _State.DONE:
            if self._state is _State.CHUNK:
                part = data[at : at + self._left]
                body += part
                at += len(part)
                self._left -= len(part)
                self._count(len(part), len(part))
                self._state = _State.CHUNK if self._left else _State.CHUNK_END
                continue
            end = data.find(b"\n", at, at + MAX_CHUNK_LINE_BYTES)
            if end < 0:
                if len(data) - at >= MAX_CHUNK_LINE_BYTES:
                    raise InvalidFraming(f"a line of more than {MAX_CHUNK_LINE_BYTES} bytes among the chunks")
                self._kept += data[at:]
                at = len(data)
                break
            self._take_line(data[at:end].strip(b" \t\r"))
            self._count(end + 1 - at, 0)
            at = end + 1
        if body:
            out += b"%x\r\n%s\r\n" % (len(body), body)
        if self._state is _State.DONE:
            out += b"0\r\n\r\n"
        return data[at:]

    def _take_line(self, line: bytes) -> None:
        """Take a line between the chunks: the size of a chunk, the end of its bytes, or a trailer."""
        match self._state:
            case _State.CHUNK_END:
                if line:
                    raise InvalidFraming("a chunk is longer than its size")
                self._state = _State.CHUNK_SIZE
            case _State.CHUNK_SIZE:
                size = line.partition(b";")[0].rstrip(b" \t")
                if not _SIZE.fullmatch(size):
                    raise InvalidFraming(f"the size of a chunk {size[:40]!r} is no number")
                self._left = int(size, 16)
                self._state = _State.CHUNK if self._left else _State.TRAILERS
            case _State.TRAILERS if not line:
                self._state = _State.DONE

    def _count(self, received: int, body: int) -> None:
        self._chunked_bytes += received
        self._body_bytes += body
        if self._chunked_bytes > OVERHEAD_BYTES + 2 * self._body_bytes:
            raise InvalidFraming("the chunks of the body are too small")


def _items(fields: list[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    """Return the items of all lists of a header, in lower case."""
    return [item.strip().lower() for name, value in fields if name.lower() == wanted for item in value.split(b",")]
