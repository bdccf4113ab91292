"""Child processes of tests: those whose end nobody waited for, and how nice they can be.

Python warns "subprocess N is still running" when the object of such a process is deleted, also if it has ended long
ago. By then nobody knows which test or fixture started it. So each run looks for them at its end, and names their
commands (`conftest.py`).
"""

import gc
import os
import subprocess
from typing import Any

import pytest

MAX_NICENESS = 19
"""The highest niceness that a process can have (setpriority(2))."""


def unreaped() -> list[str]:
    """The commands of all child processes whose status was never read, by `subprocess` or asyncio."""
    children = [found for found in gc.get_objects() if issubclass(type(found), subprocess.Popen)]
    return [_command(child.args) for child in children if child.returncode is None]


def _command(args: Any) -> str:
    return args if isinstance(args, str) else " ".join(map(str, args))


def niceness_above_own() -> int:
    """Return a niceness above that of this run and above 0: the run may itself be nice, or go before all others."""
    own = os.nice(0)
    if own >= MAX_NICENESS:
        pytest.skip("no process can be nicer than this run")
    return min(max(own, 0) + 3, MAX_NICENESS)
