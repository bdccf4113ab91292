"""Limits on a connection that aiohttp doesn't have: on what stands before a head, and on the overhead of chunks.

A server may send informational responses (1xx) or line breaks without end: aiohttp reads all of them, and never
returns. It may also send a body in chunks of one byte: parsing the bytes of one TLS read then takes a tenth of a
second.
"""

import asyncio
from asyncio import sslproto
from functools import partial
from typing import Any, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpVersion10, RawResponseMessage
from aiohttp.streams import StreamReader

from streams.crawl.fetch.tls_sessions import ResumingObject

MAX_INFORMATIONAL = 20
"""Maximum number of informational responses on a connection. One or two are usual (103 Early Hints)."""
PARSED_BYTES = 4 * 1024
"""Maximum bytes that are parsed before the limits are checked."""
BEFORE_HEAD_BYTES = 256 * 1024
"""Maximum bytes that are received while no head of a response is complete."""
OVERHEAD_BYTES = 32 * 1024
"""Maximum bytes of a response's chunks in addition to twice its body: so chunks of about six bytes pass."""


TLS_BUFFER_BYTES = 64 * 1024
"""Size of the buffer of a TLS connection (bytes). asyncio's own is 256 KiB, filled with zeros for each connection: it
was half of the memory of a fetch. A record of TLS has 16 KiB at most (RFC 8446, section 5.1)."""


class LimitExceeded(aiohttp.ClientError):
    """The server's response exceeds a limit of this module."""


class AddressedResponse(aiohttp.ClientResponse):
    """A response that knows the address of its server, also after its connection was given back.

    Its head comes after the server's tickets, so the TLS session is kept then, if the server says that it closes the
    connection: another one goes on with the connection itself.
    """

    address = ""

    async def start(self, connection: Connection) -> Self:
        """Read the head of the response."""
        transport = connection.transport
        peer = transport.get_extra_info("peername") if transport else None
        self.address = str(peer[0]) if peer else ""
        secured = transport.get_extra_info("ssl_object") if transport else None
        await super().start(connection)
        if isinstance(secured, ResumingObject) and self._is_last():
            secured.keep_session()
        return self

    def _is_last(self) -> bool:
        """Return whether the server says that it closes the connection after this answer."""
        persistence = self.headers.get("connection", "").lower()
        return "close" in persistence or (self.version == HttpVersion10 and "keep-alive" not in persistence)


class LimitedConnector(aiohttp.TCPConnector):
    """A connector with limits on each connection: it ends after too many informational responses."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        # asyncio has no public parameter for it. Other TLS connections of the process get the smaller buffer, too.
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        # aiohttp has no public parameter for its protocol class.
        self._factory = partial(_make_limited_responses, loop=asyncio.get_running_loop())


class LimitedResponses(ResponseHandler):
    """The responses of one connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._informational = 0
        self._body: StreamReader | None = None
        self._received_bytes = 0
        """Bytes received since the head of the last response, or since the end of its body."""

    def data_received(self, data: bytes) -> None:
        """Parse in small parts, and stop when a limit is exceeded."""
        for start in range(0, max(len(data), 1), PARSED_BYTES):
            part = data[start : start + PARSED_BYTES]
            self._received_bytes += len(part)
            super().data_received(part)
            self._check_received()
            if self.transport is None or self.transport.is_closing():
                return

    def _check_received(self) -> None:
        body = self._body
        if body is None or body.is_eof():
            if body is not None:
                self._body, self._received_bytes = None, 0
            if self._received_bytes > BEFORE_HEAD_BYTES:
                self.set_exception(self._close(f"no head of a response in {BEFORE_HEAD_BYTES} bytes"))
        elif self._received_bytes > OVERHEAD_BYTES + 2 * body.total_bytes:
            body.set_exception(self._close("the chunks of the body are too small"))

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take a response with a parsed head. Too many informational or unread responses close the connection."""
        message, self._body = data
        self._received_bytes = 0
        self._informational = self._informational + 1 if 100 <= message.code < 200 else 0
        if max(self._informational, len(self._buffer)) > MAX_INFORMATIONAL:
            self.set_exception(self._close(f"more than {MAX_INFORMATIONAL} informational responses"))
        else:
            super().feed_data(data, size)

    def _close(self, reason: str) -> LimitExceeded:
        if self.transport is not None:
            self.transport.close()
        return LimitExceeded(reason)


def _make_limited_responses(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return LimitedResponses(loop)
