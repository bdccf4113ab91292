"""The WARC reader: valid files give what another reader gives, and damaged ones raise nothing."""

import gzip
from base64 import b32encode
from hashlib import sha1
from io import BytesIO
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from streams.crawl.archives.warc import NotWarc, WarcRecord, parse_response, read_records, remove_chunked_coding
from tests.sizes import size

LIMIT_BYTES = 100_000


def archive(*bodies: bytes, gzipped: bool = True, version: str = "1.0") -> bytes:
    """Write a WARC file with another library: an info record, and a request and response for each body."""
    output = BytesIO()
    writer = WARCWriter(output, gzip=gzipped, warc_version=version)
    records = [writer.create_warcinfo_record("test.warc", {"software": "test"})]
    for number, body in enumerate(bodies):
        url = f"https://example.org/{number}"
        request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "example.org")], is_http_request=True)
        records.append(writer.create_warc_record(url, "request", http_headers=request, payload=BytesIO(b"")))
        response = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        records.append(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=response))
    for record in records:
        writer.write_record(record)
        record.raw_stream.close()  # a temporary file, which the library leaves open
    return output.getvalue()


def read(content: bytes, limit_bytes: int = LIMIT_BYTES) -> list[WarcRecord]:
    return list(read_records(BytesIO(content), limit_bytes))


def bodies(records: list[WarcRecord]) -> list[bytes]:
    """The bodies of the valid responses."""
    responses = [
        parse_response(r.block) for r in records if r.block and not r.damage and r.headers["warc-type"] == "response"
    ]
    return [response.body for response in responses if response]


@pytest.mark.parametrize("gzipped", [True, False])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
@settings(max_examples=25)
@given(contents=st.lists(st.binary(max_size=200), max_size=4))
def test_records_are_the_same_as_another_readers(contents: list[bytes], gzipped: bool, version: str) -> None:
    content = archive(*contents, gzipped=gzipped, version=version)
    others = [
        (record.rec_headers["WARC-Target-URI"], record.rec_headers["WARC-Date"], record.rec_type)
        for record in ArchiveIterator(BytesIO(content))
    ]
    ours = read(content)
    assert [(r.headers.get("warc-target-uri"), r.headers["warc-date"], r.headers["warc-type"]) for r in ours] == others
    assert bodies(ours) == contents
    assert not [record.damage for record in ours if record.damage]


