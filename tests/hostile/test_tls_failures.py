"""TLS that fails: each reason in words for the people of a site, and what is tried again; and addresses that fail."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from streams.crawl.fetch.http import Answer, _resolver_of, close_session, get, limits_of, open_session
from streams.crawl.fetch.resolver import Resolver, _result
from streams.crawl.fetch.tls_failures import explain_tls
from streams.settings import CrawlSettings
from tests.hostile.servers import bad_server, response

ALERTS = [
    # (alert of RFC 8446, section 6; retried; a part of the sentence)
    (40, False, "no cipher in common"),
    (70, False, "versions of TLS before 1.2"),
    (71, False, "stronger ciphers"),
    (80, True, "internal error"),
    (90, True, "broke off"),
    (112, False, "does not know this name"),
    (116, False, "asks for a certificate"),
    (49, False, "denies access"),
    (50, False, "decode error"),
]


@asynccontextmanager
async def alerting(code: int) -> AsyncIterator[CrawlSettings]:
    """Run a server that answers each hello with a fatal alert."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5)
        writer.write(b"\x15\x03\x01\x00\x02\x02" + bytes([code]))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield CrawlSettings(local_hosts={"bad.example": f"127.0.0.1:{port}"}, timeout_seconds=5)
    finally:
        server.close()
        await server.wait_closed()


async def ask(settings: CrawlSettings) -> Answer:
    session = open_session(settings)
    try:
        limits = limits_of(settings)
        return await get(session, "https://bad.example/x", purpose="page", limits=limits, monotonic=time.monotonic)
    finally:
        await close_session(session)


@pytest.mark.parametrize(("code", "retryable", "says"), ALERTS)
async def test_an_alert_has_a_sentence(code: int, retryable: bool, says: str) -> None:
    async with alerting(code) as settings:
        verdict = (await ask(settings)).verdict
    assert (verdict.outcome, verdict.retryable) == ("network_error", retryable)
    assert says in (verdict.error or "")


async def test_certificates_have_a_sentence(tmp_path: Path) -> None:
    for fields, says in (
        ({"expired": True}, "has expired"),
        ({"host": "other.example"}, "for other names"),
        ({"host": "bad.example"}, "chain of certificates is incomplete"),
    ):
        async with bad_server(tmp_path, {"/x": response(b"hi")}, **fields) as server:
            settings = server.settings("bad.example", timeout_seconds=5)
            unknown = settings.model_copy(update={"local_ca_file": None}) if says.startswith("chain") else settings
            verdict = (await ask(unknown)).verdict
        assert (verdict.outcome, verdict.retryable) == ("network_error", False)
        assert says in (verdict.error or "")


def test_an_error_without_a_name_keeps_its_text() -> None:
    assert explain_tls(None, "odd").reason == "odd"
    assert explain_tls(ssl.SSLEOFError(8, "EOF occurred"), "odd").retryable


class _TwoAddresses(Resolver):
    """A resolver whose first address has no server."""

    async def _resolve(self, host: str, port: int, family: int) -> list[Any]:
        (address, port) = self._local[host]
        return [_result(host, "127.0.0.2", port), _result(host, address, port)]


async def test_an_address_without_a_server_leads_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bad_server(tmp_path, {"/x": response(b"hi")}) as server:
        settings = server.settings("bad.example", timeout_seconds=5)
        settings.local_hosts["second.example"] = f"127.0.0.2:{server.port}"
        monkeypatch.setattr("streams.crawl.fetch.http.Resolver", _TwoAddresses)
        session = open_session(settings)
        resolver = _resolver_of(session)
        assert resolver
        assert await resolver.addresses("bad.example") == ["127.0.0.2"]
        limits = limits_of(settings)
        answer = await get(session, "https://bad.example/x", purpose="page", limits=limits, monotonic=time.monotonic)
        assert (answer.verdict.outcome, answer.body) == ("ok", b"hi")
        assert await resolver.addresses("bad.example") == ["127.0.0.1"], "the one that answered is pinned"
        await close_session(session)
