"""Readers of archives: which records are pages, and the fields of each page."""

import gzip
import zlib
from datetime import timedelta, timezone
from io import BytesIO
from typing import Any

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, page_of_file, read_warc

LATEST = 1_800_000_000_000_000
LIMITS = Limits(max_body_bytes=1_000, latest=LATEST)
MAY_2024 = 1_714_521_600_000_000


def record(
    body: bytes = b"<p>Hello</p>",
    *,
    status: str = "200 OK",
    uri: str = "https://example.org/a",
    date: str = "2024-05-01T00:00:00Z",
    kind: str = "response",
    warc: str = "",
    **headers: str,
) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in {"Content_Type": "text/html", **headers}.items()]
    block = "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode() + body
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {uri}\r\nWARC-Date: {date}\r\n{warc}"
        f"Content-Length: {len(block)}"
    )
    return head.encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def read(content: bytes) -> list[ArchivedPage | Skipped]:
    return list(read_warc(BytesIO(content), LIMITS))


def test_a_response_is_a_page_dated_by_its_record() -> None:
    (page,) = read(record(ETag='"1"', X_Robots_Tag="noindex", Set_Cookie="secret=1"))
    headers = {"content-type": "text/html", "etag": '"1"', "x-robots-tag": "noindex"}
    assert page == ArchivedPage("https://example.org/a", MAY_2024, b"<p>Hello</p>", "warc", 200, headers)


PAGES: dict[str, tuple[bytes, Any]] = {
    "a URL in angle brackets, as WARC 1.0 was read by some": (record(uri="<https://example.org/a>"), b"<p>Hello</p>"),
    "gzip": (record(gzip.compress(b"zipped"), Content_Encoding="gzip"), b"zipped"),
    "deflate": (record(zlib.compress(b"deflated"), Content_Encoding="deflate"), b"deflated"),
    "gzip that was decoded before": (record(b"<p>plain", Content_Encoding="gzip"), b"<p>plain"),
    "an unknown coding": (record(b"<p>plain", Content_Encoding="sdch"), b"<p>plain"),
    "chunks": (record(b"3\r\nabc\r\n0\r\n\r\n", Transfer_Encoding="chunked"), b"abc"),
    "chunks of gzip": (
        record(
            f"{len(gzip.compress(b'both', mtime=0)):x}\r\n".encode()
            + gzip.compress(b"both", mtime=0)
            + b"\r\n0\r\n\r\n",
            Transfer_Encoding="chunked",
            Content_Encoding="gzip",
        ),
        b"both",
    ),
    "an empty page": (record(b""), b""),
    "exactly as large as the limit": (record(b"a" * 1_000), b"a" * 1_000),
}


@pytest.mark.parametrize(("content", "body"), PAGES.values(), ids=PAGES.keys())
def test_bodies_are_decoded(content: bytes, body: bytes) -> None:
    (page,) = read(content)
    assert isinstance(page, ArchivedPage), page
    assert page.body == body
    assert "content-encoding" not in page.headers


# Small bodies that cost much and give nothing.
FRAMES, MEMBERS = zstd.compress(b"") * 20_000, gzip.compress(b"") * 20_000
FILE_NAME = b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 1_000_000
SKIPPED: dict[str, tuple[bytes, str]] = {
    "not found": (record(status="404 Not Found"), "gone"),
    "redirect": (record(status="301 Moved", Location="https://example.org/b"), "redirect"),
    "an image": (record(Content_Type="image/png"), "unsupported type"),
    "larger than the limit": (record(b"a" * 1_001), "too large"),
    "a bomb": (record(gzip.compress(bytes(5_000_000)), Content_Encoding="gzip"), "too large"),
    "larger than any head and body": (record(b"a" * 400_000), "too large"),
    "another scheme": (record(uri="ftp://example.org/a"), "URL not allowed"),
    "credentials": (record(uri="https://user:password@example.org/"), "URL not allowed"),
    "no URL": (record(uri=""), "URL not allowed"),
    "no date": (record(date=""), "date missing or impossible"),
    "an impossible date": (record(date="2024-13-45T00:00:00Z"), "date missing or impossible"),
    "before the web": (record(date="0001-01-01T00:00:00Z"), "date missing or impossible"),
    "from the future": (record(date="9999-12-31T23:59:59Z"), "date missing or impossible"),
    "a gzip body that ends early": (record(gzip.compress(b"<p>")[:-9], Content_Encoding="gzip"), "damaged body"),
    "a damaged gzip body": (
        record(gzip.compress(b"<p>")[:-9] + b"x" * 9, Content_Encoding="gzip"),
        "damaged body",
    ),
    "chunks without the last one": (record(b"3\r\nabc\r\n", Transfer_Encoding="chunked"), "damaged body"),
    "empty zstd frames in zstd": (record(zstd.compress(FRAMES), Content_Encoding="zstd, zstd"), "damaged body"),
    "gzip members in gzip": (record(gzip.compress(MEMBERS), Content_Encoding="gzip, gzip"), "damaged body"),
    "an endless gzip file name": (record(gzip.compress(FILE_NAME), Content_Encoding="gzip, gzip"), "damaged body"),
    "ends early": (record()[:-20], "damaged record"),
}


