"""Runs a program under a seccomp profile of a container, as a container's runtime does: by libseccomp.

    python -m tests.chart.seccomp PROFILE.json PROGRAM ARGUMENT ...

Calls that this machine does not know are left out. The program gets no new privileges.
"""

import ctypes
import ctypes.util
import json
import os
import sys
from pathlib import Path
from typing import Any

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EQUAL = 4
"""`SCMP_CMP_EQ` of libseccomp's enumeration of comparisons."""


class _Argument(ctypes.Structure):
    _fields_ = (
        ("index", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    )


def load(profile: dict[str, Any], library: str) -> None:
    """Put this process under a profile that allows what it does not name. Raises OSError."""
    seccomp = ctypes.CDLL(library)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(ALLOW)))
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ERRNO"
        found = [_Argument(one["index"], EQUAL, one["value"], 0) for one in rule.get("args", ())]
        arguments = (_Argument * len(found))(*found)
        for name in rule["names"]:
            number = seccomp.seccomp_syscall_resolve_name(name.encode())
            action = ctypes.c_uint32(ERRNO | rule["errnoRet"])
            if number >= 0 and seccomp.seccomp_rule_add_array(context, action, number, len(found), arguments):
                raise OSError(f"libseccomp refuses the rule of {name}")
    if status := seccomp.seccomp_load(context):
        raise OSError(f"the profile can't be loaded ({status})")


def main() -> None:
    library = ctypes.util.find_library("seccomp")
    if library is None:
        raise SystemExit("libseccomp is not there")
    load(json.loads(Path(sys.argv[1]).read_text()), library)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
