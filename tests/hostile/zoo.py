"""The zoo: kinds of bad servers, one GET each, with the outcome that the crawler records.

`tests/hostile/test_zoo.py` meets each of them. `python -m benchmarks zoo` measures how long each holds a slot of the
fetcher and how much memory it takes, and `python -m docs.generate` writes docs/reference/hostile-servers.md.
"""

import asyncio
import gzip
import socket
import struct
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import brotli
from backports import zstd

from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session
from streams.settings import CrawlSettings
from tests.hostile.servers import Script, bad_server, make_certificate, raw, response

Where = Literal["tls", "other host", "expired", "unknown authority", "plain", "closed"]
CAP_BYTES = 100_000
"""Maximum bytes of a body in the zoo."""
TIMEOUT_SECONDS = 10.0
SHORT_SECONDS = 0.5
"""Timeout of kinds that nothing else ends (seconds)."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
BOMB = b"\0" * 20_000_000
PAGE = b"<p>" + b"words " * 50
TIMEOUT = ("timeout", True)
INVALID = ("invalid", False)
EARLY = ("invalid", True)
TOO_LARGE = ("too_large", False)
CUT = ("network_error", True)
TLS = ("network_error", False)
OK = ("ok", False)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of bad server. `says`: a part of the recorded reason."""

    group: str
    name: str
    script: Script
    outcome: tuple[str, bool]
    """The recorded outcome, and True if it is tried again."""
    says: str = ""
    where: Where = "tls"
    timeout_seconds: float = TIMEOUT_SECONDS


