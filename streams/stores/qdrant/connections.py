"""Connections of Qdrant's client, by aiohttp: with httpx's own, a search takes 4 ms more of CPU time.

What is received is acknowledged at once. A server that sends an answer in several writes, without TCP_NODELAY, holds
back its last small segment until the former one is acknowledged (RFC 896), and the kernel delays that acknowledgement
by up to 40 ms where a connection is used again and again (RFC 1122, 4.2.3.2). Qdrant is such a server: a search of 7 ms
took 47 ms.
"""

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache

import aiohttp
import httpx
from yarl import URL

from streams.tracing import Attributes, server_attributes, span

QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""The option of Linux that ends the delay until the next data are sent (tcp(7)). None elsewhere."""
_ID = re.compile(r"/(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27})(?=/|$)")
MAX_CONNECTIONS = 100
KEPT_SECONDS = 2.0
"""Time for which an idle connection is kept: less than that after which the server closes it (5 s), so that no request
is sent into one that closes."""


@lru_cache(maxsize=512)
def describe(method: str, path: str, address: str) -> tuple[str, Attributes]:
    """Return the name and the attributes of a request's span (OpenTelemetry's conventions for databases)."""
    _, first, *rest = _ID.sub("/{id}", path).split("/", 3)
    collection = rest[0] if first == "collections" and rest else ""
    operation = f"{method} {'/'.join(rest[1:]) or first}".strip()
    attributes = {"db.system.name": "qdrant", "db.operation.name": operation, "http.request.method": method}
    named = {"db.collection.name": collection} if collection else {}
    return f"{operation} {collection}".strip(), {**attributes, **named, **server_attributes(address)}


class Connections(httpx.AsyncBaseTransport):
    """A transport of httpx, without proxies and HTTP/2. `context` is for encrypted connections."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timeout = request.extensions.get("timeout", {})
        content = await request.aread()
        name, attributes = describe(request.method, request.url.path, request.url.netloc.decode())
        with span(name, attributes) as traced, _httpx_errors(request):
            async with self._open().request(
                request.method,
                URL(str(request.url), encoded=True),
                data=content or None,
                headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw],
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(sock_connect=timeout.get("connect"), sock_read=timeout.get("read")),
            ) as response:
                if response.connection is not None and response.connection.transport is not None:
                    acknowledge_promptly(response.connection.transport.get_extra_info("socket"))
                answer = await response.read()
                traced.set_attribute("db.response.status_code", str(response.status))
                return httpx.Response(response.status, headers=response.raw_headers, content=answer, request=request)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        """Return the session, which belongs to the running event loop."""
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=MAX_CONNECTIONS, keepalive_timeout=KEPT_SECONDS, ssl=self._context or True
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # httpx does it
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        return self._session


@contextmanager
def _httpx_errors(request: httpx.Request) -> Iterator[None]:
    """Raise httpx's errors in place of aiohttp's."""
    try:
        yield
    except (aiohttp.ConnectionTimeoutError, aiohttp.SocketTimeoutError) as error:
        kind = httpx.ConnectTimeout if isinstance(error, aiohttp.ConnectionTimeoutError) else httpx.ReadTimeout
        raise kind(str(error), request=request) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(str(error), request=request) from error
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.RemoteProtocolError(str(error) or type(error).__name__, request=request) from error


def acknowledge_promptly(connection: socket.socket) -> None:
    """End the delay of acknowledgements until the next data are sent. The option does not last longer."""
    if QUICKACK is not None:
        with suppress(OSError):  # slower, not wrong
            connection.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)
