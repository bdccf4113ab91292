"""One HTTP GET from a server that may be hostile, with limits on bytes, time, headers and decompression.

Each failure of the server is an outcome, never an exception. Redirects are reported, not followed. No proxies or
cookies are taken from the environment, and TLS is always verified. `streams.crawl.fetch.guard` checks the addresses
that the sockets connect to.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.http_exceptions import BadHttpMessage, PayloadEncodingError
from yarl import URL

from schemas.crawl import Purpose
from streams.allowed_origins import LOOPBACK_NETWORKS, parse_networks
from streams.crawl.exchange import Exchange, head_of, without_secrets
from streams.crawl.fetch.connection import AddressedResponse, LimitedConnector, RefusedFraming
from streams.crawl.fetch.content_encoding import ACCEPT_ENCODING, BodyDecoder, BodyEndsEarly, InvalidBody
from streams.crawl.fetch.framing import MAX_HEADER_BYTES, HeadTooLong
from streams.crawl.fetch.guard import (
    GUARD_MARK,
    denial_reason_outside,
    make_allowed_socket_factory,
    make_guarded_socket_factory,
    parse_local_hosts,
)
from streams.crawl.fetch.outcomes import Verdict, classify_response, header_text, select_headers, unsupported
from streams.crawl.fetch.proxy import ProxiedConnector
from streams.crawl.fetch.resolver import Resolver
from streams.crawl.fetch.tls_failures import HTTP_ALONE, explain_tls
from streams.crawl.fetch.tls_sessions import resume_sessions
from streams.crawl.file_kinds import kind_of
from streams.crawl.robots import MAX_ROBOTS_BYTES
from streams.media_types import media_type, sniff_mark
from streams.robot_name import user_agent_of
from streams.settings import CrawlSettings

ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.8,text/markdown;q=0.8,text/plain;q=0.7,*/*;q=0.1"
MIN_RATE_GRACE_SECONDS = 3.0
"""Time until the minimum rate counts (seconds): slow starts are normal, slow bodies are not."""
MAX_FIELDS = MAX_HEADER_BYTES // len(b"a:\r\n")
"""Maximum number of headers: as many as `framing` gives on."""
MIN_BYTES_PER_SECOND = 500
"""Minimum rate of a response: a slower one is aborted. The slowest modems are faster."""
READ_BYTES = 16 * 1024
PARTS_PER_TURN = 8
"""Number of parts of a body (at most 16 KiB received or 64 KiB decoded) that are handled before other tasks run."""
MAX_ERROR_CHARS = 300
_NO_TLS = f"the connection is refused; {HTTP_ALONE}"
_END_OF_PAGE = b"</html>"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one answer."""

    body_bytes: int
    total_seconds: float
    bytes_per_second: int = MIN_BYTES_PER_SECOND


@dataclass(slots=True)
class Answer:
    """The answer to one request: the received response, or the failure."""

    verdict: Verdict
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    exchange: Exchange | None = None
    """The exchange as it was. Only with a body."""
    elapsed_ms: float = 0.0


class _Stop(Exception):
    """Ends the reading with this verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.error)
        self.verdict = verdict


def user_agent(settings: CrawlSettings) -> str:
    """Return the User-Agent header: the crawler's name, and a URL where its operator can be contacted."""
    return user_agent_of(settings.robot_name, settings.user_agent, settings.contact_url)


def limits_of(settings: CrawlSettings) -> Limits:
    return Limits(settings.max_body_bytes, settings.timeout_seconds)


def open_session(settings: CrawlSettings) -> aiohttp.ClientSession:
    """Open a session. All its connections pass the guard. Close it with `close_session`."""
    local = parse_local_hosts(settings.local_hosts)
    context = make_context(settings.local_ca_file)
    return _session(
        settings, Resolver(local, time.monotonic), make_guarded_socket_factory(local), context, settings.proxy
    )


def open_allowed_session(settings: CrawlSettings) -> aiohttp.ClientSession:
    """Open the session for origins that the operator allowed (`AllowedOrigins`), and for no other URL."""
    networks = parse_networks(settings.allowed_networks) + (LOOPBACK_NETWORKS if settings.allow_loopback else ())
    resolver = Resolver({}, time.monotonic, denied=partial(denial_reason_outside, networks))
    return _session(settings, resolver, make_allowed_socket_factory(networks), make_context(settings.allowed_ca_file))


def make_context(ca_file: Path | None) -> ssl.SSLContext:
    """Return a context that takes the certificates that browsers take, and those that authorities of a file signed.

    Python 3.13 asks for all of RFC 5280 by default, such as the identifier of the authority's key, which the
    certificates of many sites lack.
    """
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


