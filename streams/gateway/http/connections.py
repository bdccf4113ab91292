"""Limits of a connection: the time for a request's header and its body, and the time until a client takes an answer.

uvicorn limits none: a client that sends half a request, or stops reading, would keep its connection for ever. The
number of connections is uvicorn's own `limit_concurrency`. Limits for one client belong to a reverse proxy: only it
knows the clients' addresses.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Maximum time from the connection, or from the first byte of a further request, to the header's end (seconds)."""
BODY_SECONDS = 10.0
"""Maximum time from the header's end to the body's end (seconds). The only bodies are forms of 20 KB at most."""
READ_SECONDS = 30.0
"""Maximum time between two reads of a client while an answer waits for it (seconds)."""
_TEXT = b"The request's body did not come in time."
_SLOW_BODY: tuple[h11.Event, ...] = (
    h11.Response(
        status_code=408,
        headers=[
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(_TEXT)).encode()),
            (b"connection", b"close"),
        ],
        reason=b"Request Timeout",
    ),
    h11.Data(data=_TEXT),
    h11.EndOfMessage(),
)


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with these limits. A connection that exceeds a limit is closed at once."""

    header_seconds = HEADER_SECONDS
    body_seconds = BODY_SECONDS
    read_seconds = READ_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._header_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._header_timer, self._body_timer, self._read_timer):
            self._stop(timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._header_timer = self._stop(self._header_timer)
        elif self._header_timer is None:  # the first bytes of a further request
            self._await_header()
        if self.conn.their_state is not h11.SEND_BODY:
            self._body_timer = self._stop(self._body_timer)
        elif self._body_timer is None:
            self._body_timer = self.loop.call_later(self.body_seconds, self._refuse_slow_body)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_timer = self._stop(self._read_timer)

    def _refuse_slow_body(self) -> None:
        """Answer 408 (RFC 9110, section 15.5.9) if there is no answer yet, and close the connection."""
        if self.transport.is_closing():
            return
        self.cycle.disconnected = True  # what reads the body learns that the client is gone, and answers nothing
        self.cycle.message_event.set()
        if self.cycle.response_started:
            self.transport.abort()
            return
        for event in _SLOW_BODY:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await_header(self) -> None:
        self._stop(self._header_timer)
        self._header_timer = self.loop.call_later(self.header_seconds, self.transport.abort)

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