@pytest.mark.parametrize(("content", "reason"), SKIPPED.values(), ids=SKIPPED.keys())
def test_a_skipped_record_has_its_reason(content: bytes, reason: str) -> None:
    assert [record.reason for record in read(content) if isinstance(record, Skipped)] == [reason]


@given(
    st.datetimes(timezones=st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))).map(str)
    | st.sampled_from(["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
    | st.text(st.sampled_from("0129-:TZ+."), max_size=30)
)
def test_no_date_ends_an_import(date: str) -> None:
    pages = read(record(date=date.replace("\n", "")) + record(b"next"))
    assert isinstance(pages[-1], ArchivedPage)
    assert pages[-1].body == b"next"


@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_record_ends_an_import(noise: bytes, position: int) -> None:
    damaged = bytearray(record())
    damaged[position : position + len(noise)] = noise
    assert read(record() + bytes(damaged) + record(b"next"))


NO_PAGES = [
    ("warcinfo", {}, "no page, but a record of type warcinfo"),
    ("request", {}, "no page, but a record of type request"),
    ("metadata", {}, "no page, but a record of type metadata"),
    ("continuation", {}, "no page, but a record of type continuation"),
    ("response", {"warc": "WARC-Segment-Number: 1\r\n"}, "one of several records of a page"),
    ("resource", {"uri": "urn:pageinfo:https://example.org/"}, "no page of the web"),  # Browsertrix
    ("resource", {"uri": "metadata://gnu.org/software/wget/warc/wget.log"}, "no page of the web"),  # wget
    ("revisit", {}, "the same content as a record that is not in front of it in this file (revisit)"),
    ("screenshot", {}, "a record of an unknown type"),
    ("", {}, "a record of an unknown type"),
]


@pytest.mark.parametrize(("kind", "headers", "reason"), NO_PAGES)
def test_a_record_that_is_no_page_is_counted_by_its_reason(kind: str, headers: Any, reason: str) -> None:
    (found,) = read(record(kind=kind, **headers))
    assert isinstance(found, Skipped)
    assert found.reason == reason


@pytest.mark.parametrize(
    "date",
    [
        "2024-05-01T00:00:00Z",
        "2024-05-01T00:00:00",
        "2024-05-01T02:00:00.000000000+02:00",
        "2024-05-01T00:00:00.0Z",
        "2024-05-01T00:00Z",
        "2024-05",
        "20240501000000",
    ],
)
def test_dates_of_any_precision_are_read_in_utc(date: str) -> None:
    (page,) = read(record(date=date))
    assert isinstance(page, ArchivedPage), page
    assert page.generation == MAY_2024


FILES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "a file of a host": (("docs.example.org", "guide.html"), "https://docs.example.org/guide.html"),
    "in a subfolder": (("docs.example.org", "a b", "c.html"), "https://docs.example.org/a%20b/c.html"),
    "a question mark is part of the name": (("example.org", "what?.html"), "https://example.org/what%3F.html"),
    "so is a percent sign": (("example.org", "100%.html"), "https://example.org/100%25.html"),
    "so is a number sign": (("example.org", "c#.html"), "https://example.org/c%23.html"),
    "another script": (("example.org", "東京.html"), "https://example.org/%E6%9D%B1%E4%BA%AC.html"),
    "a name in Latin-1 is quoted byte by byte": (("example.org", "caf\udce9.html"), "https://example.org/caf%E9.html"),
    "a host that is no text": (("caf\udce9", "a.html"), None),
    "host in capitals": (("EXAMPLE.org", "A.html"), "https://example.org/A.html"),
    "not in a folder": (("guide.html",), None),
    "a folder that is not a host": (("my folder", "guide.html"), None),
    "a folder with credentials in its name": (("user@example.org", "guide.html"), None),
}


@pytest.mark.parametrize(("parts", "url"), FILES.values(), ids=FILES.keys())
def test_a_files_path_is_its_url(parts: tuple[str, ...], url: str | None) -> None:
    page = page_of_file(parts, MAY_2024, b"<p>", LIMITS)
    assert (page.url if isinstance(page, ArchivedPage) else None) == url


@pytest.mark.parametrize(
    ("modified_at", "generation"),
    [
        (MAY_2024, MAY_2024),
        (1_000_000, LIMITS.latest),  # each file of Nix
        (315_532_800_000_000, LIMITS.latest),  # a ZIP without times: 1980
        (-1, LIMITS.latest),
        (LIMITS.latest + 30_000_000, LIMITS.latest),  # a clock that is ahead
    ],
)
def test_a_file_without_a_possible_time_is_as_new_as_its_import(modified_at: int, generation: int) -> None:
    page = page_of_file(("example.org", "a.html"), modified_at, b"<p>", LIMITS)
    assert isinstance(page, ArchivedPage), page
    assert page.generation == generation