def _session(
    settings: CrawlSettings,
    resolver: Resolver,
    make_socket: Callable[[Any], Any],
    context: ssl.SSLContext,
    proxy: str = "",
) -> aiohttp.ClientSession:
    resume_sessions(context, time.monotonic)
    make_connector = partial(ProxiedConnector, proxy) if proxy else LimitedConnector
    connector = make_connector(
        resolver=resolver,
        socket_factory=make_socket,
        ssl=context,
        limit=0,  # the stage's concurrency is the limit
        limit_per_host=0,
        use_dns_cache=False,  # the resolver keeps its answers
        keepalive_timeout=15.0,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        response_class=AddressedResponse,
        trust_env=False,
        auto_decompress=False,
        headers={"User-Agent": user_agent(settings), "Accept": ACCEPT, "Accept-Encoding": ACCEPT_ENCODING},
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
        max_headers=MAX_FIELDS,
        read_bufsize=READ_BYTES,
        timeout=aiohttp.ClientTimeout(total=settings.timeout_seconds, sock_connect=settings.timeout_seconds / 2),
    )
    # aiohttp repeats a GET once if a kept connection ends, without a turn at the host. It has no public name for that.
    session._retry_connection = False
    return session


async def get(
    session: aiohttp.ClientSession,
    url: str,
    *,
    purpose: Purpose,
    limits: Limits,
    monotonic: Callable[[], float],
    etag: str | None = None,
    last_modified: str | None = None,
    any_type: bool = False,
    headers: Mapping[str, str] | None = None,
    also_kept: frozenset[str] = frozenset(),
    sign_in: Mapping[str, str] | None = None,
) -> Answer:
    """Make one request. Each failure of the server is an Answer; an exception is a fault of this program.

    `any_type`: the body is read whatever its media type is. `headers`: more of the request. `also_kept`: more headers
    of the answer that are kept, in lower case. `sign_in`: secret headers, which are left out of the exchange.
    """
    began = monotonic()
    answer = Answer(Verdict("network_error", retryable=True))
    conditions = {"If-None-Match": etag, "If-Modified-Since": last_modified}
    conditional = {name: value for name, value in conditions.items() if value}
    sent = {**(headers or {}), **(sign_in or {}), **conditional}
    try:
        async with session.get(URL(url, encoded=True), headers=sent, allow_redirects=False) as response:
            if isinstance(response, AddressedResponse) and (resolver := _resolver_of(session)):
                resolver.note_connected(response.url.raw_host or "", response.address)
            await _read(response, answer, url, purpose, bool(conditional), limits, monotonic, any_type, also_kept)
    except _Stop as stop:
        answer.verdict, answer.body = stop.verdict, None
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        # yarl and aiohttp raise ValueError for some faults of a response, such as a malformed Location.
        answer.verdict, answer.body = _classify_failure(error, limits), None
    if answer.exchange is not None and sign_in:
        answer.exchange = without_secrets(answer.exchange, frozenset(name.lower() for name in sign_in))
    answer.elapsed_ms = (monotonic() - began) * 1000
    return answer


async def _read(
    response: aiohttp.ClientResponse,
    answer: Answer,
    url: str,
    purpose: Purpose,
    conditional: bool,
    limits: Limits,
    monotonic: Callable[[], float],
    any_type: bool,
    also_kept: frozenset[str],
) -> None:
    answer.status = response.status
    headers: dict[str, list[str]] = {}
    for name, value in response.raw_headers:
        headers.setdefault(name.decode("latin-1").lower(), []).append(header_text(value))
    answer.headers = select_headers(headers, also_kept)
    answer.verdict = classify_response(url, response.status, headers, purpose, conditional)
    if any_type and answer.verdict.outcome == "unsupported_type":
        answer.verdict = Verdict("ok")
    if answer.verdict.outcome == "ok":
        _check_framing(headers)
        encoding = ", ".join(headers.get("content-encoding", ()))
        received = bytearray() if purpose == "page" else None
        answer.body = await _read_body(response.content, encoding, purpose, limits, monotonic, received)
        if received is not None and not any_type:
            content_type = ", ".join(headers.get("content-type", ()))
            if kind_of(answer.body, content_type, url) is None:
                raise _Stop(unsupported(sniff_mark(answer.body) or media_type(content_type).essence))
        if received is not None:
            answer.exchange = _exchange(response, received if encoding else None)


def _exchange(response: aiohttp.ClientResponse, received: bytearray | None) -> Exchange:
    request = response.request_info
    sent = [
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in request.headers.items()
    ]
    version = f"HTTP/{response.version.major}.{response.version.minor}" if response.version else "HTTP/1.1"
    return Exchange(
        request=head_of(f"{request.method} {request.url.raw_path_qs} HTTP/1.1", sent),
        response=head_of(f"{version} {response.status} {response.reason or ''}".rstrip(), response.raw_headers),
        address=response.address if isinstance(response, AddressedResponse) else "",
        received=None if received is None else bytes(received),
    )


def _check_framing(headers: Mapping[str, Sequence[str]]) -> None:
    """Refuse transfer codings beside chunks, which no request allowed (RFC 9112, section 6.1). Raises _Stop."""
    codings = [coding.strip().lower() for value in headers.get("transfer-encoding", ()) for coding in value.split(",")]
    if foreign := [coding for coding in codings if coding not in ("", "chunked", "identity")]:
        raise _Stop(Verdict("invalid", error=f"the transfer coding {foreign[0][:40]!r} was not asked for"))


