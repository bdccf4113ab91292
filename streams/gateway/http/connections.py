"""Limits of a connection: the time for a request's header, and the time until a client takes an answer.

uvicorn limits neither: a client that sends half a header, or stops reading, would keep its connection for ever. The
number of connections is uvicorn's own `limit_concurrency`. Limits for one client belong to a reverse proxy: only it
knows the clients' addresses.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Maximum time from the connection, or from the first byte of a further request, to the header's end (seconds)."""
READ_SECONDS = 30.0
"""Maximum time between two reads of a client while an answer waits for it (seconds)."""


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with both limits. A connection that exceeds a limit is closed at once."""

    header_seconds = HEADER_SECONDS
    read_seconds = READ_SECONDS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._header_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop(self._header_timer)
        self._stop(self._read_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._header_timer = self._stop(self._header_timer)
        elif self._header_timer is None:  # the first bytes of a further request
            self._await_header()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_timer = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_timer = self._stop(self._read_timer)

    def _await_header(self) -> None:
        self._stop(self._header_timer)
        self._header_timer = self.loop.call_later(self.header_seconds, self.transport.abort)

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