def raw(block: bytes, length: int | str | None = None, **headers: str) -> bytes:
    """Build a record, with a Content-Length that may be wrong."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [] if length == "" else [f"Content-Length: {len(block) if length is None else length}"]
    return "\r\n".join(["WARC/1.0", "WARC-Type: response", *lines, "", ""]).encode() + block + b"\r\n\r\n"


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body


def digest(block: bytes) -> str:
    return "sha1:" + b32encode(sha1(block).digest()).decode()


BEFORE, AFTER = raw(http(b"before")), raw(http(b"after"))
DAMAGED: dict[str, tuple[bytes, str]] = {
    "a length that is too small": (raw(http(b"a" * 500), 100), "Content-Length is wrong"),
    "a length that reaches into the next record": (raw(http(b"a" * 50), 120), "Content-Length is wrong"),
    "a length beyond the end of the file": (raw(http(b"a" * 50), 50_000), "ends early"),
    "a length of zero": (raw(http(b"a"), 0), "Content-Length is wrong"),
    "no length": (raw(http(b"a"), ""), "no valid Content-Length"),
    "a length below zero": (raw(http(b"a"), -1), "no valid Content-Length"),
    "a length that is not a number": (raw(http(b"a"), "many"), "no valid Content-Length"),
    "a length without end": (raw(http(b"a"), "9" * 400), "no valid Content-Length"),
    "a digest of something else": (raw(http(b"a"), WARC_Block_Digest=digest(b"b")), "digest doesn't match"),
    "headers without end": (
        b"WARC/1.0\r\n" + b"X: y\r\n" * 5_000 + b"\r\n\r\n",
        "no valid Content-Length",
    ),
    "a line without end": (b"WARC/1.0\r\nX: " + b"y" * 500_000 + b"\r\n\r\n\r\n", "no valid Content-Length"),
}


@pytest.mark.parametrize("gzipped", [True, False])
@pytest.mark.parametrize(("damaged", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_the_record_after_a_damaged_one_is_found(damaged: bytes, message: str, gzipped: bool) -> None:
    content = BEFORE + damaged + AFTER
    records = read(gzip.compress(content) if gzipped else content)
    assert bodies(records)[0] == b"before"
    assert message in " ".join(record.damage for record in records)
    assert set(bodies(records)) <= {b"before", b"after"}


@pytest.mark.parametrize("gzipped", [True, False])
@given(cut=st.integers(1, 5_000))
def test_a_file_that_ends_early_gives_its_complete_records(cut: int, gzipped: bool) -> None:
    content = archive(*(bytes([65 + n]) * 300 for n in range(5)), gzipped=gzipped)
    complete = bodies(read(content))
    part = content[: max(len(content) - cut, 12)]
    try:
        records = read(part)
    except NotWarc:
        return
    assert bodies(records) == complete[: len(bodies(records))]


@given(st.binary(max_size=300), st.integers(0, 2_000))
def test_damaged_bytes_raise_nothing(noise: bytes, position: int) -> None:
    content = bytearray(archive(b"a" * 300, b"b" * 300))
    content[position : position + len(noise)] = noise
    try:
        for record in read(bytes(content)):
            parse_response(record.block or b"")
    except NotWarc:
        return


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"<html>", b"\x1f\x8b", gzip.compress(b"no archive", mtime=0), b"filedesc://old.arc 0.0.0.0"],
)
def test_a_file_that_is_not_warc_raises(content: bytes) -> None:
    with pytest.raises(NotWarc, match=r"it begins with|ends early"):
        read(content)


def test_a_block_above_the_limit_is_skipped() -> None:
    records = read(raw(http(b"a" * 5_000)) + AFTER, limit_bytes=1_000)
    assert [record.block is None for record in records] == [True, False]
    assert bodies(records) == [b"after"]


def test_a_decompression_bomb_is_skipped_piece_by_piece() -> None:
    """The bomb is 50 MB of zeros in 200 KB."""
    bomb = gzip.compress(raw(http(bytes(50_000_000))), compresslevel=1) + gzip.compress(AFTER)
    records = list(islice(read_records(BytesIO(bomb), LIMIT_BYTES), 2))
    assert [record.block is None for record in records] == [True, False]


@pytest.mark.timeout(30)  # a guard: it takes a fraction of a second, and a loop over lines takes minutes
@pytest.mark.parametrize("filling", [b"\n", b"\r\n", b" ", b"x\n", b"x"])
def test_long_runs_between_records_are_skipped(filling: bytes) -> None:
    content = raw(http(b"before")) + filling * (size(100_000_000) // len(filling)) + b"\n" + AFTER
    assert bodies(read(gzip.compress(content, compresslevel=1)))[-1] == b"after"


CHUNKED: dict[str, tuple[bytes, bytes, bool]] = {
    "chunks": (b"3\r\nabc\r\n2;name=value\r\nde\r\n0\r\n\r\n", b"abcde", True),
    "no chunk": (b"0\r\n\r\n", b"", True),
    "ends early": (b"3\r\nabc\r\n5\r\nde", b"abcde", False),
    "decoded before": (b"<html>abc", b"<html>abc", True),
    "a size without end": (b"f" * 2_000 + b"\r\nabc", b"f" * 2_000 + b"\r\nabc", True),
    "a size below zero": (b"-3\r\nabc", b"-3\r\nabc", True),
}


@pytest.mark.parametrize(("body", "content", "complete"), CHUNKED.values(), ids=CHUNKED.keys())
def test_chunks_are_joined(body: bytes, content: bytes, complete: bool) -> None:
    assert remove_chunked_coding(body) == (content, complete)


RESPONSES: dict[str, tuple[bytes, tuple[int, bytes] | None]] = {
    "plain": (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", (200, b"body")),
    "without a reason": (b"HTTP/2 404\r\nA: b\r\n\r\n", (404, b"")),
    "bare newlines": (b"HTTP/1.0 200 OK\nA: b\n\nbody", (200, b"body")),
    # Status lines as writers make them. In small letters: https://github.com/chfoo/warcat/issues/24
    "small letters": (b"http/1.1 200 OK\r\nA: b\r\n\r\nbody", (200, b"body")),
    "HTTP/2 with a reason": (b"HTTP/2.0 200 OK\r\nA: b\r\n\r\nbody", (200, b"body")),
    "the name of a protocol": (b"h2 200\r\nA: b\r\n\r\nbody", (200, b"body")),
    "HTTP/3": (b"HTTP/3 204 \r\nA: b\r\n\r\n", (204, b"")),
    "several spaces": (b"HTTP/1.1  200   OK\r\nA: b\r\n\r\nbody", (200, b"body")),
    "a tab": (b"HTTP/1.1\t200\tOK\r\nA: b\r\n\r\nbody", (200, b"body")),
    "no headers": (b"HTTP/1.1 200 OK\r\n\r\nbody", (200, b"body")),
    "both ends of lines": (b"HTTP/1.1 200 OK\nA: b\r\n\nbody\r\n\r\n", (200, b"body\r\n\r\n")),
    "two digits": (b"HTTP/1.1 20\r\nA: b\r\n\r\n", None),
    "no end of the head": (b"HTTP/1.1 200 OK\r\nA: b\r\n", None),
    "another protocol": (b"GEMINI 20 text\r\n\r\nbody", None),
    "no status": (b"HTTP/1.1 OK\r\n\r\nbody", None),
    "other digits": ("HTTP/1.1 ²00 OK\r\n\r\nbody".encode("latin-1"), None),
    "empty": (b"", None),
}


@pytest.mark.parametrize(("block", "parsed"), RESPONSES.values(), ids=RESPONSES.keys())
def test_http_heads(block: bytes, parsed: tuple[int, bytes] | None) -> None:
    response = parse_response(block)
    assert (response and (response.status, response.body)) == parsed


def test_a_line_that_begins_with_a_space_continues_a_header() -> None:
    block = b"HTTP/1.1 200 OK\r\nLink: <a>;\r\n rel=next\r\n\tx=y\r\n\r\n"
    (record,) = read(raw(block, WARC_Target_URI="https://a.example/\r\n  long"))
    assert record.headers["warc-target-uri"] == "https://a.example/ long"
    response = parse_response(record.block or b"")
    assert response
    assert response.headers["link"] == ["<a>; rel=next x=y"]
