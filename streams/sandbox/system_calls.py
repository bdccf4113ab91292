"""The system calls of a sandbox process, as a program for the kernel's filter (seccomp). Pure.

The calls that CPython and the libraries of the tasks make after their start were found by running the tasks (`strace
-f`): memory, time, locks, and reading and writing what is open already.
"""

import struct

ALLOWED = {
    # name: (x86-64, 64-bit ARM)
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67), "close": (3, 57),
    "lseek": (8, 62), "fstat": (5, 80),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "madvise": (28, 233), "membarrier": (324, 283),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "setitimer": (38, 103), "getitimer": (36, 102), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "times": (100, 153), "getrusage": (98, 165),
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "getcpu": (309, 168), "sysinfo": (99, 179),
    "getpid": (39, 172), "gettid": (186, 178), "getrandom": (318, 278),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""System calls that a task may make. They reach nothing but the process itself and what it has open."""
FATAL = {
    "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "mount": (165, 40), "umount2": (166, 39), "chroot": (161, 51), "pivot_root": (155, 41), "unshare": (272, 97),
    "setns": (308, 268), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104),
}  # fmt: skip
"""System calls that only an attack makes. They end the process (SIGSYS). All other calls fail with EPERM, since
libraries try some of them and do without."""

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> position in the tables, and the kernel's number (AUDIT_ARCH_*)."""
_X32_BIT = 0x40000000
"""The bit of x86-64's second set of numbers for the same calls. They are fatal."""

# Classic BPF over struct seccomp_data: int nr; u32 arch; ... (linux/seccomp.h, linux/bpf_common.h)
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_OR_EQUAL, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET = 0, 4
_ALLOW, _EPERM, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000


def filter_program(machine: str) -> bytes:
    """Return the BPF program for this machine; empty where its numbers are not known."""
    if machine not in _ARCHITECTURES:
        return b""
    column, architecture = _ARCHITECTURES[machine]
    allowed = sorted(call[column] for call in ALLOWED.values())
    fatal = sorted(call[column] for call in FATAL.values())
    first = 4
    deny = first + len(allowed) + len(fatal)
    allow, kill = deny + 1, deny + 2
    program = [
        _pack_instruction(_LOAD, value=_ARCHITECTURE_OFFSET),
        _pack_instruction(_JUMP_EQUAL, 0, kill - 2, architecture),
        _pack_instruction(_LOAD, value=_NUMBER_OFFSET),
        _pack_instruction(_JUMP_GREATER_OR_EQUAL, kill - 4, 0, _X32_BIT),
        *(_pack_instruction(_JUMP_EQUAL, allow - at - 1, 0, number) for at, number in enumerate(allowed, first)),
        *(
            _pack_instruction(_JUMP_EQUAL, kill - at - 1, 0, number)
            for at, number in enumerate(fatal, first + len(allowed))
        ),
        _pack_instruction(_RETURN, value=_EPERM),
        _pack_instruction(_RETURN, value=_ALLOW),
        _pack_instruction(_RETURN, value=_KILL),
    ]
    return b"".join(program)


def _pack_instruction(code: int, if_true: int = 0, if_false: int = 0, value: int = 0) -> bytes:
    """Return a `struct sock_filter`: both jumps count the instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
