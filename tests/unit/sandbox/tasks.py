"""Tasks for the tests of the sandbox. The payload is what each test needs to say."""

import ctypes
import errno
import json
import os
import socket
import time
from collections.abc import Callable
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
    """Take N bytes, and keep them until the answer."""
    return str(len(bytearray(int(payload)))).encode()


_KEPT: list[bytearray] = []


def keep(payload: bytes) -> bytes:
    """Take N bytes, and keep them for good."""
    _KEPT.append(bytearray(int(payload)))
    return str(os.getpid()).encode()


def exhaust(payload: bytes) -> bytes:
    """Take all memory, in pieces that get smaller, and keep it for good: not even an answer finds any."""
    size = 16 * 1024 * 1024
    while size:
        try:
            _KEPT.append(bytearray(size))
        except MemoryError:
            size //= 2
    raise MemoryError


def nest(payload: bytes) -> bytes:
    return nest(payload)


def process_id(payload: bytes) -> bytes:
    return str(os.getpid()).encode()


def sleep_in(payload: bytes) -> bytes:
    """Sleep for long if this process has the id of the payload, or the payload is empty."""
    if payload in (b"", str(os.getpid()).encode()):
        time.sleep(60)
    return b"done"


def abort(payload: bytes) -> bytes:
    os._exit(3)


def environment(payload: bytes) -> bytes:
    return json.dumps(dict(os.environ)).encode()


# The first use of the C library asks the system for much; the tasks below must make only the call that they try.
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def call(payload: bytes) -> bytes:
    """Make a system call: its number and up to six arguments. Returns the name of its error, or "allowed"."""
    number, *arguments = json.loads(payload)
    values = [ctypes.c_char_p(one.encode()) if isinstance(one, str) else ctypes.c_long(one) for one in arguments]
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *values)
    return (errno.errorcode[ctypes.get_errno()] if result < 0 else "allowed").encode()


def attempt(payload: bytes) -> bytes:
    """Try what an attack does through Python. Returns the name of the error, or "allowed"."""
    name, *arguments = json.loads(payload)
    try:
        ATTEMPTS[name](*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0].encode()
    return b"allowed"


def write_lines(descriptor: int) -> None:
    os.write(descriptor, b"forged line\n" * 9)


def write_file(path: str) -> None:
    Path(path).write_text("written")


def read_file(path: str) -> None:
    Path(path).read_bytes()


def signal_process(process: int) -> None:
    os.kill(process, 9)


def fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def connect() -> None:
    socket.socket().connect(("127.0.0.1", 9))


ATTEMPTS: dict[str, Callable[..., None]] = {
    made.__name__: made for made in (write_file, write_lines, read_file, signal_process, fork, connect)
}
