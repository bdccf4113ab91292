"""Limits of a connection: time and size of a request's header and body, and the time until a client takes an answer.

uvicorn's protocol limits none of them: a client that sends half a request, or stops reading, would keep its connection
for ever, and a header without an end would fill the memory. The number of connections is uvicorn's own
`limit_concurrency`. Limits for one client belong to a reverse proxy: only it knows the clients' addresses.

httptools parses the requests: llhttp, the parser of Node.js, in its strict form. uvicorn's other protocol, h11, is
Python, and takes twice the CPU time of a short request (`python -m benchmarks suggest`).
"""

import asyncio
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 10.0
"""Maximum time from the connection, or from the first byte of a further request, to the header's end (seconds)."""
BODY_SECONDS = 10.0
"""Maximum time from the header's end to the body's end (seconds). Most bodies are forms of 20 KB at most."""
WRITE_SECONDS = 300.0
"""The same for pages that a program writes (PUT). The gateway reads them only for a key that may write."""
READ_SECONDS = 30.0
"""Maximum time between two reads of a client while an answer waits for it (seconds)."""
MAX_HEADER_BYTES = 65_536
"""Maximum size of a request's line and header (bytes). Up to the same again may be read before it is refused."""
MAX_FRAME_SHARE = 8
"""Maximum bytes between the parts of a body that comes in chunks, for each byte of it. Chunks of one byte have five."""
MAX_WAITING = 16
"""Maximum requests that wait on one connection while an earlier one is answered."""

_Part = Literal["none", "header", "body"]


def _refusal(status: str, text: str) -> bytes:
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\n"
        f"connection: close\r\n\r\n{text}"
    ).encode()


_SLOW_BODY = _refusal("408 Request Timeout", "The request's body did not come in time.")
_LONG_HEADER = _refusal("431 Request Header Fields Too Large", "The request's header is too long.")


class RefusedRequest(Exception):
    """A request that breaks a rule of HTTP/1.1 which the parser leaves to the server."""


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 with these limits. A connection that exceeds a limit is closed at once."""

    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS
    write_seconds = WRITE_SECONDS
    read_seconds = READ_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._header_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._reading: _Part = "none"
        self._framing_bytes = self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._header_timer, self._body_timer, self._read_timer):
            self._stop(timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), MAX_HEADER_BYTES):
            if self.transport.is_closing():
                return
            self._read(data[start : start + MAX_HEADER_BYTES])
        if self.cycle is not None and not self.cycle.response_complete:
            self._header_timer = self._stop(self._header_timer)
        elif self._header_timer is None:  # the first bytes of a further request
            self._await_header()
        if self._reading != "body":
            self._body_timer = self._stop(self._body_timer)
        elif self._body_timer is None:
            seconds = self.write_seconds if self.scope["method"] == "PUT" else self.body_seconds
            self._body_timer = self.loop.call_later(seconds, self._refuse_slow_body)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_timer = self._stop(self._read_timer)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading = "header"
        self._framing_bytes = self._body_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        # What follows a body in chunks (a trailer) is left out: it is no header, and would come behind the checks.
        if self._reading == "header":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise RefusedRequest("a request has one Host (RFC 9112, section 3.2)")
        if len(self.pipeline) >= MAX_WAITING:
            self.transport.abort()
            raise RefusedRequest("too many requests wait")
        self._reading = "body"
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading = "none"
        super().on_message_complete()

    def _read(self, data: bytes) -> None:
        """Parse one part of what came. A header, or the frame of a body's chunks, that is too long is refused."""
        before = self._body_bytes
        super().data_received(data)
        if self._reading == "none" or self.transport.is_closing():
            return
        self._framing_bytes += len(data) - (self._body_bytes - before)
        if self._framing_bytes > MAX_HEADER_BYTES + MAX_FRAME_SHARE * self._body_bytes:
            self._refuse(_LONG_HEADER)

    def _refuse_slow_body(self) -> None:
        """Answer 408 (RFC 9110, section 15.5.9) if there is no answer yet, and close the connection."""
        if self.transport.is_closing():
            return
        self.cycle.disconnected = True  # what reads the body learns that the client is gone, and answers nothing
        self.cycle.message_event.set()
        self._refuse(_SLOW_BODY)

    def _refuse(self, answer: bytes) -> None:
        """Send a refusal, unless another answer has begun, and close the connection."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
            return
        self.transport.write(answer)
        self.transport.close()

    def _await_header(self) -> None:
        self._stop(self._header_timer)
        self._header_timer = self.loop.call_later(self.header_seconds, self.transport.abort)

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
