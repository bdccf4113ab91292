"""The local web as a crawler meets it: TLS by name, status codes, validators."""

import asyncio
import json
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from streams.errors import UsageError
from streams.local.tls.certificates import open_authority
from streams.local.web import WebServer

HOSTS = ("a.test", "b.test", "xn--bcher-kva.test")


class _ToLoopback(AbstractResolver):
    """Resolves every name to this machine, as the crawler does in the local profile."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None: ...


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WebServer]:
    folder = tmp_path_factory.mktemp("web")
    for host in HOSTS:
        (folder / host / "docs").mkdir(parents=True)
        (folder / host / "index.html").write_text(f"<!doctype html><p>{host}")
        (folder / host / "docs" / "index.html").write_text("docs")
    (folder / "not a host").mkdir()
    async with WebServer(folder, tmp_path_factory.mktemp("ca")) as server:
        yield server


@pytest.fixture(scope="module")
async def http(server: WebServer) -> AsyncIterator[aiohttp.ClientSession]:
    trust = ssl.create_default_context(cafile=server.ca_file)
    connector = aiohttp.TCPConnector(ssl=trust, resolver=_ToLoopback())
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def get(
    http: aiohttp.ClientSession, server: WebServer, host: str, path: str = "/", method: str = "GET", **headers: str
) -> tuple[int, Mapping[str, str], str]:
    url = f"https://{host}:{server.port}{path}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with http.request(method, url, headers=sent, allow_redirects=False) as response:
        return response.status, response.headers, await response.text()


async def test_every_host_is_verified_by_its_own_name(http: aiohttp.ClientSession, server: WebServer) -> None:
    assert server.hosts == dict.fromkeys(HOSTS, f"127.0.0.1:{server.port}")
    for host in HOSTS:
        status, headers, text = await get(http, server, host)
        assert (status, headers["Content-Type"], text) == (200, "text/html; charset=utf-8", f"<!doctype html><p>{host}")


async def test_an_unknown_host_is_not_verified(http: aiohttp.ClientSession, server: WebServer) -> None:
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await get(http, server, "c.test")
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        async with aiohttp.ClientSession() as untrusting:
            await get(untrusting, server, "127.0.0.1")


ANSWERS = [
    ("/docs", {}, 301, "a folder without its slash"),
    ("/docs?q=/../x", {}, 301, "the query is not part of the path"),
    ("/none", {}, 404, "not there"),
    ("/", {"Host": "c.test"}, 421, "another host's name on this host's connection"),
    ("/", {"Host": "b.test:1"}, 200, "the port in Host is not looked at"),
    ("/", {"Host": "A.TEST."}, 200, "names have no case, and may end in a dot"),
]


@pytest.mark.parametrize(("path", "headers", "status", "why"), ANSWERS, ids=[row[3] for row in ANSWERS])
async def test_status(
    http: aiohttp.ClientSession, server: WebServer, path: str, headers: dict[str, str], status: int, why: str
) -> None:
    found, answered, text = await get(http, server, "a.test", path, **headers)
    assert found == status, why
    if status >= 300:
        assert str(status) in text, "and a page says so"
    if status == 301:
        assert answered["Location"] == "/docs/"


async def test_head_is_get_without_its_body(http: aiohttp.ClientSession, server: WebServer) -> None:
    _, wanted, text = await get(http, server, "a.test")
    status, headers, nothing = await get(http, server, "a.test", method="HEAD")
    assert (status, nothing, headers["Content-Length"]) == (200, "", str(len(text)))
    assert headers["ETag"] == wanted["ETag"]


async def test_other_methods_are_refused(http: aiohttp.ClientSession, server: WebServer) -> None:
    status, headers, _ = await get(http, server, "a.test", method="POST")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


async def test_what_is_not_changed_is_not_sent_again(http: aiohttp.ClientSession, server: WebServer) -> None:
    _, first, _ = await get(http, server, "a.test")
    etag, modified = first["ETag"], first["Last-Modified"]
    for headers, status, why in (
        ({"If_None_Match": etag}, 304, "the same content"),
        ({"If_None_Match": f'"x", W/{etag}'}, 304, "one of several, weakly"),
        ({"If_None_Match": '"x"'}, 200, "other content"),
        ({"If_Modified_Since": modified}, 304, "not since then"),
        ({"If_Modified_Since": "Mon, 01 Jan 2001 00:00:00 GMT"}, 200, "since then"),
        ({"If_Modified_Since": "yesterday"}, 200, "no date"),
        ({"If_None_Match": '"x"', "If_Modified_Since": modified}, 200, "the tag decides"),
    ):
        found, answered, text = await get(http, server, "a.test", **headers)
        assert (found, bool(text)) == (status, status == 200), why
        assert answered["ETag"] == etag


async def test_paths_arrive_as_they_were_sent(server: WebServer) -> None:
    """A client that doesn't normalize: no library stands between it and the server."""
    trust = ssl.create_default_context(cafile=server.ca_file)
    for path in ("/../b.test/index.html", "/docs/%2e%2e/../b.test/", "/..%2fb.test/index.html"):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust, server_hostname="a.test")
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        assert answer.startswith("HTTP/1.1 404"), path
        assert "b.test" not in answer, path


