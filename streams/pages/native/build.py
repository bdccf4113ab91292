"""Builds `_native.so` when the package is installed: hatchling's build hook, and a script by itself.

    python streams/pages/native/build.py        # in a checkout, after a change of a .c file

The compiler is Zig's, from its wheel: the same everywhere, with no need of a system compiler or of Python's headers.
The library uses nothing of Python and the oldest glibc that our other wheels allow. Where Zig has no wheel the package
is installed without it, and pages are walked in Python.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
SOURCES, LIBRARY = sorted(HERE.glob("*.c")), HERE / "_native.so"
GLIBC = "2.28"
FLAGS = (
    *("-std=c11", "-O3", "-flto", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror", "-fno-sanitize=undefined"),
)


class WalkHook(BuildHookInterface[Any]):
    """Compile, and make the wheel one for this platform."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        failed = build()
        if failed:
            self.app.display_warning(f"Pages will be understood in Python alone, several times as slow: {failed}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append("streams/pages/native/_native.so")
        build_data["tag"] = f"py3-none-{platform_tag()}"


def build() -> str:
    """Compile. Returns why it was not, or nothing."""
    target = ["-target", f"{_machine()}-linux-gnu.{GLIBC}"] if _is_linux() else []
    try:
        import ziglang  # noqa: F401 (asked whether it is there)
    except ImportError:
        return "the package ziglang is not installed"
    fresh = LIBRARY.with_suffix(f".{os.getpid()}.tmp")
    command = [sys.executable, "-m", "ziglang", "cc", *target, *FLAGS, "-o", str(fresh), *map(str, SOURCES), "-lm"]
    done = subprocess.run(  # noqa: S603 (our own arguments)
        command, capture_output=True, text=True, check=False
    )
    if done.returncode:
        fresh.unlink(missing_ok=True)
        return f"it does not compile ({done.stderr.strip()[:2000]})"
    fresh.replace(LIBRARY)  # at once: someone may be loading the old one
    return ""


def platform_tag() -> str:
    if _is_linux():
        return f"manylinux_{GLIBC.replace('.', '_')}_{_machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _is_linux() -> bool:
    return sysconfig.get_platform().startswith("linux")


def _machine() -> str:
    return sysconfig.get_platform().rpartition("-")[2]


if __name__ == "__main__":
    raise SystemExit(build() or 0)
