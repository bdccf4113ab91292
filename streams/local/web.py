"""A small local web: each folder `DIR/HOST` is a site, over HTTPS, all on one loopback port.

It is for trying a crawl and for tests, so that no packet leaves the machine. A crawler reaches it by
`crawl.local_hosts` and trusts it by `crawl.local_ca_file`. It listens only on loopback and is not a server for the open
web: it reads whole files into memory, without ranges, compression or rate limits.
"""

import argparse
import asyncio
import json
import re
import ssl
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from streams.errors import UsageError
from streams.local.tls.certificates import open_authority
from streams.local.web_files import Answer, answer

LOOPBACK = "127.0.0.1"
_HOST = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""A host name by RFC 1123, section 2.1. Other scripts are in their ASCII form (xn--)."""


class WebServer:
    """A server of the hosts that have a folder in `folder` at the start. Files are read at each request."""

    def __init__(self, folder: Path, ca_dir: Path, port: int = 0) -> None:
        self._folder = folder
        self._ca_dir = ca_dir
        self._wanted_port = port
        self._sites = _sites(folder)
        self._runner: web.ServerRunner | None = None
        self.port = 0
        self.ca_file = ca_dir / "ca.pem"

    @property
    def hosts(self) -> dict[str, str]:
        """HOST -> "127.0.0.1:PORT", the format of `crawl.local_hosts`."""
        return dict.fromkeys(self._sites, f"{LOOPBACK}:{self.port}")

    async def start(self) -> Self:
        """Start to listen. Raises UsageError if the port is taken."""
        context = await asyncio.to_thread(self._make_context)
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None))
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, self._wanted_port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            raise UsageError(
                f"Port {self._wanted_port} can't be listened on ({error.strerror}). Choose another one with --port"
            ) from error
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _make_context(self) -> ssl.SSLContext:
        """Return a TLS context for each host, chosen by the name that the client sends (RFC 6066, section 3)."""
        now = datetime.now(UTC)
        authority = open_authority(self._ca_dir, now)
        contexts = {host: authority.context(host, now) for host in self._sites}
        default = authority.context(LOOPBACK, now)

        def choose(connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            connection.context = contexts.get(name.lower().rstrip(".") if name else "", default)

        default.sni_callback = choose
        return default

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        host = re.sub(r":\d+$", "", request.host or "").lower().rstrip(".")
        root = self._sites.get(host)
        if root is None:
            return _build_page(HTTPStatus.MISDIRECTED_REQUEST, f"No site {host} is served here")
        if request.method not in ("GET", "HEAD"):
            return _build_page(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD", {"Allow": "GET, HEAD"})
        response = await asyncio.to_thread(answer, root, host, _raw_path(request))
        return _build_response(request, response)


async def serve(
    folder: Path, port: int = 0, ca_dir: Path = Path(".riffle/web"), ready: Callable[[WebServer], Any] | None = None
) -> None:
    """Serve a folder until cancelled. `ready` is called when the server listens. Raises UsageError."""
    async with WebServer(folder, ca_dir, port) as server:
        if ready is not None:
            ready(server)
        await asyncio.Event().wait()


def describe_server(server: WebServer) -> dict[str, Any]:
    """Return the facts that another process needs to crawl the server's hosts."""
    return {"port": server.port, "hosts": server.hosts, "ca_file": str(server.ca_file.resolve())}


def _sites(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder. Name one that holds a folder for each host: DIR/HOST/index.html")
    sites = {one.name.lower(): one for one in sorted(folder.iterdir()) if one.is_dir() and _HOST.fullmatch(one.name)}
    if not sites:
        raise UsageError(f"{folder} holds no folder that is named as a host, like {folder}/example.test/index.html")
    return sites


def _raw_path(request: web.BaseRequest) -> str:
    """Return the path of the request line, not normalized, without scheme, host and query."""
    target = request.raw_path.partition("?")[0].partition("#")[0]
    return re.sub(r"^https?://[^/]*", "", target, flags=re.IGNORECASE) or "/"


def _build_response(request: web.BaseRequest, content: Answer) -> web.Response:
    if content.location:
        return _build_page(HTTPStatus.MOVED_PERMANENTLY, "Moved", {"Location": content.location})
    if content.status != 200:
        return _build_page(HTTPStatus(content.status), "There is no such page here")
    headers = {"ETag": content.etag, "Cache-Control": "no-cache"}
    if content.modified:
        headers["Last-Modified"] = format_datetime(datetime.fromtimestamp(int(content.modified), UTC), usegmt=True)
    if _has_current_copy(request, content):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=content.content, headers={**headers, "Content-Type": content.content_type})


def _has_current_copy(request: web.BaseRequest, content: Answer) -> bool:
    """Return True if the client's copy is current. If-None-Match has precedence (RFC 9110, section 13.2.2)."""
    tags = request.headers.get("If-None-Match")
    if tags is not None:
        known = [tag.strip().removeprefix("W/") for tag in tags.split(",")]
        return "*" in known or content.etag in known
    try:
        since = parsedate_to_datetime(request.headers.get("If-Modified-Since", ""))
        return bool(content.modified) and int(content.modified) <= since.timestamp()
    except (TypeError, ValueError):
        return False


def _build_page(status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> web.Response:
    body = f"<!DOCTYPE html><title>{status.value} {status.phrase}</title><h1>{status.phrase}</h1><p>{text}.</p>\n"
    return web.Response(status=status.value, text=body, content_type="text/html", charset="utf-8", headers=headers)


def main() -> None:
    """Run `python -m streams.local.web DIR --port N --ca-dir D`, which prints one JSON line when it listens."""
    parser = argparse.ArgumentParser(prog="python -m streams.local.web", description="Serve DIR/HOST/... over HTTPS.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder that holds a folder for each host")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0: any free one")
    parser.add_argument("--ca-dir", type=Path, default=Path(".riffle/web"), help="where the certificates are kept")
    options = parser.parse_args()

    def ready(server: WebServer) -> None:
        sys.stdout.write(json.dumps(describe_server(server)) + "\n")
        sys.stdout.flush()

    try:
        asyncio.run(serve(options.folder, options.port, options.ca_dir, ready))
    except KeyboardInterrupt:
        return
    except UsageError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
