"""Addresses, and quick attempts to connect: client libraries keep trying at a closed port for their whole timeout."""

import socket
from dataclasses import dataclass

from streams.tls import TlsFiles

CONNECT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server with TLS, and the certificate files of this process."""

    name: str
    host: str
    port: int
    files: TlsFiles
    check_hostname: bool = True


def refused(addresses: str) -> str:
    """Return why no address (HOST:PORT, separated by commas) accepts a connection; an empty string if one does."""
    reason = "no address is set"
    for address in addresses.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
        else:
            return ""
    return reason
