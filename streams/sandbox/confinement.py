"""The confinement of a sandbox process: it computes, reads its input, writes its answers, and can do nothing else.

It opens no file and no socket, starts no program, process or thread, and sends no signal. Five layers, each of which is
used where the system has it:

- an allow list of system calls (seccomp; Linux on x86-64 and 64-bit ARM). A call that is not on it fails with EPERM.
  A call that only an attack makes ends the process.
- Landlock without any right (Linux 5.13 and newer): no file can be opened
- no new privileges (`no_new_privs`): no program that it starts gets more rights than it has
- limits of resources: no new file descriptor, no new process
- no memory dump: other processes of the user can't read its memory

Modules and data that a task needs must be loaded before (`warm_up`, see `worker`). `missing` says which layers a
process lacks; the pool logs a warning about them, and `riffle doctor` shows them.
"""

import contextlib
import ctypes
import os
import platform
import resource
import signal
import sys
from collections.abc import Collection, Mapping

from streams.sandbox.system_calls import filter_program

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

NO_DUMP, NO_PRIVILEGES, NO_RESOURCES = "no memory dump", "no new privileges", "no new resources"
NO_FILES, NO_CALLS = "no files (Landlock)", "only listed system calls (seccomp)"
LAYERS = (NO_DUMP, NO_PRIVILEGES, NO_FILES, NO_RESOURCES, NO_CALLS)
"""All layers of the confinement, in the order in which they are set."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""System calls of Landlock, the same on all machines."""
_ASK_VERSION = 1
_FILE_RIGHTS_BY_VERSION = ((5, 16), (3, 15), (2, 14), (1, 13))
"""Version of Landlock -> number of rights about files that it knows."""
_NETWORK_VERSION, _NETWORK_RIGHTS = 4, 0b11
_SCOPES_VERSION, _SCOPES = 6, 0b11


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


def refuse_dumps() -> bool:
    """Keep other processes of the user from reading this process's memory. Returns whether the system can."""
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)


def confine() -> list[str]:
    """Confine this process for good. Returns the layers that are in force."""
    in_force = [NO_DUMP] if refuse_dumps() else []
    libc = ctypes.CDLL(None, use_errno=True)
    may_filter = sys.platform == "linux" and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if may_filter:
        in_force.append(NO_PRIVILEGES)
    if may_filter and _deny_files(libc):
        in_force.append(NO_FILES)
    if _limit_resources():
        in_force.append(NO_RESOURCES)
    if may_filter and _filter_calls(libc):
        in_force.append(NO_CALLS)
    return in_force


def missing(in_force: Collection[str]) -> list[str]:
    return [layer for layer in LAYERS if layer not in in_force]


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


class _Ruleset(ctypes.Structure):
    """The kernel's `struct landlock_ruleset_attr`: what is denied unless a rule allows it. There is no rule."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


def _landlock_version(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock; 0 or less without it."""
    return int(libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION))


def _deny_files(libc: ctypes.CDLL) -> bool:
    version = _landlock_version(libc)
    rights = next((count for since, count in _FILE_RIGHTS_BY_VERSION if version >= since), 0)
    if not rights:
        return False
    denied = _Ruleset((1 << rights) - 1)
    size = 8
    if version >= _NETWORK_VERSION:
        denied.network, size = _NETWORK_RIGHTS, 16
    if version >= _SCOPES_VERSION:
        denied.scopes, size = _SCOPES, 24
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(denied), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _limit_resources() -> bool:
    """Allow no new file descriptor and no new process. What is open stays open. (Root may start processes anyway.)"""
    with contextlib.suppress(OSError, ValueError):
        for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
            resource.setrlimit(kind, (0, 0))
        return True
    return False
