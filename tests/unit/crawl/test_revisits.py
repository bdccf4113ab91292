"""Revisits: which earlier record of the file has their content, in files of real writers and in hostile ones."""

import gzip
from collections.abc import Callable
from hashlib import md5, sha1, sha256
from io import BytesIO

import pytest
from backports import zstd
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from streams.crawl.archives import revisits
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, read_warc
from streams.crawl.archives.revisits import SPENT

A, B = "https://a.example/1", "https://a.example/2"
BODY = b"<p>The same content.</p>" * 20
LIMITS = Limits(max_body_bytes=100_000, latest=1_800_000_000_000_000)
DATE = "2024-05-01T00:00:00Z"
MISSING = "the same content as a record that is not in front of it in this file (revisit)"


def read(content: bytes) -> list[tuple[str, bytes | str]]:
    """Each page with its body, and each other record with its reason."""
    found = read_warc(BytesIO(content), LIMITS)
    return [(each.url, each.body) if isinstance(each, ArchivedPage) else ("", each.reason) for each in found]


def records(*, gzipped: bool) -> list[bytes]:
    """Write a response and a revisit of its content at another URL with another library, as one text for each."""
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
    made = []
    digest = ""
    for number in range(2):
        output = BytesIO()
        writer = WARCWriter(output, gzip=gzipped)
        if number == 0:
            record = writer.create_warc_record(
                A, "response", BytesIO(BODY), http_headers=head, warc_headers_dict={"WARC-Date": DATE}
            )
        else:
            record = writer.create_revisit_record(B, digest, A, DATE, http_headers=head)
            record.rec_headers.replace_header("WARC-Date", DATE)
        writer.write_record(record)
        digest = record.rec_headers.get_header("WARC-Payload-Digest")
        record.raw_stream.close()
        made.append(output.getvalue())
    return made


def zstd_file(parts: list[bytes], *, packs_dictionary: bool | None) -> bytes:
    """A `.warc.zst` file: a frame for each record, and a dictionary in front of them, itself packed or not."""
    if packs_dictionary is None:
        return b"".join(map(zstd.compress, parts))
    dictionary = zstd.train_dict([b"%d %s" % (n, parts[n % 2]) for n in range(200)], 2_000)
    content = zstd.compress(dictionary.dict_content) if packs_dictionary else dictionary.dict_content
    frames = b"".join(zstd.compress(part, zstd_dict=dictionary) for part in parts)
    return b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content + frames


PLAIN, GZIPPED = records(gzipped=False), records(gzipped=True)
FILES = {
    "not packed": b"".join(PLAIN),
    "a gzip member for each record": b"".join(GZIPPED),
    # https://github.com/internetarchive/Zeno/issues/274
    "a zstd frame for each record": zstd_file(PLAIN, packs_dictionary=None),
    "with a dictionary": zstd_file(PLAIN, packs_dictionary=False),
    "with a packed dictionary": zstd_file(PLAIN, packs_dictionary=True),
    "records between": PLAIN[0] + PLAIN[0].replace(b"a.example/1", b"a.example/3").replace(b"same", b"SAME") + PLAIN[1],
}


# A page that only a revisit has: https://github.com/edgi-govdata-archiving/web-monitoring-processing/pull/938
@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_a_revisit_has_the_content_of_the_earlier_record(content: bytes) -> None:
    pages = dict(read(content))
    assert (pages[A], pages[B]) == (BODY, BODY)


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        # https://github.com/NationalLibraryOfNorway/warchaeology/issues/172
        pytest.param(PLAIN[1], [("", MISSING)], id="of a record of another file"),
        pytest.param(PLAIN[1] + PLAIN[0], [("", MISSING), (A, BODY)], id="of a later record"),
        pytest.param(
            gzip.compress(PLAIN[1] + b"".join(PLAIN)),
            [("", MISSING), (A, BODY), ("", MISSING)],
            id="in one gzip member: only its first record can be read again",
        ),
    ],
)
def test_a_revisit_without_its_content_is_counted(content: bytes, outcome: list[tuple[str, bytes | str]]) -> None:
    assert read(content) == outcome


def record(kind: str, uri: str, block: bytes, *headers: str) -> bytes:
    lines = [f"WARC-Type: {kind}", f"WARC-Target-URI: <{uri}>", f"WARC-Date: {DATE}", *headers]
    return "\r\n".join(["WARC/1.0", *lines, f"Content-Length: {len(block)}", "", ""]).encode() + block + b"\r\n\r\n"


