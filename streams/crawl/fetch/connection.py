"""Connections whose responses are brought into a strict form, with limits that aiohttp doesn't have.

A server may send informational responses (1xx) or line breaks without end, or chunks of one byte: aiohttp reads all of
them. It also refuses responses that browsers read. `framing` does both, before aiohttp's parser.
"""

import asyncio
from asyncio import sslproto
from functools import partial
from typing import Any, Self

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpVersion10

from streams.crawl.fetch.framing import Framing, InvalidFraming
from streams.crawl.fetch.tls_sessions import ResumingObject

TLS_BUFFER_BYTES = 64 * 1024
"""Size of the buffer of a TLS connection (bytes). asyncio's own is 256 KiB, filled with zeros for each connection: it
was half of the memory of a fetch. A record of TLS has 16 KiB at most (RFC 8446, section 5.1)."""


class RefusedFraming(aiohttp.ClientError):
    """The server's response has no readable form, or exceeds a limit. `reason` says which one."""

    def __init__(self, reason: InvalidFraming) -> None:
        super().__init__(str(reason))
        self.reason = reason


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
        through = connection.protocol.address if isinstance(connection.protocol, LimitedResponses) else ""
        self.address = through or (str(peer[0]) if peer else "")
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
    """A connector whose connections bring responses into a strict form."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        # asyncio has no public parameter for it. Other TLS connections of the process get the smaller buffer, too.
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        # aiohttp has no public parameter for its protocol class.
        self._factory = partial(_make_limited_responses, loop=asyncio.get_running_loop())


class LimitedResponses(ResponseHandler):
    """The responses of one connection. aiohttp's parser gets them in their strict form."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.address = ""
        """The address behind a proxy. Empty: there is no proxy."""
        self._framing: Framing | None = None
        """The response to the last request. None: no request was made."""

    def set_response_params(self, **parameters: Any) -> None:
        """Begin to read the response to the next request."""
        self._framing = Framing()
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        """Give received bytes on in their strict form. A response that can't be read ends the connection."""
        framing = self._framing
        if framing is None or not data:
            super().data_received(data)
            return
        try:
            strict = framing.feed(data)
        except InvalidFraming as error:
            self._refuse(error)
            return
        if framing.must_close:
            self.force_close()
        if strict:
            super().data_received(strict)
        if framing.has_surplus and self.transport is not None:
            self.transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """End the response. It may be complete though the server left out the last line."""
        if self._framing and (rest := self._framing.finish()):
            super().data_received(rest)
        super().connection_lost(exc)

    def _refuse(self, error: InvalidFraming) -> None:
        failure = RefusedFraming(error)
        payload = self._payload
        self._framing = self._parser = None
        self.set_exception(failure)
        if payload is not None and not payload.is_eof():
            payload.set_exception(failure)
        if self.transport is not None:
            self.transport.close()


def _make_limited_responses(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return LimitedResponses(loop)
