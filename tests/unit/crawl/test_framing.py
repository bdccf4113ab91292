"""The framing of responses: which forms a client goes on with, and which are refused.

The rows are the members of the class by RFC 9110 (sections 5 and 8.6), RFC 9112 (sections 2.2, 4, 5, 6, 7 and 8), the
Fetch standard ("extract a length") and the readers of browsers and curl.
"""

from http.client import HTTPResponse
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams.crawl.fetch.framing import MAX_HEADER_BYTES, Framing, HeadTooLong, InvalidFraming

OK = b"HTTP/1.1 200 OK\r\n"
HI = b"Content-Length: 2\r\n\r\nhi"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class _Socket:
    """A socket with these bytes, for Python's own strict reader."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self._content)


def strict(received: bytes, size: int = 1 << 20) -> tuple[bytes, Framing]:
    """Return the strict form of what a connection brought, in parts of some size."""
    framing = Framing()
    out = b"".join(framing.feed(received[at : at + size]) for at in range(0, len(received), size))
    return out + framing.finish(), framing


def read(received: bytes, size: int = 1 << 20) -> tuple[int, dict[str, str], bytes, bool]:
    """Return status, headers and body as a strict reader sees them, and whether the connection may be kept."""
    framing = Framing()
    out = b"".join(framing.feed(received[at : at + size]) for at in range(0, len(received), size))
    kept = not framing.must_close and framing.is_done
    out += framing.finish()
    while out.startswith(b"HTTP/1.1 1"):
        out = out.partition(b"\r\n\r\n")[2]
    socket: Any = _Socket(out)
    response = HTTPResponse(socket)
    response.begin()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read(), kept


ACCEPTED: list[tuple[str, bytes, bytes, bool]] = [
    # (form, received bytes, body, the connection may be kept)
    ("a strict response", OK + HI, b"hi", True),
    ("no length: the end of the connection ends it", OK + b"\r\nhi", b"hi", False),
    ("line ends without CR (9112, 2.2)", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", b"hi", True),
    ("line ends with two CRs", b"HTTP/1.1 200 OK\r\r\nContent-Length: 2\r\r\n\r\r\nhi", b"hi", True),
    ("line breaks before the status line (2.2)", b"\r\n\n" + OK + HI, b"hi", True),
    ("a byte order mark before it", b"\xef\xbb\xbf" + OK + HI, b"hi", False),
    ("no reason (4)", b"HTTP/1.1 200\r\n" + HI, b"hi", True),
    ("a space in place of a reason", b"HTTP/1.1 200 \r\n" + HI, b"hi", True),
    ("no space before the reason", b"HTTP/1.1 200OK\r\n" + HI, b"hi", True),
    ("several spaces (4)", b"HTTP/1.1   200\tOK\r\n" + HI, b"hi", True),
    ("lower case", b"http/1.1 200 ok\r\ncontent-length: 2\r\n\r\nhi", b"hi", True),
    ("HTTP/1.0 with a length", b"HTTP/1.0 200 OK\r\n" + HI, b"hi", True),
    ("the number of HTTP/2 without its frames", b"HTTP/2 200\r\n" + HI, b"hi", False),
    ("an unknown version", b"HTTP/1.7 200 OK\r\n" + HI, b"hi", False),
    ("a warning between headers", OK + b"PHP Warning: x in y.php\r\n" + HI, b"hi", False),
    ("a line without a colon", OK + b"words\r\n" + HI, b"hi", False),
    ("a header without a name", OK + b": x\r\n" + HI, b"hi", False),
    ("a second status line", OK + b"HTTP/1.1 200 OK\r\n" + HI, b"hi", False),
    ("a space before the colon (5.1)", OK + b"Content-Length : 2\r\n\r\nhi", b"hi", True),
    ("a fold (5.2)", OK + b"X: a\r\n\t b\r\n" + HI, b"hi", True),
    ("a folded length", OK + b"Content-Length:\r\n 2\r\n\r\nhi", b"hi", True),
    ("a fold of a line that is passed over", OK + b"bad\r\n Content-Length: 9\r\n" + HI, b"hi", False),
    ("a line with a space behind the status line (2.2)", OK + b" X: y\r\n" + HI, b"hi", False),
    ("a bare CR within a value (2.2)", OK + b"X: a\rContent-Length: 9\r\n" + HI, b"hi", True),
    ("control characters in a value", OK + b"X: a\x01\x7fb\r\n" + HI, b"hi", True),
    ("a value beyond ASCII", OK + b"X: caf\xe9\r\n" + HI, b"hi", True),
    ("headers of 60 kB", OK + b"X: " + b"a" * 60_000 + b"\r\n" + HI, b"hi", True),
    ("90 headers", OK + b"Set-Cookie: a=b\r\n" * 90 + b"Content-Length: 2\r\n\r\nhi", b"hi", True),
    ("a length twice (9110, 8.6)", OK + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi", b"hi", False),
    ("a list of equal lengths", OK + b"Content-Length: 2, 02\r\n\r\nhi", b"hi", False),
    ("an empty length", OK + b"Content-Length:\r\n\r\nhi", b"hi", False),
    ("a length with zeros before it", OK + b"Content-Length: 0002\r\n\r\nhi", b"hi", True),
    ("a body behind its length", OK + b"Content-Length: 2\r\n\r\nhi there", b"hi", False),
    ("a second response", OK + HI + OK + b"Content-Length: 2\r\n\r\nno", b"hi", False),
    ("204 with a body", b"HTTP/1.1 204 No Content\r\n" + HI, b"", False),
    ("304 with a length (9110, 8.6)", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", b"", True),
    ("chunks", CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", b"hi", True),
    ("chunks and a length (6.3)", CHUNKED[:-2] + b"Content-Length: 9\r\n\r\n2\r\nhi\r\n0\r\n\r\n", b"hi", False),
    ("chunks and no valid length", CHUNKED[:-2] + b"Content-Length: -9\r\n\r\n2\r\nhi\r\n0\r\n\r\n", b"hi", False),
    ("chunked twice", OK + b"Transfer-Encoding: chunked\r\n" + CHUNKED[17:] + b"2\r\nhi\r\n0\r\n\r\n", b"hi", False),
    ("chunked in upper case", OK + b"Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", b"hi", True),
    ("chunks of HTTP/1.0 (6.1)", b"HTTP/1.0" + CHUNKED[8:] + b"2\r\nhi\r\n0\r\n\r\n", b"hi", False),
    ("identity, a coding of old", OK + b"Transfer-Encoding: identity\r\n" + HI, b"hi", True),
    ("chunk sizes in capitals and with zeros", CHUNKED + b"0000A\r\n0123456789\r\n00\r\n\r\n", b"0123456789", True),
    ("spaces around a size (7.1)", CHUNKED + b" 2 \r\nhi\r\n0 \r\n\r\n", b"hi", True),
    ("extensions of chunks (7.1.1)", CHUNKED + b'2;a="b"\r\nhi\r\n0; c\r\n\r\n', b"hi", True),
    ("trailers (7.1.2)", CHUNKED + b"2\r\nhi\r\n0\r\nContent-Length: 9\r\n\r\n", b"hi", True),
    ("chunks with line ends without CR", CHUNKED + b"2\nhi\n0\n\n", b"hi", True),
    ("no line behind the last chunk", CHUNKED + b"2\r\nhi\r\n0\r\n", b"hi", False),
    ("bytes behind the last chunk", CHUNKED + b"2\r\nhi\r\n0\r\n\r\nmore", b"hi", False),
    ("early hints", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK + HI, b"hi", True),
    ("100 with a length", b"HTTP/1.1 100 C\r\nContent-Length: 5\r\n\r\n" + OK + HI, b"hi", True),
]  # fmt: skip


@pytest.mark.parametrize("size", [1 << 20, 1, 7])
@pytest.mark.parametrize(("form", "received", "body", "kept"), ACCEPTED, ids=[row[0] for row in ACCEPTED])
def test_a_form_that_a_client_goes_on_with(form: str, received: bytes, body: bytes, kept: bool, size: int) -> None:
    found = read(received, size)
    assert (found[2], found[3]) == (body, kept), form


REFUSED: list[tuple[str, bytes, type[InvalidFraming]]] = [
    ("HTTP/0.9: a body without a head", b"<html><p>words\r\n\r\n", InvalidFraming),
    ("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n", InvalidFraming),
    ("frames of HTTP/2", b"\0\0\x12\4\0\0\0\0\0" + bytes(18), InvalidFraming),
    ("no version", b"HTTP 200 OK\r\n\r\n", InvalidFraming),
    ("no status", b"HTTP/1.1 OK\r\n\r\n", InvalidFraming),
    ("a status of four digits", b"HTTP/1.1 2000 OK\r\n\r\n", InvalidFraming),
    ("a negative status", b"HTTP/1.1 -200 OK\r\n\r\n", InvalidFraming),
    ("a NUL in the head (9110, 5.5)", OK + b"X: a\0b\r\n\r\n", InvalidFraming),
    ("different lengths", OK + b"Content-Length: 1\r\n" + HI, InvalidFraming),
    ("a list of different lengths", OK + b"Content-Length: 2, 3\r\n\r\nhi", InvalidFraming),
    ("a length beside an empty one", OK + b"Content-Length: 2,\r\n\r\nhi", InvalidFraming),
    ("a negative length", OK + b"Content-Length: -2\r\n\r\nhi", InvalidFraming),
    ("a length with a sign", OK + b"Content-Length: +2\r\n\r\nhi", InvalidFraming),
    ("a length with a unit", OK + b"Content-Length: 2 bytes\r\n\r\nhi", InvalidFraming),
    ("a length of 40 digits", OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\nhi", InvalidFraming),
    ("a chunk size that is no number", CHUNKED + b"zz\r\nhi", InvalidFraming),
    ("a negative chunk size", CHUNKED + b"-2\r\nhi", InvalidFraming),
    ("a chunk size with 0x", CHUNKED + b"0x2\r\nhi\r\n0\r\n\r\n", InvalidFraming),
    ("an empty chunk size", CHUNKED + b"\r\n2\r\nhi", InvalidFraming),
    ("a chunk size of 40 digits", CHUNKED + b"f" * 40 + b"\r\nhi", InvalidFraming),
    ("a chunk that is longer than its size", CHUNKED + b"1\r\nhi\r\n0\r\n\r\n", InvalidFraming),
    ("a body that is not chunked as it says", CHUNKED + b"<html><p>words\r\n", InvalidFraming),
    ("a chunk size without end", CHUNKED + b"0" * 5_000, InvalidFraming),
    ("more than 64 KiB of headers", OK + b"X: " + b"a" * MAX_HEADER_BYTES, HeadTooLong),
    ("folds without end", OK + b"X: a\r\n" + b" b\r\n" * 20_000, HeadTooLong),
    ("line breaks without end", b"\r\n" * 40_000, InvalidFraming),
    ("100 without end", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, InvalidFraming),
    ("chunks of one byte without end", CHUNKED + b"1\r\nx\r\n" * 20_000, InvalidFraming),
    ("trailers without end", CHUNKED + b"0\r\n" + b"x: y\r\n" * 20_000, InvalidFraming),
]  # fmt: skip


@pytest.mark.parametrize("size", [1 << 20, 7])
@pytest.mark.parametrize(("form", "received", "error"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_form_that_is_refused(form: str, received: bytes, error: type[InvalidFraming], size: int) -> None:
    with pytest.raises(error):
        strict(received, size)


EARLY = {
    "a body shorter than its length": OK + b"Content-Length: 9\r\n\r\nhi",
    "a cut chunk": CHUNKED + b"ff\r\nhi",
    "no last chunk": CHUNKED + b"2\r\nhi\r\n",
}


@pytest.mark.parametrize("form", EARLY)
def test_a_body_that_ends_early_is_not_made_complete(form: str) -> None:
    _, framing = strict(EARLY[form])
    assert not framing.is_done


def test_a_fold_and_a_warning_leave_the_other_headers_as_they_are() -> None:
    lines = b"PHP Notice: x\r\n y\r\nX-A : 1\r\nX-B: a\r\n \t b\r\nX-C: caf\xe9\r\n\r\n"
    assert read(OK + lines)[1] == {"x-a": "1", "x-b": "a b", "x-c": "café"}


@st.composite
def framed(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw a body, and a response with it in any mixture of accepted forms."""
    body = draw(st.binary(max_size=300))
    line_end = draw(st.sampled_from([b"\r\n", b"\n", b"\r\r\n"]))
    lines = [draw(st.sampled_from([b"HTTP/1.1 200 OK", b"http/1.1 200", b"HTTP/1.0  200 OK", b"HTTP/2 200 "]))]
    extras = st.sampled_from([b"X: y", b"words", b"X : y", b"X: a" + line_end + b" b", b": x", b"Server:", b"\xff: x"])
    lines += draw(st.lists(extras, max_size=4))
    content = body
    match draw(st.sampled_from(["length", "lengths", "chunks", "both", "close"])):
        case "length":
            lines.append(b"Content-Length: %d" % len(body))
        case "lengths":
            lines.append(b"Content-Length : %d, %d" % (len(body), len(body)))
        case "close":
            pass
        case kind:
            lines += [b"Content-Length: 7"] * (kind == "both") + [b"Transfer-Encoding: Chunked"]
            cuts = sorted(draw(st.sets(st.integers(1, max(len(body), 1)), max_size=8)) | {0, len(body)})
            parts = [body[begin:end] for begin, end in pairwise(cuts) if body[begin:end]]
            extension = draw(st.sampled_from([b"", b";a", b'; a="b"', b" "]))
            content = b"".join(b"%X%s%s%s%s" % (len(p), extension, line_end, p, line_end) for p in parts)
            content += b"0" + line_end + draw(st.sampled_from([b"", b"A: b" + line_end])) + line_end
    lines += draw(st.lists(extras, max_size=4))
    early = draw(st.sampled_from([b"", b"\r\n", b"HTTP/1.1 103 E\r\nLink: x\r\n\r\n"]))
    return body, early + line_end.join(lines) + line_end * 2 + content


