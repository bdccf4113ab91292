"""Requests through an egress proxy, with a small real one: the guard checks each address before the proxy is asked."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from streams.crawl.fetch.http import Answer, close_session, get, limits_of, open_session
from streams.settings import CrawlSettings
from tests.hostile.servers import bad_server, response

HOST = "bad.example"


class Proxy:
    """A proxy that connects to what it is asked for, or answers with `answer`."""

    def __init__(self, answer: bytes = b"") -> None:
        self.asked: list[str] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.leads_to = ""
        """The place to which it connects in place of the one that it is asked for."""
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            self.asked.append(f"{method} {target}")
            if self._answer:
                writer.write(self._answer)
                await writer.drain()
            else:
                address, _, port = (self.leads_to or target).rpartition(":")
                far_reader, far_writer = await asyncio.open_connection(address.strip("[]"), int(port))
                writer.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
                await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))
        await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, asyncio.CancelledError):
        await writer.wait_closed()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(16_384):
            writer.write(part)
            await writer.drain()
    await _close(writer)


@asynccontextmanager
async def running(proxy: Proxy) -> AsyncIterator[Proxy]:
    listening = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = listening.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listening.close()
        await asyncio.wait_for(asyncio.gather(*proxy.tasks, return_exceptions=True), 5)


async def ask(settings: CrawlSettings, url: str, **arguments: Any) -> Answer:
    session = open_session(settings)
    try:
        limits = limits_of(settings)
        return await get(session, url, purpose="page", limits=limits, monotonic=time.monotonic, **arguments)
    finally:
        await close_session(session)


async def test_a_page_comes_through_the_proxy_by_its_checked_address(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/page": response(b"<p>Text")}) as server, running(Proxy()) as proxy:
        answer = await ask(server.settings(proxy=f"http://127.0.0.1:{proxy.port}"), f"https://{HOST}/page")
    assert (answer.verdict.outcome, answer.body) == ("ok", b"<p>Text")
    assert proxy.asked == [f"CONNECT 127.0.0.1:{server.port}"], "the address, not the name: the proxy looks nothing up"
    assert answer.exchange
    assert answer.exchange.address == "127.0.0.1", "the server's, not the proxy's"


async def test_a_name_that_leads_inside_is_refused_before_the_proxy_is_asked(tmp_path: Path) -> None:
    """A stranger's name with a private address: the proxy could reach it, and is never asked to."""
    async with running(Proxy()) as proxy:
        settings = CrawlSettings(proxy=f"http://127.0.0.1:{proxy.port}", timeout_seconds=5)
        session = open_session(settings)
        resolver: Any = session.connector._resolver  # type: ignore[union-attr]  # an open session has one

        async def private(*_: Any, **__: Any) -> list[dict[str, Any]]:
            found = {"hostname": "evil.example.org", "port": 443, "family": 2, "proto": 6, "flags": 0}
            return [{**found, "host": address} for address in ("10.0.0.7", "169.254.169.254")]

        resolver.resolve = private
        try:
            answer = await get(
                session, "https://evil.example.org/", purpose="page", limits=limits_of(settings),
                monotonic=time.monotonic,
            )  # fmt: skip
        finally:
            await close_session(session)
    assert answer.verdict.outcome == "guarded"
    assert proxy.asked == []


async def test_a_proxy_that_leads_elsewhere_does_not_get_past_tls(tmp_path: Path) -> None:
    """The certificate shows what the guard can't see: the server behind the tunnel is another one."""
    (tmp_path / "other").mkdir()
    async with (
        bad_server(tmp_path / "other", {"/page": response(b"<p>Inside")}, host="inside.example") as inside,
        bad_server(tmp_path, {"/page": response(b"<p>Text")}) as server,
        running(Proxy()) as proxy,
    ):
        proxy.leads_to = f"127.0.0.1:{inside.port}"
        answer = await ask(server.settings(proxy=f"http://127.0.0.1:{proxy.port}"), f"https://{HOST}/page")
    assert answer.verdict.outcome == "network_error"
    assert answer.body is None
    assert inside.requests == []


# The proxy's answer -> a part of the error.
ANSWERS = [
    (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "no tunnel (status 407)"),
    (b"HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\n", "no tunnel (status 403)"),
    (b"HTTP/1.1 302 Found\r\nLocation: https://10.0.0.7/\r\n\r\n", "no tunnel (status 302)"),
    (b"nonsense\r\n\r\n", "no tunnel (status 0)"),
    (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 20_000, "does not answer as a proxy"),
]


@pytest.mark.parametrize(("given", "says"), ANSWERS)
async def test_a_proxy_that_makes_no_tunnel(tmp_path: Path, given: bytes, says: str) -> None:
    async with bad_server(tmp_path, {"/page": response(b"<p>Text")}) as server, running(Proxy(given)) as proxy:
        settings = server.settings(proxy=f"http://127.0.0.1:{proxy.port}", timeout_seconds=4)
        answer = await ask(settings, f"https://{HOST}/page")
    assert (answer.verdict.outcome, answer.verdict.retryable) == ("network_error", True)
    assert says in (answer.verdict.error or "")
    assert server.requests == []


async def test_while_the_proxy_is_away_nothing_is_asked_directly(tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/page": response(b"<p>Text")}) as server:
        answer = await ask(server.settings(proxy="http://127.0.0.1:9"), f"https://{HOST}/page")
    assert answer.verdict.outcome == "network_error"
    assert "the egress proxy can't be reached" in (answer.verdict.error or "")
    assert server.requests == []


@pytest.mark.parametrize(
    "proxy", ["proxy:3128", "https://proxy:3128", "socks5://proxy:1080", "http://me:secret@proxy:3128", "http://proxy"]
)
def test_an_address_that_is_no_proxy_is_refused(proxy: str) -> None:
    with pytest.raises(ValidationError, match="is no address like http://proxy"):
        CrawlSettings(proxy=proxy)