async def meet(kind: Kind, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> Answer:
    """Ask a server of this kind for one page, as the fetcher does."""
    async with _serving(kind, folder) as settings:
        session = open_session(settings)
        try:
            return await get(
                session, "https://bad.example/x", purpose="page", limits=limits_of(settings), monotonic=monotonic
            )
        finally:
            await close_session(session)


@asynccontextmanager
async def _serving(kind: Kind, folder: Path) -> AsyncIterator[CrawlSettings]:
    limits: dict[str, Any] = {"max_body_bytes": CAP_BYTES, "timeout_seconds": kind.timeout_seconds}
    if kind.where in ("plain", "closed"):
        async with _plain_server(kind) as port:
            _, _, ca_file = make_certificate(folder, "bad.example")
            yield CrawlSettings(local_hosts={"bad.example": f"127.0.0.1:{port}"}, local_ca_file=ca_file, **limits)
        return
    host = "other.example" if kind.where == "other host" else "bad.example"
    async with bad_server(folder, {"/x": kind.script}, host=host, expired=kind.where == "expired") as server:
        settings = server.settings(**limits)
        yield settings.model_copy(update={"local_ca_file": None}) if kind.where == "unknown authority" else settings


@asynccontextmanager
async def _plain_server(kind: Kind) -> AsyncIterator[int]:
    """Run a server without TLS, whose script writes as soon as a client connects. `closed`: nothing listens."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        try:
            await kind.script(writer)
            await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    if kind.where == "closed":
        listening.close()
        await listening.wait_closed()
    try:
        yield port
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def push(writer: asyncio.StreamWriter, content: bytes) -> None:
    """Write, let other tasks run, and end when the client has closed: over TLS, `drain` by itself does neither."""
    if writer.is_closing():
        raise ConnectionResetError
    writer.write(content)
    await writer.drain()
    await asyncio.sleep(0)


async def silent(_: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3_600)


def endless(head: bytes, part: bytes, pause_seconds: float = 0.0) -> Script:
    """Make a script that sends `head`, and then `part` again and again."""

    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            await push(writer, part)
            await asyncio.sleep(pause_seconds)

    return script


def endless_body(coding: str, part: bytes, begin: bytes = b"") -> Script:
    """Make a script that sends an endless body in a content coding."""
    return endless(HEAD + f"content-encoding: {coding}\r\nconnection: close\r\n\r\n".encode() + begin, part)


def then_silent(content: bytes) -> Script:
    """Make a script that sends these bytes, and keeps the connection open."""

    async def script(writer: asyncio.StreamWriter) -> None:
        await push(writer, content)
        await silent(writer)

    return script


def then_reset(content: bytes) -> Script:
    """Make a script that sends these bytes, and ends the connection by a reset (RST) in place of its end (FIN)."""

    async def script(writer: asyncio.StreamWriter) -> None:
        if content:
            await push(writer, content)
            await asyncio.sleep(0.05)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return script


def coded(body: bytes, coding: str) -> Script:
    return response(body, content_encoding=coding)


def head(lines: bytes) -> Script:
    """Make a script with these header lines, and an empty body."""
    return raw(HEAD + lines + b"content-length: 0\r\nconnection: close\r\n\r\n")


def redirect(location: str, status: str = "302 Found") -> Script:
    return response(status=status, location=location)


def _many_fields() -> Script:
    fields: dict[str, Any] = {f"x{n}": 8_000 * "x" for n in range(20)}
    return response(**fields)


EMPTY_FRAME, EMPTY_MEMBER = zstd.compress(b""), gzip.compress(b"")
FRAMES, MEMBERS = EMPTY_FRAME * 2_000_000, EMPTY_MEMBER * 2_000_000
SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18" + (60_000).to_bytes(4, "little") + bytes(60_000)
WRONG_CHECKSUM = gzip.compress(PAGE)[:-8] + bytes(8)

_Connection = tuple[str, Script, tuple[str, bool], str, Where, float]
_CONNECTIONS: tuple[_Connection, ...] = (
    ("nothing listens", raw(b""), CUT, "refused", "closed", TIMEOUT_SECONDS),
    ("plain HTTP on the port of HTTPS", raw(b"HTTP/1.1 400 Bad\r\n\r\n"), TLS, "TLS", "plain", TIMEOUT_SECONDS),
    ("bytes that are no TLS", raw(b"\0" * 400), TLS, "TLS", "plain", TIMEOUT_SECONDS),
    ("a TLS handshake that never begins", silent, TIMEOUT, "", "plain", SHORT_SECONDS),
    ("an endless TLS handshake", endless(b"", b"\x16\x03\x03\x40\x00"), TLS, "", "plain", TIMEOUT_SECONDS),
    ("a connection that is closed before TLS", raw(b""), CUT, "", "plain", TIMEOUT_SECONDS),
    ("a connection that is reset before TLS", then_reset(b""), CUT, "", "plain", TIMEOUT_SECONDS),
    ("a certificate of another host", response(PAGE), TLS, "TLS", "other host", TIMEOUT_SECONDS),
    ("an expired certificate", response(PAGE), TLS, "TLS", "expired", TIMEOUT_SECONDS),
    ("a certificate of an unknown authority", response(PAGE), TLS, "TLS", "unknown authority", TIMEOUT_SECONDS),
    ("no answer at all", silent, TIMEOUT, "", "tls", SHORT_SECONDS),
    ("an answer without a byte", raw(b""), CUT, "Disconnected", "tls", TIMEOUT_SECONDS),
    ("a reset in place of an answer", then_reset(b""), CUT, "", "tls", TIMEOUT_SECONDS),
    ("a reset within the head", then_reset(b"HTTP/1.1 200 OK\r\nx"), CUT, "", "tls", TIMEOUT_SECONDS),
    ("a reset within the body", then_reset(HEAD + b"content-length: 9\r\n\r\nx"), CUT, "", "tls", TIMEOUT_SECONDS),
)

_HEADS = (
    ("another protocol", raw(b"SSH-2.0-OpenSSH_9.2\r\n"), INVALID, "not valid HTTP"),
    ("HTTP/0.9: a body without a head", raw(b"<html><p>words\r\n\r\n"), INVALID, "not valid HTTP"),
    ("frames of HTTP/2 that nobody asked for", raw(b"\0\0\x12\4\0\0\0\0\0" + bytes(18)), INVALID, "not valid HTTP"),
    ("HTTP/9.9", raw(b"HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n"), OK, ""),
    ("a status of four digits", raw(b"HTTP/1.1 2000 OK\r\n\r\n"), INVALID, ""),
    ("a status of letters", raw(b"HTTP/1.1 two OK\r\n\r\n"), INVALID, "not valid HTTP"),
    ("a negative status", raw(b"HTTP/1.1 -200 OK\r\n\r\n"), INVALID, "not valid HTTP"),
    ("a status line without end", endless(b"HTTP/1.1 200 ", b"x" * 1_000), TOO_LARGE, "of headers"),
    ("a header's name without end", endless(HEAD, b"x" * 1_000), TOO_LARGE, "of headers"),
    ("a header's value without end", endless(HEAD + b"x: ", b"y" * 1_000), TOO_LARGE, "of headers"),
    ("headers without end", endless(HEAD, b"x: y\r\n" * 100), TOO_LARGE, "of headers"),
    ("a folded header without end", endless(HEAD + b"x: y\r\n", b" z\r\n" * 100), TOO_LARGE, "of headers"),
    ("a huge header field", response(x=100_000 * "x"), TOO_LARGE, "of headers"),
    ("ten thousand fields", raw(HEAD + b"x: y\r\n" * 10_000 + b"\r\n"), OK, ""),
    ("many long fields", _many_fields(), TOO_LARGE, "of headers"),
    ("a thousand cookies", head(b"set-cookie: a=b; path=/\r\n" * 1_000), OK, ""),
    ("a NUL in a header", head(b"x: a\0b\r\n"), INVALID, "not valid HTTP"),
    ("a header without a colon", head(b"words\r\n"), OK, ""),
    ("a header without a name", head(b": y\r\n"), OK, ""),
    ("a space before the colon", head(b"x : y\r\n"), OK, ""),
    ("a cut head", raw(b"HTTP/1.1 200 OK\r\ncontent-ty"), CUT, "Disconnected"),
    ("103 responses without end", endless(b"", b"HTTP/1.1 103 E\r\nlink: </a>\r\n\r\n"), INVALID, "more than 20 inf"),
    ("100 responses without end", endless(b"", b"HTTP/1.1 100 C\r\n\r\n" * 500), INVALID, "more than 20 info"),
    ("a switch to another protocol", raw(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"), INVALID, "101"),
    ("line breaks before the head", endless(b"", b"\r\n" * 500), INVALID, "no head of a response"),
)

_LENGTHS = (
    ("two lengths", raw(HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxy"), INVALID, "not valid HTTP"),
    ("a negative length", raw(HEAD + b"content-length: -1\r\n\r\nxy"), INVALID, "not valid HTTP"),
    ("a length with a sign", raw(HEAD + b"content-length: +2\r\n\r\nxy"), INVALID, "not valid HTTP"),
    ("a length of 40 digits", raw(HEAD + b"content-length: " + b"9" * 40 + b"\r\n\r\nx"), INVALID, "not valid HTTP"),
    ("a length and chunks", raw(CHUNKED[:-2] + b"content-length: 2\r\n\r\n2\r\nxy\r\n0\r\n\r\n"), OK, ""),
    ("a body shorter than its length", raw(HEAD + b"content-length: 99\r\n\r\nx"), CUT, "Payload"),
    ("a body longer than its length", raw(HEAD + b"content-length: 2\r\n\r\nxyz" + b"z" * 1_000), OK, ""),
    ("two answers to one request", raw((HEAD + b"content-length: 2\r\n\r\nxy") * 2), OK, ""),
    ("a cut chunk", raw(CHUNKED + b"ff\r\nx"), CUT, "Payload"),
    ("a chunk size that is not a number", raw(CHUNKED + b"zz\r\n"), INVALID, "not valid HTTP"),
    ("a negative chunk size", raw(CHUNKED + b"-1\r\nx\r\n"), INVALID, "not valid HTTP"),
    ("a chunk size of 40 digits", raw(CHUNKED + b"f" * 40 + b"\r\nx\r\n"), INVALID, "not valid HTTP"),
    ("a chunk size without end", endless(CHUNKED, b"0" * 1_000), INVALID, ""),
    ("chunks of one byte", endless(CHUNKED, b"1\r\nx\r\n" * 1_000), INVALID, "chunks of the body are too small"),
    ("chunk extensions", endless(CHUNKED, b"1;" + b"x" * 1_000 + b"\r\nx\r\n"), INVALID, "too small"),
    ("trailers without end", endless(CHUNKED + b"0\r\n", b"x: y\r\n" * 100), INVALID, "not valid HTTP"),
    ("a transfer coding that nobody asked for", raw(HEAD + b"transfer-encoding: gzip\r\n\r\nx"), INVALID, "'gzip'"),
)

_BODIES = (
    ("a body without end", endless(CHUNKED, b"1000\r\n" + b"x" * 0x1000 + b"\r\n"), TOO_LARGE, "longer than 100000"),
    ("a body without end or length", endless(HEAD + b"\r\n", b"x" * 10_000), TOO_LARGE, "longer than 100000"),
    ("a gzip bomb", coded(gzip.compress(BOMB), "gzip"), TOO_LARGE, "longer than"),
    ("a deflate bomb", coded(zlib.compress(BOMB), "deflate"), TOO_LARGE, "longer than"),
    ("a brotli bomb", coded(brotli.compress(BOMB, quality=1), "br"), TOO_LARGE, "longer than"),
    ("a zstd bomb", coded(zstd.compress(BOMB), "zstd"), TOO_LARGE, "longer than"),
    ("a bomb in a bomb", coded(gzip.compress(gzip.compress(BOMB)), "gzip, gzip"), TOO_LARGE, "longer than"),
    ("three codings", coded(b"x", "gzip, gzip, br"), INVALID, "3 content codings"),
    ("a hundred codings", coded(b"x", ", ".join(["gzip"] * 100)), INVALID, "100 content codings"),
    ("an unknown coding", coded(b"x", "lzma"), OK, ""),
    ("a coding that nobody asked for", coded(b"x", "compress"), INVALID, "'compress'"),
    ("no gzip at all", coded(b"<html>", "gzip"), OK, ""),
    ("no gzip, and no text", coded(b"\0<html>", "gzip"), INVALID, "can't be decompressed"),
    ("no brotli at all", coded(b"<html>", "br"), OK, ""),
    ("no brotli, and no text", coded(b"\0<html>", "br"), INVALID, "can't be decompressed"),
    ("no zstd at all", coded(b"<html>", "zstd"), OK, ""),
    ("no zstd, and no text", coded(b"\0<html>", "zstd"), INVALID, "can't be decompressed"),
    ("gzip with a wrong checksum", coded(WRONG_CHECKSUM, "gzip"), INVALID, "can't be decompressed"),
    ("gzip that ends early", coded(gzip.compress(PAGE)[:-9], "gzip"), EARLY, "ends before"),
    ("zlib that ends early", coded(zlib.compress(PAGE)[:-5], "deflate"), EARLY, "ends before"),
    ("brotli that ends early", coded(brotli.compress(PAGE)[:-1], "br"), EARLY, "ends before"),
    ("zstd that ends early", coded(zstd.compress(PAGE)[:-1], "zstd"), EARLY, "ends before"),
    ("empty zstd frames", endless_body("zstd", EMPTY_FRAME * 1_000), INVALID, "members"),
    ("empty zstd frames in zstd", coded(zstd.compress(FRAMES), "zstd, zstd"), INVALID, "members"),
    ("gzip members", endless_body("gzip", EMPTY_MEMBER * 1_000), INVALID, "members"),
    ("gzip members in zstd", coded(zstd.compress(MEMBERS), "gzip, zstd"), INVALID, "members"),
    ("gzip members in gzip", coded(gzip.compress(MEMBERS), "gzip, gzip"), INVALID, "members"),
    ("skippable zstd frames", endless_body("zstd", SKIPPABLE_FRAME), INVALID, "body is longer"),
    (
        "an endless gzip file name",
        endless_body("gzip", b"a" * 10_000, b"\x1f\x8b\x08\x08" + bytes(6)),
        INVALID,
        "body is longer",
    ),
    ("empty deflate blocks", endless_body("deflate", b"\0\0\0\xff\xff" * 2_000, b"\x78\x9c"), INVALID, "body is long"),
    ("brotli metadata", endless_body("br", b"\x06" * 10_000, b"\x0c"), INVALID, "body is longer"),
)

_SLOW = (
    ("a head of one byte at a time", endless(b"HTTP/1.1 200 OK\r\nx: ", b"y", 0.02), TIMEOUT, ""),
    ("a body of one byte at a time", endless(HEAD + b"content-length: 999999\r\n\r\n", b"x", 0.02), TIMEOUT, ""),
    ("half a body, and nothing more", then_silent(HEAD + b"content-length: 99\r\n\r\nx"), TIMEOUT, ""),
    ("a body without length that stays open", then_silent(HEAD + b"\r\n" + PAGE), TIMEOUT, ""),
    ("a last chunk that never comes", then_silent(CHUNKED + b"2\r\nxy\r\n"), TIMEOUT, ""),
    ("an early hint, and nothing more", then_silent(b"HTTP/1.1 103 Early Hints\r\n\r\n"), TIMEOUT, ""),
)

_STATUSES = (
    ("204 No Content", INVALID),
    ("205 Reset Content", INVALID),
    ("206 Partial Content", INVALID),
    ("299 Odd", INVALID),
    ("300 Multiple Choices", INVALID),
    ("304 Not Modified", INVALID),
    ("305 Use Proxy", INVALID),
    ("401 Unauthorized", ("refused", False)),
    ("402 Payment Required", ("refused", False)),
    ("403 Forbidden", ("refused", False)),
    ("404 Not Found", ("gone", False)),
    ("407 Proxy Authentication Required", ("refused", False)),
    ("408 Request Timeout", ("server_error", True)),
    ("410 Gone", ("gone", False)),
    ("418 Teapot", ("client_error", False)),
    ("429 Slow Down", ("rate_limited", True)),
    ("431 Header Fields Too Large", ("client_error", False)),
    ("451 For Legal Reasons", ("refused", False)),
    ("500 Oh", ("server_error", True)),
    ("501 Never", ("server_error", False)),
    ("503 Later", ("server_error", True)),
    ("508 Loop Detected", ("server_error", False)),
    ("600 Beyond", INVALID),
    ("999 Denied", INVALID),
)

GUARDED = ("guarded", False)
_REDIRECTS = (
    ("a redirect to itself", redirect("/x"), ("redirect", False), ""),
    ("a redirect to the metadata of a cloud", redirect("http://169.254.169.254/latest/meta-data"), GUARDED, ""),
    ("a redirect to loopback in raised digits", redirect("https://①②⑦.⓪.⓪.①/".encode().decode("latin-1")), GUARDED, ""),
    ("a redirect to loopback in hexadecimal", redirect("https://0x7f000001/"), GUARDED, ""),
    ("a redirect to a mapped address", redirect("https://[::ffff:127.0.0.1]/"), GUARDED, ""),
    ("a redirect with a password", redirect("https://user:password@good.example/"), GUARDED, ""),
    ("a redirect to a file", redirect("file:///etc/passwd"), INVALID, ""),
    ("a redirect to a script", redirect("javascript:alert(1)"), INVALID, ""),
    ("a redirect to data", redirect("data:text/html,<p>words"), INVALID, ""),
    ("a redirect to a URL of 5,000 characters", redirect("https://good.example/" + "x" * 5_000), INVALID, ""),
    ("a redirect without Location", response(status="302 Found"), INVALID, "without Location"),
    ("a redirect with an empty Location", redirect(""), INVALID, ""),
    ("a redirect whose Location is folded", redirect("/a\r\n\tx: y"), ("redirect", False), ""),
)

_TYPES = (
    ("an image", response(b"GIF89a", content_type="image/gif"), ("unsupported_type", False), "image/gif"),
    ("any bytes", response(b"\0" * 99, content_type="application/octet-stream"), ("unsupported_type", False), "octet"),
    (
        "pictures that replace each other without end",
        endless(b"HTTP/1.1 200 OK\r\ncontent-type: multipart/x-mixed-replace\r\n\r\n", b"--x\r\n" * 100),
        ("unsupported_type", False),
        "mixed-replace",
    ),
    (
        "a stream of events without end",
        endless(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", b"data: x\n\n" * 100),
        ("unsupported_type", False),
        "event-stream",
    ),
    ("a type of 8,000 characters", response(b"x", content_type="x" * 8_000), OK, ""),
    ("an unknown charset", response(PAGE, content_type="text/html; charset=klingon"), OK, ""),
    ("a wrong charset", response(b"\xff\xfe\x00", content_type="text/html; charset=utf-8"), OK, ""),
    ("NULs in HTML", response(b"\0" * 9_999), OK, ""),
)

ZOO: tuple[Kind, ...] = (
    *(Kind("connections", name, script, outcome, says, where, limit)
      for name, script, outcome, says, where, limit in _CONNECTIONS),
    *(Kind("heads", *row) for row in _HEADS),
    *(Kind("lengths and chunks", *row) for row in _LENGTHS),
    *(Kind("bodies", *row) for row in _BODIES),
    *(Kind("slow servers", *row, timeout_seconds=SHORT_SECONDS) for row in _SLOW),
    *(Kind("statuses", status, response(status=status), outcome, status[:3]) for status, outcome in _STATUSES),
    *(Kind("redirects", *row) for row in _REDIRECTS),
    *(Kind("types", *row) for row in _TYPES),
)  # fmt: skip