async def _read_body(
    content: aiohttp.StreamReader,
    encoding: str,
    purpose: Purpose,
    limits: Limits,
    monotonic: Callable[[], float],
    received: bytearray | None,
) -> bytes:
    """Return the decoded body, and add it to `received` as it came if it has a coding.

    A robots.txt is cut at its limit (RFC 9309, section 2.5); any other body must fit. A page whose last tag came is
    complete, though its server named a longer length, or left out the last chunk.
    """
    cap = MAX_ROBOTS_BYTES if purpose == "robots" else limits.body_bytes
    body = bytearray()
    decoder = BodyDecoder(encoding, limits.body_bytes)
    turns = _Turns(limits, monotonic)
    try:
        async for data in content.iter_chunked(READ_BYTES):
            turns.received += len(data)
            if received is not None and encoding:
                received += data
            await turns.next()
            for piece in decoder.feed(data):
                body += piece
                if len(body) > cap:
                    if purpose == "robots":
                        return bytes(body[:cap])
                    raise _Stop(Verdict("too_large", error=f"the body is longer than {cap} bytes"))
                await turns.next()
    except aiohttp.ClientPayloadError as error:
        if _is_malformed(error) or not body.rstrip()[-len(_END_OF_PAGE) :].lower() == _END_OF_PAGE:
            raise
    for piece in decoder.finish():
        body += piece
    return bytes(body[:cap])


class _Turns:
    """Lets other tasks run and checks the clock, after every few parts of a body."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._began = monotonic()
        self._parts = 0
        self.received = 0

    async def next(self) -> None:
        """Count one part. Raises _Stop if the request takes too long."""
        self._parts += 1
        if self._parts % PARTS_PER_TURN == 0:
            await asyncio.sleep(0)
            seconds = self._monotonic() - self._began
            if seconds > self._limits.total_seconds:
                raise _Stop(_timeout(self._limits))
            if seconds > MIN_RATE_GRACE_SECONDS and self.received < self._limits.bytes_per_second * seconds:
                rate = f"{self.received / seconds:.0f} bytes/s, below the minimum of {self._limits.bytes_per_second}"
                raise _Stop(Verdict("timeout", True, rate))


def _timeout(limits: Limits) -> Verdict:
    return Verdict("timeout", True, f"no complete answer in {limits.total_seconds:g} s")


def _classify_failure(error: Exception, limits: Limits) -> Verdict:
    """Return the outcome for an exception of aiohttp. The order is from the particular to the general."""
    text = " ".join(str(error).split())[:MAX_ERROR_CHARS].encode("utf-8", "backslashreplace").decode()
    match error:
        case aiohttp.ConnectionTimeoutError():
            return Verdict("timeout", True, f"no connection within {limits.total_seconds / 2:g} s; {HTTP_ALONE}")
        case TimeoutError():
            return _timeout(limits)
        case RefusedFraming(reason=HeadTooLong()):
            return Verdict("too_large", False, text)
        case RefusedFraming():
            return Verdict("invalid", False, f"not valid HTTP: {text}")
        case BodyEndsEarly():
            return Verdict("invalid", True, text)
        case InvalidBody():
            return Verdict("invalid", False, text)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            cause = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else None
            failure = explain_tls(cause or getattr(error, "os_error", None), text)
            return Verdict("network_error", failure.retryable, f"TLS: {failure.reason}")
        case aiohttp.ClientConnectorError() if GUARD_MARK in str(error):
            return Verdict("guarded", False, text)
        case aiohttp.ClientConnectorDNSError():
            return Verdict("network_error", True, f"DNS: {error.strerror or text}")
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return Verdict("network_error", True, _NO_TLS)
        case aiohttp.ClientPayloadError() if _is_malformed(error):
            return Verdict("invalid", False, f"not valid HTTP: {text}")
        case aiohttp.ClientResponseError() | aiohttp.InvalidURL():
            return Verdict("invalid", False, f"not valid HTTP: {text}")
        case ValueError():
            return Verdict("invalid", False, f"not valid HTTP: {text}")
    return Verdict("network_error", True, f"{type(error).__name__}: {text}")


def _is_malformed(error: BaseException) -> bool:
    """Return True if the body's framing breaks the rules of HTTP, and does not only end early."""
    cause = error.__cause__
    return isinstance(cause, BadHttpMessage) and not isinstance(cause, PayloadEncodingError)


async def addresses_of(session: aiohttp.ClientSession, host: str) -> list[str]:
    """Return the addresses that the session connects to for a host; an empty list if the name leads nowhere."""
    try:
        return await resolver.addresses(host) if (resolver := _resolver_of(session)) else []
    except OSError:
        return []


def _resolver_of(session: aiohttp.ClientSession) -> Resolver | None:
    """Return the session's resolver, for which its connector has no public name."""
    resolver = getattr(session.connector, "_resolver", None)
    return resolver if isinstance(resolver, Resolver) else None


async def close_session(session: aiohttp.ClientSession) -> None:
    """Close the session, and give the transports one turn of the loop to end TLS, so that no socket stays open."""
    resolver = _resolver_of(session)
    await session.close()
    if resolver:
        await resolver.close()
    await asyncio.sleep(0)