@given(framed(), st.integers(1, 50))
def test_every_accepted_form_has_the_same_body(drawn: tuple[bytes, bytes], size: int) -> None:
    body, received = drawn
    assert read(received, size)[2] == body


_PARTS = [
    OK, CHUNKED, b"HTTP/1.1 100 C\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: ", b"chunked", b"2", b"0",
    b"\r\n", b"\n", b"\r", b" ", b":", b",", b";", b"\0", b"hi", b"\xff",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PARTS) | st.binary(max_size=4), max_size=40).map(b"".join), st.integers(1, 50))
@example(b"\r\nHTTP/1.1 200 OK", 1)
def test_any_bytes_are_read_or_refused_however_they_are_cut(received: bytes, size: int) -> None:
    results = []
    for part_size in (size, 1 << 20):
        try:
            results.append(read_body(received, part_size))
        except InvalidFraming:
            results.append(b"refused")
    assert results[0] == results[1]


def read_body(received: bytes, size: int) -> bytes:
    """Return the strict form with each chunk of its body joined: chunks are joined by what comes at once."""
    out, framing = strict(received, size)
    head, end, body = out.rpartition(b"\r\n\r\n") if not framing.is_done else out.partition(b"\r\n\r\n")
    return head + end if b"transfer-encoding" in head.lower() else head + end + body
