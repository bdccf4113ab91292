"""TLS sessions are resumed: a new connection to a known host has no certificates to send and to check (RFC 8446, 2.2).

Many servers close a connection before the host's pace allows the next page. With the ticket of the last connection, a
new one takes a quarter less of the server's CPU time and 1.5 KB less (`make bench ARGS=transport`).

A ticket is only offered to the host name that it came from, whose certificate was checked then. It is offered once
(RFC 8446, C.4), for an hour after that check at most. A server that doesn't know it makes a whole handshake, with all
checks. No early data is sent.

Python (3.10 to 3.12, measured) loses the memory of a session each time that one is read: 5 KB, and some 20 with the
usual certificates. So a session is read only where the server says that it closes the connection, and not more often
than MAX_READ in a process.
"""

import ssl
from collections.abc import Callable
from typing import ClassVar

from streams.caches import RecentCache

MAX_HOSTS = 500
"""Maximum number of hosts with a ticket. One takes about 22 KB, with the certificates of the server."""
MAX_READ = 2_000
"""Maximum number of sessions that a process reads: 44 MB that never come back."""
MAX_AGE_SECONDS = 3_600.0
"""Time until a certificate is checked again (seconds)."""


class Tickets:
    """The last session of each host. It is used in one thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._read = 0
        self._sessions: RecentCache[str, tuple[float, ssl.SSLSession]] = RecentCache(MAX_HOSTS)

    def put(self, host: str, session: ssl.SSLSession, checked_at: float) -> None:
        """Keep a session. `checked_at` is the time at which the host's certificate was checked."""
        self._sessions.put(host, (checked_at, session))

    def may_read(self) -> bool:
        """Count a session that is to be read. Return False if it must not be read."""
        self._read += 1
        return self._read <= MAX_READ

    def take(self, host: str) -> tuple[float, ssl.SSLSession] | None:
        """Remove and return the session of a host with the time of the check, or None."""
        kept = self._sessions.take(host)
        return kept if kept and self._monotonic() - kept[0] < MAX_AGE_SECONDS else None

    def __len__(self) -> int:
        return len(self._sessions)

    def now(self) -> float:
        return self._monotonic()


class ResumingObject(ssl.SSLObject):
    """The TLS state of one connection of a client."""

    tickets: ClassVar[Tickets]
    _checked_at: float | None = None
    _offered: tuple[float, ssl.SSLSession] | None = None
    _is_kept = False

    def do_handshake(self) -> None:
        """Go on with the handshake. At its beginning, offer the ticket of the last connection."""
        if self._checked_at is None:
            self._checked_at = self.tickets.now()
            self._offered = self.tickets.take(self.server_hostname or "")
            if self._offered:
                self.session = self._offered[1]
        super().do_handshake()

    def keep_session(self) -> None:
        """Keep the session for the next connection, if the server has sent a ticket: call it after the last answer."""
        if self._is_kept or not self.server_hostname or self._checked_at is None or not self.tickets.may_read():
            return
        self._is_kept = True
        session = self.session
        if session is None or not session.has_ticket:
            return
        resumed_at = self._offered[0] if self._offered and self.session_reused else self._checked_at
        self.tickets.put(self.server_hostname, session, resumed_at)


def resume_sessions(context: ssl.SSLContext, monotonic: Callable[[], float]) -> Tickets:
    """Let the connections of a client's context resume sessions. Return the tickets, which are empty yet."""
    tickets = Tickets(monotonic)
    context.sslobject_class = type("ResumingObject", (ResumingObject,), {"tickets": tickets})
    return tickets
