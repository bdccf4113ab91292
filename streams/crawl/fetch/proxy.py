"""Requests through an egress proxy (HTTP CONNECT, RFC 9110, section 9.3.6), with the promise of the guard.

Names are looked up here. The guard checks each address, and the proxy is asked for the address, not for the name. TLS
goes through the tunnel to the host, whose certificate is checked against its name. The guard can't promise that the
proxy connects to this address: who runs the proxy could lead it elsewhere, though not to a host with another
certificate.
"""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientConnectorCertificateError, ClientConnectorError, ClientConnectorSSLError
from aiohttp.client_exceptions import cert_errors, ssl_errors

from streams.crawl.fetch.connection import LimitedConnector, LimitedResponses

MAX_HEAD_BYTES = 8 * 1024
"""Maximum size of the proxy's answer (bytes)."""
_ACCEPTED = range(200, 300)


class ProxyRefuses(OSError):
    """The proxy made no tunnel. The message says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EPROTO, reason)


class ProxiedConnector(LimitedConnector):
    """A connector whose connections are tunnels of a proxy to checked addresses."""

    def __init__(self, proxy: str, socket_factory: Callable[[Any], socket.socket], **arguments: Any) -> None:
        """`proxy`: `http://HOST:PORT`. `socket_factory`: the guard. It raises for an address that is not allowed."""
        super().__init__(socket_factory=socket_factory, **arguments)
        parts = urlsplit(proxy)
        self._proxy = parts.hostname or "", parts.port or 80
        self._guard = socket_factory

    async def _wrap_create_connection(  # aiohttp has no public place for it
        self,
        *args: Any,
        addr_infos: Sequence[Any],
        req: Any,
        timeout: Any,  # noqa: ASYNC109 - aiohttp names it
        client_error: type[Exception] = ClientConnectorError,
        **kwargs: Any,
    ) -> tuple[Any, Any]:
        try:
            async with asyncio.timeout(timeout.sock_connect):
                tunnel, address = await self._tunnel(addr_infos)
                transport, protocol = await self._loop.create_connection(*args, **kwargs, sock=tunnel)
        except cert_errors as error:
            raise ClientConnectorCertificateError(req.connection_key, error) from error
        except ssl_errors as error:
            raise ClientConnectorSSLError(req.connection_key, error) from error
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise client_error(req.connection_key, error) from error
        if isinstance(protocol, LimitedResponses):
            protocol.address = address
        return transport, protocol

    async def _tunnel(self, addr_infos: Sequence[Any]) -> tuple[socket.socket, str]:
        """Return a connection through the proxy to the first address that works. Raises OSError."""
        failure: OSError = ProxyRefuses("the name has no address")
        for info in addr_infos:
            address, port = info[4][:2]
            try:
                self._guard(info).close()
                return await self._ask_for(address, port), address
            except OSError as error:
                failure = error
        raise failure

    async def _ask_for(self, address: str, port: int) -> socket.socket:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(*self._proxy, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = found[0]
        connection = socket.socket(family, kind, protocol)
        try:
            connection.setblocking(False)
            try:
                await loop.sock_connect(connection, place)
            except OSError as error:
                raise ProxyRefuses(f"the egress proxy can't be reached: {error.strerror}") from error
            target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
            await loop.sock_sendall(connection, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            await _read_answer(loop, connection)
        except BaseException:
            connection.close()
            raise
        return connection


async def _read_answer(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """Read the head of the proxy's answer, and nothing behind it. Raises ProxyRefuses."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = await loop.sock_recv(connection, 1 if len(head) > 12 else 13 - len(head))
        head += part
        if not part or len(head) > MAX_HEAD_BYTES:
            raise ProxyRefuses("the egress proxy does not answer as a proxy")
    status = head.split(b" ", 2)[1:2]
    code = int(status[0]) if status and status[0].isdigit() else 0
    if code not in _ACCEPTED or not head.startswith(b"HTTP/1."):
        raise ProxyRefuses(f"the egress proxy made no tunnel (status {code})")
