"""One GET: what is sent and read, codings, conditional requests, and addresses that are never asked.

Servers that misbehave are in `zoo.py`.
"""

import asyncio
import gzip
import itertools
import ssl
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd

from streams.crawl.fetch.http import Answer, Limits, close_session, get, limits_of, open_session
from streams.crawl.fetch.tls_sessions import ResumingObject
from streams.settings import CrawlSettings
from tests.hostile.servers import BadServer, Script, bad_server, make_certificate, raw, response
from tests.hostile.zoo import CAP_BYTES, HEAD, endless

URL = "https://bad.example/x"


async def fetch(
    settings: CrawlSettings,
    url: str = URL,
    *,
    limits: Limits | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    **arguments: Any,
) -> Answer:
    session = open_session(settings)
    try:
        purpose = arguments.pop("purpose", "page")
        return await get(
            session,
            url,
            purpose=purpose,
            limits=limits or limits_of(settings),
            monotonic=monotonic,
            **arguments,
        )
    finally:
        await close_session(session)


async def fetch_script(folder: Path, script: Script, **arguments: Any) -> Answer:
    async with bad_server(folder, {"/x": script}) as server:
        return await fetch(server.settings(max_body_bytes=CAP_BYTES, timeout_seconds=10), **arguments)


def outcome(answer: Answer) -> tuple[str, bool]:
    return answer.verdict.outcome, answer.verdict.retryable


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


async def test_early_hints_before_each_response_of_a_connection_are_accepted(tmp_path: Path) -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nHi"
    async with bad_server(tmp_path, {"/x": raw(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3 + page)}) as server:
        answer = await fetch(server.settings())
    assert (answer.verdict.outcome, answer.body) == ("ok", b"Hi")


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


WHOLE, CUT = b"<html><p>Hi</html>\n", b"<html><p>Hi"
ENDS_EARLY: dict[str, Callable[[bytes], bytes]] = {
    "a length that is too long": lambda body: HEAD + b"content-length: 99\r\n\r\n" + body,
    "no last chunk": lambda body: HEAD + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body),
}


@pytest.mark.parametrize("form", ENDS_EARLY)
async def test_a_page_with_its_last_tag_is_whole_though_its_framing_is_not(form: str, tmp_path: Path) -> None:
    whole = await fetch_script(tmp_path, raw(ENDS_EARLY[form](WHOLE)))
    assert (outcome(whole), whole.body) == (("ok", False), WHOLE)
    cut = await fetch_script(tmp_path, raw(ENDS_EARLY[form](CUT)))
    assert (outcome(cut), cut.body) == (("network_error", True), None)


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
    async with bad_server(tmp_path, {"/x": endless(HEAD + b"content-length: 1000000\r\n\r\n", b"x", 0.01)}) as server:
        answer = await fetch(server.settings(), monotonic=lambda: next(clock))
    assert outcome(answer) == ("timeout", True)
    assert "below the minimum" in (answer.verdict.error or "")


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


async def test_a_name_without_address() -> None:
    answer = await fetch(CrawlSettings(timeout_seconds=5), "https://no-such-host.invalid/")
    assert outcome(answer) == ("network_error", True)
    assert answer.verdict.error == "DNS: Domain name not found"


async def test_a_port_without_a_server() -> None:
    answer = await fetch(CrawlSettings(local_hosts={"other.example": "127.0.0.1:1"}), "https://other.example/")
    assert outcome(answer) == ("network_error", True)
    advice = "a site with http alone needs RIFFLE_CRAWL__ALLOWED_ORIGINS"
    assert answer.verdict.error == f"the connection is refused; {advice}"


def test_a_local_host_must_be_on_loopback() -> None:
    with pytest.raises(ValueError, match="only loopback addresses"):
        open_session(CrawlSettings(local_hosts={"a.example": "10.0.0.1:443"}))


async def test_fetches_of_one_host_use_one_connection_and_read_no_session_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(ResumingObject, "keep_session", lambda connection: read.append(connection.server_hostname))
    certificate, key, ca_file = make_certificate(tmp_path, "bad.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    connections = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    settings = BadServer(listening.sockets[0].getsockname()[1], ca_file).settings()
    session = open_session(settings)
    try:
        for _ in range(10):
            limits = limits_of(settings)
            answer = await get(session, URL, purpose="page", limits=limits, monotonic=time.monotonic)
            assert answer.body == b"hi"
    finally:
        await close_session(session)
        listening.close()
        await listening.wait_closed()
    assert connections == 1
    assert read == [], "Python would lose the memory of each"


async def test_a_host_that_closes_its_connections_makes_one_whole_handshake(tmp_path: Path) -> None:
    resumed = []

    async def script(writer: asyncio.StreamWriter) -> None:
        resumed.append(writer.get_extra_info("ssl_object").session_reused)
        await response(b"<p>Some text.</p>")(writer)

    async with bad_server(tmp_path, {"/x": script}) as server:
        settings = server.settings()
        session = open_session(settings)
        for _ in range(3):
            answer = await get(session, URL, purpose="page", limits=limits_of(settings), monotonic=time.monotonic)
            assert answer.verdict.outcome == "ok"
        await close_session(session)
    assert resumed == [False, True, True]
