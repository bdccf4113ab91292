"""Tasks for the tests of the sandbox. The payload is what each test needs to say."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from streams.errors import Refused

WARM: list[str] = []


def warm_up() -> None:
    WARM.append("warm")


def echo(payload: bytes) -> bytes:
    return payload


def was_warm(payload: bytes) -> bytes:
    return str(len(WARM)).encode()


def refuse(payload: bytes) -> bytes:
    raise Refused("a rule", payload.decode())


def fail(payload: bytes) -> bytes:
    raise KeyError(payload.decode())


def spin(payload: bytes) -> bytes:
    while True:
        pass


def work(payload: bytes) -> bytes:
    """Use so much CPU time (seconds)."""
    end = time.process_time() + float(payload)
    while time.process_time() < end:
        pass
    return b"worked"


def allocate(payload: bytes) -> bytes:
    """Take so many bytes, and keep them until the answer."""
    return str(len(bytearray(int(payload)))).encode()


_KEPT: list[bytearray] = []


def keep(payload: bytes) -> bytes:
    """Take so many bytes, and keep them for good."""
    _KEPT.append(bytearray(int(payload)))
    return str(os.getpid()).encode()


def nest(payload: bytes) -> bytes:
    return nest(payload)


def process_id(payload: bytes) -> bytes:
    return str(os.getpid()).encode()


def sleep_once(payload: bytes) -> bytes:
    """Sleep for long if the file does not exist; write the process id into it first."""
    path = Path(payload.decode())
    if path.exists():
        return b"done"
    path.write_text(str(os.getpid()))
    time.sleep(60)
    return b"slept"


def sleep_always(payload: bytes) -> bytes:
    """Append the process id to the file, then sleep for long."""
    with Path(payload.decode()).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(60)
    return b"slept"


def abort(payload: bytes) -> bytes:
    os._exit(3)


def environment(payload: bytes) -> bytes:
    own = Path("/proc/self/environ")
    return json.dumps([dict(os.environ), own.read_text() if own.exists() else ""]).encode()


def attempts(payload: bytes) -> bytes:
    """The outcome of each forbidden call: the name of the error, or "allowed"."""

    def connect() -> None:
        socket.create_connection(("127.0.0.1", 9), timeout=1)

    def over_a_pipe() -> None:
        socket.socketpair()

    def start() -> None:
        subprocess.run([sys.executable, "-c", ""], check=True)

    def signal_parent() -> None:
        os.kill(os.getppid(), 0)

    found = {}
    for attempt in (connect, over_a_pipe, start, signal_parent):
        try:
            attempt()
            found[attempt.__name__] = "allowed"
        except OSError as error:
            found[attempt.__name__] = type(error).__name__
    status = Path("/proc/self/status").read_text()
    found["no_new_privs"] = status.partition("NoNewPrivs:")[2].split()[0]
    return json.dumps(found).encode()
