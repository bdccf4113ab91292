"""One GET from servers that misbehave: each ends in an outcome, none in an exception."""

import asyncio
import gzip
import itertools
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd

from streams.crawl.fetch.http import Answer, Limits, close_session, get, limits_of, open_session, user_agent
from streams.settings import CrawlSettings
from tests.hostile.servers import Script, bad_server, raw, response

CAP = 100_000
URL = "https://bad.example/x"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"


async def fetch(
    settings: CrawlSettings,
    url: str = URL,
    *,
    limits: Limits | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    **arguments: str,
) -> Answer:
    session = open_session(settings)
    try:
        purpose = arguments.pop("purpose", "page")
        return await get(
            session,
            url,
            purpose=purpose,  # type: ignore[arg-type] # a value of the tests' tables
            limits=limits or limits_of(settings),
            monotonic=monotonic,
            **arguments,
        )
    finally:
        await close_session(session)


MANY_FIELDS: dict[str, Any] = {f"x{n}": 8_000 * "x" for n in range(20)}


async def fetch_script(folder: Path, script: Script, **arguments: Any) -> Answer:
    async with bad_server(folder, {"/x": script}) as server:
        return await fetch(server.settings(max_body_bytes=CAP, timeout_seconds=10), **arguments)


def outcome(answer: Answer) -> tuple[str, bool]:
    return answer.verdict.outcome, answer.verdict.retryable


async def push(writer: asyncio.StreamWriter, content: bytes) -> None:
    """Write, let other tasks run, and end when the client has closed: over TLS, `drain` by itself does neither."""
    if writer.is_closing():
        raise ConnectionResetError
    writer.write(content)
    await writer.drain()
    await asyncio.sleep(0)


async def drip(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"content-length: 1000000\r\n\r\n")
    while True:
        await push(writer, b"x")
        await asyncio.sleep(0.01)


async def silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3_600)


def endless(head: bytes, part: bytes) -> Script:
    """Make a script that sends `head`, and then `part` again and again."""

    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            await push(writer, part)

    return script


def endless_body(coding: str, part: bytes, begin: bytes = b"") -> Script:
    """Make a script that sends an endless body in a content coding."""
    return endless(HEAD + f"content-encoding: {coding}\r\nconnection: close\r\n\r\n".encode() + begin, part)


