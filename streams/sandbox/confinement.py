"""The limits of a sandbox process. It must not use the network, start programs, trace or signal other processes.

On Linux (x86-64 and 64-bit ARM), a seccomp filter makes these system calls fail with EPERM. Elsewhere, and where the
kernel refuses the filter, the process runs without it, and the pool logs which confinements are in force. The filter
does not limit files: the process can read what its user can read.
"""

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Mapping

KEPT_VARIABLES = frozenset(
    {
        "PATH",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "LD_LIBRARY_PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
    }
)
"""Environment variables that a sandbox process gets. None of them has a secret."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 38, 22
_SECCOMP_MODE_FILTER = 2
_DENIED_CALLS = {
    # name: (x86-64, 64-bit ARM)
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "sendto": (44, 206), "recvfrom": (45, 207),
    "sendmsg": (46, 211), "recvmsg": (47, 212), "bind": (49, 200), "listen": (50, 201), "socketpair": (53, 199),
    "accept4": (288, 242), "recvmmsg": (299, 243), "sendmmsg": (307, 269),
    "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117), "kill": (62, 129), "tkill": (200, 130),
    "tgkill": (234, 131), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "mount": (165, 40),
    "umount2": (166, 39), "chroot": (161, 51), "pivot_root": (155, 41), "unshare": (272, 97), "setns": (308, 268),
    "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
}  # fmt: skip
"""System calls that fail with EPERM. io_uring is among them because its requests pass by the filter."""
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> position in `_DENIED_CALLS`, and the kernel's number (AUDIT_ARCH_*)."""
_X32_BIT = 0x40000000
"""x86-64 has a second set of numbers for the same calls. All of them are denied."""

# Classic BPF over struct seccomp_data: int nr; u32 arch; ... (linux/seccomp.h, linux/bpf_common.h)
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_OR_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
_ALLOW, _EPERM = 0x7FFF0000, 0x00050000 | 1


def minimal_environment(environment: Mapping[str, str], path: list[str]) -> dict[str, str]:
    """Return the environment of a sandbox process. `path`: the folders that modules are imported from."""
    kept = {name: value for name, value in environment.items() if name in KEPT_VARIABLES}
    return kept | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, path))}


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent (a process id) ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that call
        sys.exit(1)


def confine() -> list[str]:
    """Confine this process for good. Returns the names of the confinements that are in force."""
    if sys.platform != "linux":
        return []
    in_force = []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        in_force.append("no new privileges")
        if _filter_calls(libc):
            in_force.append("no network, no programs")
    return in_force


def _filter_calls(libc: ctypes.CDLL) -> bool:
    program = filter_program(platform.machine())
    if not program:
        return False
    instructions = ctypes.create_string_buffer(program, len(program))
    filter_ = _Program(len(program) // 8, ctypes.addressof(instructions))
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0) == 0)


class _Program(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def filter_program(machine: str) -> bytes:
    """Return the BPF program for this machine; empty where its numbers are not known."""
    if machine not in _ARCHITECTURES:
        return b""
    column, architecture = _ARCHITECTURES[machine]
    numbers = sorted(call[column] for call in _DENIED_CALLS.values())
    first = 4
    deny = first + len(numbers) + 1

    def to_deny(position: int) -> int:
        return deny - position - 1

    program = [
        _instruction(_LOAD, value=_ARCHITECTURE_OFFSET),
        _instruction(_JUMP_EQUAL, 0, to_deny(1), architecture),
        _instruction(_LOAD, value=_NUMBER_OFFSET),
        _instruction(_JUMP_GREATER_OR_EQUAL, to_deny(3), 0, _X32_BIT),
        *(_instruction(_JUMP_EQUAL, to_deny(at), 0, number) for at, number in enumerate(numbers, first)),
        _instruction(_RETURN, value=_ALLOW),
        _instruction(_RETURN, value=_EPERM),
    ]
    return b"".join(program)


def _instruction(code: int, if_true: int = 0, if_false: int = 0, value: int = 0) -> bytes:
    """Return a `struct sock_filter`: both jumps count the instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
