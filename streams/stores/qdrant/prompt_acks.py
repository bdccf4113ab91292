"""HTTP connections that acknowledge what they receive at once, for a server that sends an answer in several writes.

Such a server, without TCP_NODELAY, holds back its last small segment until the former one is acknowledged (RFC 896),
and the kernel delays that acknowledgement by up to 40 ms where a connection is used again and again (RFC 1122,
4.2.3.2). Qdrant is such a server: a search of 7 ms took 47 ms.
"""

# ruff: noqa: ASYNC109 - parameters named `timeout` are part of httpcore's interface

import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import httpcore
import httpx

QUICKACK: int | None = getattr(socket, "TCP_QUICKACK", None)
"""The option of Linux that ends the delay until the next data are sent (tcp(7)). None elsewhere."""


class PromptAcks(httpx.AsyncHTTPTransport):
    """A transport of httpx, without proxies and HTTP/2. `context` is for encrypted connections."""

    def __init__(self, limits: httpx.Limits, context: ssl.SSLContext | None = None) -> None:
        context = context or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # nothing is encrypted, so it trusts nobody
        super().__init__(verify=context, limits=limits)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Backend(),
        )


class _Backend(httpcore.AnyIOBackend):
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await super().connect_tcp(host, port, timeout, local_address, socket_options))


class _Stream(httpcore.AsyncNetworkStream):
    """A stream that passes everything on to `inner`, and asks for prompt acknowledgements after each write."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)
        acknowledge_promptly(self._inner.get_extra_info("socket"))

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def acknowledge_promptly(connection: socket.socket) -> None:
    """End the delay of acknowledgements until the next data are sent. The option does not last longer."""
    if QUICKACK is not None:
        with suppress(OSError):  # slower, not wrong
            connection.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)