async def test_a_good_answer(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": response(b"<p>Hi", etag='"1"', set_cookie="a=1")}) as server:
        settings = server.settings(contact_url="https://we.example/crawler")
        answer = await fetch(settings)
        again = await fetch(settings, etag='"1"', last_modified="yesterday")
    assert (outcome(answer), answer.body, answer.status) == (("ok", False), b"<p>Hi", 200)
    assert answer.headers == {"content-type": "text/html", "etag": '"1"'}
    assert again.verdict.outcome == "ok"
    first, second = (request.decode().lower() for request in server.requests)
    assert "user-agent: rifflebot/0.1 (+https://we.example/crawler)" in first
    assert 'if-none-match: "1"' in second
    assert "if-modified-since: yesterday" in second
    assert "cookie" not in second


def test_without_a_contact_url_the_user_agent_is_the_setting() -> None:
    settings = CrawlSettings()
    assert user_agent(settings) == settings.user_agent


BOMB = b"\0" * 20_000_000
EARLY = ("invalid", True)
PAGE = b"<p>" + b"words " * 50
CASES: list[tuple[str, Script, tuple[str, bool], str]] = [
    (
        "an endless body",
        endless(HEAD + CHUNKED, b"1000\r\n" + b"x" * 0x1000 + b"\r\n"),
        ("too_large", False),
        "longer than 100000 bytes",
    ),
    ("a gzip bomb", response(gzip.compress(BOMB), content_encoding="gzip"), ("too_large", False), "longer than"),
    ("a deflate bomb", response(zlib.compress(BOMB), content_encoding="deflate"), ("too_large", False), "longer than"),
    ("a brotli bomb", response(brotli.compress(BOMB), content_encoding="br"), ("too_large", False), "longer than"),
    ("a zstd bomb", response(zstd.compress(BOMB), content_encoding="zstd"), ("too_large", False), "longer than"),
    (
        "a bomb in a bomb",
        response(gzip.compress(gzip.compress(BOMB)), content_encoding="gzip, gzip"),
        ("too_large", False),
        "longer than",
    ),
    ("three codings", response(b"x", content_encoding="gzip, gzip, br"), ("invalid", False), "3 content codings"),
    ("an unknown coding", response(b"x", content_encoding="lzma"), ("invalid", False), "'lzma'"),
    ("no gzip at all", response(b"<html>", content_encoding="gzip"), ("invalid", False), "can't be decompressed"),
    ("no brotli at all", response(b"<html>", content_encoding="br"), ("invalid", False), "can't be decompressed"),
    (
        "gzip that ends early",
        response(gzip.compress(PAGE)[:-9], content_encoding="gzip"),
        ("invalid", True),
        "ends before",
    ),
    (
        "zlib that ends early",
        response(zlib.compress(PAGE)[:-5], content_encoding="deflate"),
        ("invalid", True),
        "ends before",
    ),
    (
        "brotli that ends early",
        response(brotli.compress(PAGE)[:-1], content_encoding="br"),
        ("invalid", True),
        "ends before",
    ),
    (
        "zstd that ends early",
        response(zstd.compress(PAGE)[:-1], content_encoding="zstd"),
        ("invalid", True),
        "ends before",
    ),
    ("a huge header field", response(x=100_000 * "x"), ("invalid", False), "not valid HTTP"),
    ("ten thousand fields", raw(HEAD + b"x: y\r\n" * 10_000 + b"\r\n"), ("invalid", False), "not valid HTTP"),
    ("many long fields", response(**MANY_FIELDS), ("too_large", False), "of headers"),
    ("a body shorter than promised", raw(HEAD + b"content-length: 99\r\n\r\nx"), ("network_error", True), "Payload"),
    ("a cut chunk", raw(HEAD + b"transfer-encoding: chunked\r\n\r\nff\r\nx"), ("network_error", True), "Payload"),
    (
        "a chunk size that is not a number",
        raw(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"),
        ("invalid", False),
        "not valid HTTP",
    ),
    ("a cut head", raw(b"HTTP/1.1 200 OK\r\ncontent-ty"), ("network_error", True), "Disconnected"),
    ("no bytes at all", raw(b""), ("network_error", True), "Disconnected"),
    ("another protocol", raw(b"SSH-2.0-OpenSSH_9.2\r\n"), ("invalid", False), "not valid HTTP"),
    (
        "two lengths",
        raw(HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxy"),
        ("invalid", False),
        "not valid HTTP",
    ),
    ("304 to an unconditional request", response(status="304 Not Modified"), ("invalid", False), "304"),
    ("204", response(status="204 No Content"), ("invalid", False), "204"),
    ("an unknown status", response(status="299 Odd"), ("invalid", False), "299"),
    ("an image", response(b"GIF89a", content_type="image/gif"), ("unsupported_type", False), "image/gif"),
    ("404", response(status="404 Not Found"), ("gone", False), "404"),
    ("403", response(status="403 Forbidden"), ("refused", False), "403"),
    ("418", response(status="418 Teapot"), ("client_error", False), "418"),
    ("429", response(status="429 Slow Down", retry_after="7"), ("rate_limited", True), "429"),
    ("503", response(status="503 Later"), ("server_error", True), "503"),
    ("501", response(status="501 Never"), ("server_error", False), "501"),
]


@pytest.mark.parametrize(("script", "expected", "message"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
async def test_a_bad_answer(tmp_path: Path, script: Script, expected: tuple[str, bool], message: str) -> None:
    answer = await fetch_script(tmp_path, script)
    assert outcome(answer) == expected, answer.verdict
    assert message in (answer.verdict.error or "")
    assert answer.body is None


EMPTY_FRAME, EMPTY_MEMBER = zstd.compress(b""), gzip.compress(b"")
FRAMES, MEMBERS = EMPTY_FRAME * 2_000_000, EMPTY_MEMBER * 2_000_000
GZIP_FILE_NAME = b"\x1f\x8b\x08\x08" + bytes(6)
SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18" + (60_000).to_bytes(4, "little") + bytes(60_000)
FLOODS: list[tuple[str, Script, str]] = [
    ("empty zstd frames", endless_body("zstd", EMPTY_FRAME * 1_000), "members"),
    (
        "empty zstd frames in zstd",
        response(zstd.compress(FRAMES), content_encoding="zstd, zstd"),
        "members",
    ),
    ("gzip members", endless_body("gzip", EMPTY_MEMBER * 1_000), "members"),
    ("gzip members in zstd", response(zstd.compress(MEMBERS), content_encoding="gzip, zstd"), "members"),
    ("gzip members in gzip", response(gzip.compress(MEMBERS), content_encoding="gzip, gzip"), "members"),
    ("skippable zstd frames", endless_body("zstd", SKIPPABLE_FRAME), "body is longer"),
    (
        "an endless gzip file name",
        endless_body("gzip", b"a" * 10_000, b"\x1f\x8b\x08\x08" + bytes(6)),
        "body is longer",
    ),
    ("empty deflate blocks", endless_body("deflate", b"\0\0\0\xff\xff" * 2_000, b"\x78\x9c"), "body is longer"),
    ("brotli metadata", endless_body("br", b"\x06" * 10_000, b"\x0c"), "body is longer"),
    ("103 responses", endless(b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"), "more than 20 informational"),
    ("100 responses", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500), "more than 20 informational"),
    ("chunks of one byte", endless(HEAD + CHUNKED, b"1\r\nx\r\n" * 1_000), "chunks of the body are too small"),
    ("chunk extensions", endless(HEAD + CHUNKED, b"1;" + b"x" * 1_000 + b"\r\nx\r\n"), "too small"),
]


@pytest.mark.parametrize(("script", "message"), [f[1:] for f in FLOODS], ids=[f[0] for f in FLOODS])
async def test_a_flood_ends_by_a_limit_and_not_by_the_timeout(tmp_path: Path, script: Script, message: str) -> None:
    answer = await fetch_script(tmp_path, script)
    assert outcome(answer) == ("invalid", False), answer.verdict
    assert message in (answer.verdict.error or "")


async def test_early_hints_before_each_response_of_a_connection_are_accepted(tmp_path: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nHi"
    async with bad_server(tmp_path, {"/x": raw(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3 + page)}) as server:
        answer = await fetch(server.settings())
    assert (answer.verdict.outcome, answer.body) == ("ok", b"Hi")


REDIRECTS = [
    ("https://good.example/a?utm_source=x#top", ("redirect", "https://good.example/a")),
    ("/y", ("redirect", "https://bad.example/y")),
    ("http://good.example/", ("redirect", "https://good.example/")),
    ("http://169.254.169.254/latest/meta-data", ("guarded", None)),
    ("https://①②⑦.⓪.⓪.①/".encode().decode("latin-1"), ("guarded", None)),
    ("https://0x7f000001/", ("guarded", None)),
    ("https://[::ffff:127.0.0.1]/", ("guarded", None)),
    ("https://user:password@good.example/", ("guarded", None)),
    ("file:///etc/passwd", ("invalid", None)),
    ("javascript:alert(1)", ("invalid", None)),
    ("https://good.example/" + "x" * 5_000, ("invalid", None)),
    ("", ("invalid", None)),
]


@pytest.mark.parametrize(("location", "expected"), REDIRECTS, ids=[location[:40] for location, _ in REDIRECTS])
async def test_a_redirect_is_reported_and_not_followed(
    tmp_path: Path, location: str, expected: tuple[str, str | None]
) -> None:
    async with bad_server(tmp_path, {"/x": response(status="302 Found", location=location)}) as server:
        answer = await fetch(server.settings())
    assert (answer.verdict.outcome, answer.verdict.redirect_to) == expected
    assert len(server.requests) == 1


GOOD = b"<p>" + b"words " * 5_000
CODINGS = {
    "gzip": gzip.compress(GOOD),
    "x-gzip": gzip.compress(GOOD[:100]) + gzip.compress(GOOD[100:]),
    "deflate": zlib.compress(GOOD),
    "Deflate": zlib.compress(GOOD)[2:-4],  # the bare form of RFC 1951, which some servers send
    "br": brotli.compress(GOOD),
    "zstd": zstd.compress(GOOD[:100]) + zstd.compress(GOOD[100:]),
    "identity": GOOD,
    "gzip, br": brotli.compress(gzip.compress(GOOD)),
}


@pytest.mark.parametrize("coding", CODINGS)
async def test_each_coding_is_decoded(tmp_path: Path, coding: str) -> None:
    answer = await fetch_script(tmp_path, response(CODINGS[coding], content_encoding=coding))
    assert (answer.verdict.outcome, answer.body) == ("ok", GOOD)


async def test_a_brotli_body_of_half_a_megabyte_is_whole(tmp_path: Path) -> None:
    body = b"".join(b"<p>paragraph %d</p>" % number for number in range(25_000))
    async with bad_server(
        tmp_path, {"/x": response(brotli.compress(body, quality=4), content_encoding="br")}
    ) as server:
        answer = await fetch(server.settings())
    assert (answer.verdict.outcome, answer.body) == ("ok", body)


async def test_a_wrong_charset_does_not_change_the_body(tmp_path: Path) -> None:
    answer = await fetch_script(tmp_path, response(b"\xff\xfe\x00", content_type="text/html; charset=utf-8"))
    assert answer.body == b"\xff\xfe\x00"


async def test_a_long_robots_file_is_cut(tmp_path: Path) -> None:
    answer = await fetch_script(tmp_path, response(b"#" * 600_000, content_type="image/gif"), purpose="robots")
    assert (answer.verdict.outcome, len(answer.body or b"")) == ("ok", 500 * 1024)


async def test_304_to_a_conditional_request(tmp_path: Path) -> None:
    answer = await fetch_script(tmp_path, response(status="304 Not Modified"), etag='"1"')
    assert outcome(answer) == ("not_modified", False)


async def test_a_body_below_the_minimum_rate_ends_the_request(tmp_path: Path) -> None:
    clock = itertools.count(step=10.0)  # each call returns a time ten seconds later
    async with bad_server(tmp_path, {"/x": drip}) as server:
        answer = await fetch(server.settings(), monotonic=lambda: next(clock))
    assert outcome(answer) == ("timeout", True)
    assert "below the minimum" in (answer.verdict.error or "")


async def test_a_server_that_never_answers_is_a_timeout(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": silent}) as server:
        answer = await fetch(server.settings(timeout_seconds=0.3))
    assert outcome(answer) == ("timeout", True)


@pytest.mark.parametrize(
    "url",
    [
        "https://localhost/",  # a name of a loopback address
        "https://127.0.0.1:1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data",
        "https://0x7f000001/",  # the C library reads it as an address
        "https://192.0.2.1:8443/",
    ],
)
async def test_no_connection_is_made_to_a_guarded_address(url: str) -> None:
    answer = await fetch(CrawlSettings(timeout_seconds=5), url)
    assert outcome(answer) == ("guarded", False), answer.verdict


async def test_an_address_written_as_a_number_is_invalid() -> None:
    assert (await fetch(CrawlSettings(timeout_seconds=5), "https://2130706433/")).verdict.outcome == "invalid"


async def test_only_the_mapped_port_of_loopback_is_allowed(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": response(b"secret")}) as server:
        settings = CrawlSettings(local_hosts={"other.example": "127.0.0.1:1"}, local_ca_file=server.ca_file)
        answer = await fetch(settings, f"https://localhost:{server.port}/x")
        assert answer.verdict.outcome == "guarded"
        assert server.requests == []


async def test_a_certificate_of_another_host_is_refused(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": response(b"x")}, host="other.example") as server:
        answer = await fetch(server.settings())
    assert outcome(answer) == ("network_error", False)
    assert (answer.verdict.error or "").startswith("TLS: ")
    assert server.requests == []


async def test_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": response(b"x")}) as server:
        answer = await fetch(server.settings().model_copy(update={"local_ca_file": None}))
    assert outcome(answer) == ("network_error", False)
    assert server.requests == []


async def test_a_server_without_tls_is_refused(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": response(b"x")}, tls=False) as server:
        answer = await fetch(server.settings(timeout_seconds=5))
    assert outcome(answer) in {("network_error", False), ("timeout", True)}, answer.verdict


async def test_a_name_without_address() -> None:
    answer = await fetch(CrawlSettings(timeout_seconds=5), "https://no-such-host.invalid/")
    assert outcome(answer) == ("network_error", True)
    assert (answer.verdict.error or "").startswith("DNS: ")


def test_a_local_host_must_be_on_loopback() -> None:
    with pytest.raises(ValueError, match="only loopback addresses"):
        open_session(CrawlSettings(local_hosts={"a.example": "10.0.0.1:443"}))