def test_certificates_are_kept(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = open_authority(tmp_path, now)
    authority.context("a.test", now)
    made = {file: file.read_bytes() for file in tmp_path.rglob("*.pem")}
    assert all(file.stat().st_mode & 0o077 == 0 for file in made if file.name != "ca.pem"), "keys are their owner's"
    open_authority(tmp_path, now).context("a.test", now)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.pem")} == made
    later = now + timedelta(days=380)
    open_authority(tmp_path, later).context("a.test", later)
    changed = {file.name for file, content in made.items() if file.read_bytes() != content}
    assert changed == {"a.test.pem"}, "a month before it ends, the host's is renewed"
    much_later = now + timedelta(days=3_630)
    open_authority(tmp_path, much_later).context("a.test", much_later)
    assert all(file.read_bytes() != content for file, content in made.items()), "and the authority with all of its own"


def test_a_damaged_certificate_is_made_again(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    open_authority(tmp_path, now).context("a.test", now)
    (tmp_path / "hosts" / "a.test.pem").write_text("nonsense")
    (tmp_path / "ca-key.pem").write_text("nonsense")
    open_authority(tmp_path, now).context("a.test", now)
    assert "CERTIFICATE" in (tmp_path / "hosts" / "a.test.pem").read_text()


async def test_a_port_that_is_taken_is_named(server: WebServer, tmp_path: Path) -> None:
    (tmp_path / "web" / "a.test").mkdir(parents=True)
    with pytest.raises(UsageError, match=f"Port {server.port} .*--port"):
        await WebServer(tmp_path / "web", tmp_path / "ca", server.port).start()


@pytest.mark.parametrize("folder", ["none", "empty"])
def test_a_folder_without_hosts_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty" / "not a host").mkdir(parents=True)
    with pytest.raises(UsageError, match=folder):
        WebServer(tmp_path / folder, tmp_path / "ca")


async def test_as_a_process(tmp_path: Path) -> None:
    (tmp_path / "web" / "a.test").mkdir(parents=True)
    (tmp_path / "web" / "a.test" / "index.html").write_text("hello")
    command = [sys.executable, "-m", "streams.local.web", str(tmp_path / "web"), "--ca-dir", str(tmp_path / "ca")]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    printed: dict[str, Any] = json.loads(await process.stdout.readline())
    assert printed == {
        "port": printed["port"],
        "hosts": {"a.test": f"127.0.0.1:{printed['port']}"},
        "ca_file": str((tmp_path / "ca" / "ca.pem").resolve()),
    }
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 0
