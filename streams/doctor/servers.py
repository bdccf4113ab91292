"""Parts that the checks of servers share: whether an address answers, its TLS, and whether a version is new enough.

Client libraries keep trying at a closed port for their whole timeout, so a short attempt to connect comes first.
"""

import re
import socket
from dataclasses import dataclass

from streams.credentials import TlsFiles
from streams.doctor.findings import Finding, failure, ok
from streams.servers import named

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


_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})")


def numbers_of(version: str) -> tuple[int, int] | None:
    """Major and minor number of a version such as `3.9-IV0`, or None if it has none."""
    found = _NUMBERS.search(version)
    return (int(found[1]), int(found[2])) if found else None


def judge_version(server: str, where: str, version: str) -> Finding:
    """Check that the version of a server that answers is new enough. An unknown version is no fault."""
    needed, numbers = named(server), numbers_of(version)
    if numbers is not None and numbers < needed.oldest:
        oldest = ".".join(map(str, needed.oldest))
        return failure(server, f"{where} has version {version}", f"Upgrade it to {oldest} or newer: {needed.because}.")
    return ok(server, f"{where} answers, version {version or 'unknown'}")
