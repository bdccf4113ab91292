"""The Cassandra driver, imported once and in one place, with an event loop that this Python has.

The driver looks for libev (its wheels carry it) or asyncore (gone since Python 3.12), and can't even be imported
where neither is there. Its own asyncio event loop works everywhere, but is never chosen by itself: so it is put in
the place of libev then. gevent is never used, as it would have to patch the whole process.
"""

import errno
import logging
import os
import ssl
import sys
from types import ModuleType
from typing import Any

from cassandra import DependencyException, ProtocolVersion

from streams.credentials import TlsFiles, client_context
from streams.settings import CassandraSettings

MAX_REASON_CHARS = 300
"""Maximum length of an error's description (characters)."""
_RECONNECT_FIRST_SECONDS, _RECONNECT_LAST_SECONDS = 0.5, 10.0


def _ensure_event_loop() -> Any:
    """Make sure that the driver has an event loop, and return the protocol version for this event loop.

    Cassandra 4.0 and later speak version 5. To name it saves the tries of higher versions, one connection each. The
    asyncio event loop loses bytes of version 5's checksummed segments under load (driver 3.30.1, measured), so it
    speaks version 4.
    """
    try:
        import cassandra.io.libevreactor  # noqa: F401 (looked for, not used)

        return ProtocolVersion.V5
    except (ImportError, DependencyException):
        from cassandra.io.asyncioreactor import AsyncioConnection

        stand_in: Any = ModuleType("cassandra.io.libevreactor")
        stand_in.LibevConnection = AsyncioConnection
        sys.modules["cassandra.io.libevreactor"] = stand_in
        return ProtocolVersion.V4


_PROTOCOL = _ensure_event_loop()
# The driver imports these, too, wherever their packages are installed. Twisted takes a quarter of the CPU time in which
# a command of Riffle starts.
_NOT_FOUND: Any = None
for _name in ("cassandra.io.twistedreactor", "cassandra.io.eventletreactor"):
    sys.modules.setdefault(_name, _NOT_FOUND)

from cassandra.auth import AuthProvider, PlainTextAuthenticator  # noqa: E402 (the event loop comes first)
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile  # noqa: E402
from cassandra.cluster import NoHostAvailable as NoHostAvailable  # noqa: E402 (for the session)
from cassandra.policies import (  # noqa: E402
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import ConsistencyLevel, tuple_factory  # noqa: E402

logging.getLogger("cassandra").setLevel(logging.ERROR)
"""The driver logs every failed attempt to reconnect, with its traceback. Errors that matter are raised."""


class CurrentPassword(AuthProvider):  # type: ignore[misc] # the driver ships no types
    """Signs in each new connection with the password of that moment."""

    def __init__(self, settings: CassandraSettings) -> None:
        self._settings = settings

    def new_authenticator(self, host: str) -> PlainTextAuthenticator:
        return PlainTextAuthenticator(self._settings.username, self._settings.current_password())


class OnceMore(RetryPolicy):  # type: ignore[misc] # the driver ships no types
    """One more try at another server. Longer waits belong to the runtime, which keeps the event while it waits.

    Every statement of Riffle is idempotent, as a write carries its time and sets whole values.
    """

    def on_read_timeout(self, _query: Any, consistency: Any, *_: Any, retry_num: int = 0, **__: Any) -> tuple[int, Any]:
        return (self.RETRY_NEXT_HOST, consistency) if retry_num == 0 else (self.RETHROW, None)

    on_write_timeout = on_unavailable = on_request_error = on_read_timeout


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for the line about a failed first connection: the error itself is raised and reported."""
    return not record.msg.startswith("Control connection failed to connect")


logging.getLogger("cassandra.cluster").addFilter(_is_news)


def new_cluster(settings: CassandraSettings) -> Any:
    """Return the driver's Cluster, not yet connected."""
    profile = ExecutionProfile(
        # Driver and server agree on who owns a row, so the first server asked has the row.
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc=settings.datacenter)),
        retry_policy=OnceMore(),
        # A stage reads what the stage before it wrote: with a quorum for both, no read misses the write.
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=settings.request_timeout_seconds,
        row_factory=tuple_factory,
    )
    return Cluster(
        contact_points=list(settings.hosts),
        port=settings.port,
        protocol_version=_PROTOCOL,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ExponentialReconnectionPolicy(
            _RECONNECT_FIRST_SECONDS, _RECONNECT_LAST_SECONDS, max_attempts=None
        ),
        auth_provider=_auth(settings),
        ssl_context=_ssl_context(settings),
        connect_timeout=settings.request_timeout_seconds,
        control_connection_timeout=settings.request_timeout_seconds,
        monitor_reporting_enabled=False,
    )


def _auth(settings: CassandraSettings) -> Any:
    return CurrentPassword(settings) if settings.username else None


def _ssl_context(settings: CassandraSettings) -> ssl.SSLContext | None:
    if settings.ca_file is None:
        return None
    # Servers find each other by address, which many certificates do not name: the private authority is the proof.
    return client_context(TlsFiles.of(settings), check_hostname=settings.check_hostname)


def causes_of(error: NoHostAvailable) -> list[Exception]:
    """Return the error of each node that was asked."""
    return list(error.errors.values() if isinstance(error.errors, dict) else error.errors or ())


def describe_error(error: Exception) -> str:
    """Return an error of the driver in one line for people: of nodes that could not be asked, why."""
    if isinstance(error, NoHostAvailable) and (causes := causes_of(error)):
        return "; ".join(dict.fromkeys(map(describe_error, causes)))[:MAX_REASON_CHARS]
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):  # TLS numbers its errors otherwise
        number = error.errno or 0
        return os.strerror(number) if number in errno.errorcode else str(error)
    return " ".join(str(error).split())[:MAX_REASON_CHARS] or type(error).__name__
