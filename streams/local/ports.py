"""Free TCP ports on loopback, so that two checkouts run side by side.

They are below the kernel's range for outgoing connections (32768 and up on Linux). Otherwise a client's connection
could take a port after it is chosen and before its server binds it. Another stack of the same user can't: the process
that chooses a port keeps it reserved, by a lock on one byte of a file, until it ends. A foreign server still can. The
start then fails with a message, and the next start picks other ports.
"""

import fcntl
import functools
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from streams.errors import StartError

FIRST_PORT = 20_000
LAST_PORT = 32_000
TRIES = 200


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return True if a server could bind the port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return `count` different free ports, reserved until this process ends. Raises StartError."""
    chosen: list[int] = []
    for port in _draw_candidates():
        if len(chosen) == count:
            return chosen
        if port not in _reserved and is_free(port) and _reserve(port):
            chosen.append(port)
    raise StartError(
        f"no {count} free ports between {FIRST_PORT} and {LAST_PORT} on 127.0.0.1. "
        "See which processes hold them with `ss -ltnp`, and stop stacks that you don't need with `riffle down`"
    )


def preferred_port(wanted: int) -> int:
    """Return `wanted` if it's free, otherwise any free port. It is reserved until this process ends."""
    return wanted if wanted and is_free(wanted) and _reserve(wanted) else free_ports(1)[0]


_reserved: set[int] = set()
"""The ports that this process has reserved. A process's own locks don't hold it back, so its ports are remembered."""


def _reserve(port: int) -> bool:
    """Reserve a port. Returns False if another process of this user has it."""
    try:
        fcntl.lockf(_open_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except BlockingIOError:
        return False
    _reserved.add(port)
    return True


@functools.cache
def _open_reservations() -> int:
    """Return the descriptor of the user's file of reservations. It stays open: closing it would end all of them."""
    path = Path(tempfile.gettempdir()) / f"riffle-ports-{os.getuid()}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _draw_candidates() -> Iterator[int]:
    dice = random.SystemRandom()
    for _ in range(TRIES):
        yield dice.randint(FIRST_PORT, LAST_PORT)