def http(body: bytes = b"", status: str = "200 OK", *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: text/html", *headers, "", ""]).encode() + body


def digest(name: str, make: Callable[[bytes], str], content: bytes = BODY) -> str:
    return f"WARC-Payload-Digest: {name}:{make(content)}"


SHA1 = digest("sha1", lambda content: sha1(content).hexdigest())
FALSE = digest("sha1", lambda content: sha1(content + b"!").hexdigest())
PACKED = gzip.compress(BODY)
NO_BYTES = f"WARC-Block-Digest: sha1:{sha1(b'').hexdigest()}"
OF_A = f"WARC-Refers-To-Target-URI: {A}"
FORMS = [
    # the earlier record, the revisit, the outcome of the revisit, why
    (
        record("response", A, http(BODY)),
        record("revisit", B, http(), OF_A),
        (B, BODY),
        "by its URL, without any digest",
    ),
    (
        record("response", A, http(BODY)),
        record("revisit", B, http(), SHA1),
        ("", MISSING),
        "a digest that no record has",
    ),
    (record("response", A, http(BODY)), record("revisit", B, http(), SHA1, OF_A), (B, BODY), "the digest is computed"),
    (record("response", A, http(BODY), SHA1), record("revisit", B, http(), SHA1), (B, BODY), "by its digest alone"),
    (record("response", A, http(BODY)), record("revisit", B, http(), FALSE, OF_A), ("", MISSING), "other content"),
    (record("response", A, http(BODY), FALSE), record("revisit", B, http(), SHA1, OF_A), ("", MISSING), "both differ"),
    (
        record("response", A, http(BODY)),
        record("revisit", B, http(), digest("sha256", lambda content: sha256(content).hexdigest()), OF_A),
        (B, BODY),
        "SHA-256",
    ),
    (
        record("response", A, http(BODY)),
        record("revisit", B, http(), digest("md5", lambda content: md5(content).hexdigest()), OF_A),
        (B, BODY),
        "MD5",
    ),
    (record("response", A, http(BODY)), record("revisit", B, b"", OF_A), (B, BODY), "a revisit without headers"),
    (
        record("response", A, http(BODY), "WARC-Record-ID: <urn:uuid:1>"),
        record("revisit", B, http(), "WARC-Refers-To: <urn:uuid:1>"),
        (B, BODY),
        "by the id of its record",
    ),
    (record("response", A, http(BODY)), record("revisit", B, http()[:-2], OF_A), (B, BODY), "headers without an end"),
    (
        record("response", A, http(PACKED, "200 OK", "Content-Encoding: gzip")),
        record("revisit", B, http(), OF_A),
        (B, BODY),
        "the stored content has a coding",
    ),
    (
        record("response", A, http(BODY)),
        record("revisit", B, http(b"", "200 OK", "Content-Encoding: br"), OF_A),
        (B, BODY),
        "a coding of the revisit says nothing of the stored content",
    ),
    (
        record("resource", A, BODY, "Content-Type: text/html"),
        record("revisit", B, http(), OF_A),
        (B, BODY),
        "of a resource",
    ),
    (
        record("response", A, http(BODY)),
        record("revisit", A, http(b"", "304 Not Modified")),
        ("", "not modified"),
        "the server said that the same page is unchanged",
    ),
    (
        record("response", A, http(BODY)),
        record("revisit", B, http(b"", "404 Not Found"), OF_A),
        ("", "gone"),
        "its own status counts",
    ),
    (
        record("response", A, http(BODY), SHA1),
        record("revisit", B, http(), SHA1, NO_BYTES, "WARC-Truncated: length"),
        (B, BODY),
        "wget's, with the digest of no bytes for its block",
    ),
    (record("request", A, b"GET / HTTP/1.1"), record("revisit", B, http(), OF_A), ("", MISSING), "of a request"),
]


@pytest.mark.parametrize(("earlier", "revisit", "outcome", "why"), FORMS, ids=[form[-1] for form in FORMS])
def test_forms_of_revisits(earlier: bytes, revisit: bytes, outcome: tuple[str, bytes | str], why: str) -> None:
    assert read(earlier + revisit)[1] == outcome, why


def test_the_places_of_earlier_records_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisits, "MAX_PLACES", 4)  # of two records: each has a digest and a URL
    many = b"".join(
        record("response", f"{A}/{n}", http(b"<p>%d" % n), digest("sha1", lambda c: sha1(c).hexdigest(), b"<p>%d" % n))
        for n in range(10)
    )
    last = record("revisit", B, http(), f"WARC-Refers-To-Target-URI: {A}/9")
    first = record("revisit", B, http(), f"WARC-Refers-To-Target-URI: {A}/0")
    assert read(many + last + first)[-2:] == [(B, b"<p>9"), ("", MISSING)]


@pytest.mark.parametrize(
    ("form", "why"), [(OF_A, "the content is found"), (f"{OF_A}\r\n{FALSE}", "it is read in vain")]
)
def test_the_bytes_that_are_read_again_are_bounded(form: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"<p>" + bytes(50_000)
    first = gzip.compress(record("response", A, http(body)))
    content = first + b"".join(gzip.compress(record("revisit", f"{B}/{n}", http(), form)) for n in range(6))
    monkeypatch.setattr(revisits, "FREE_BYTES", 100_000)
    monkeypatch.setattr(revisits, "MAX_RATIO", 0)
    assert [text == SPENT for _, text in read(content)] == [False] * 3 + [True] * 4, why
    monkeypatch.setattr(revisits, "MAX_RATIO", 1_000)
    assert SPENT not in [text for _, text in read(content)], "a larger file may read more again"


def test_a_revisit_of_a_damaged_or_moved_record_is_counted() -> None:
    """The record is read again: what stands there by then may be something else."""
    content = bytearray(record("response", A, http(BODY)) + record("revisit", B, http(), OF_A))
    file = BytesIO(bytes(content))
    found = read_warc(file, LIMITS)
    assert isinstance(next(found), ArchivedPage)
    file.getbuffer()[:8] = b"garbage!"
    assert next(found) == Skipped(MISSING, B)
