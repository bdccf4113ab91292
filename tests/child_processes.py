"""Finds child processes whose end nobody waited for: Python warns "subprocess N is still running" about each.

The warning comes when the object is deleted, also for a process that has ended long ago. By then nobody knows which
test or fixture started it. So each run looks for them at its end, and names their commands (`conftest.py`).
"""

import gc
import subprocess
from typing import Any


def unreaped() -> list[str]:
    """The commands of all child processes whose status was never read, by `subprocess` or asyncio."""
    children = [found for found in gc.get_objects() if issubclass(type(found), subprocess.Popen)]
    return [_command(child.args) for child in children if child.returncode is None]


def _command(args: Any) -> str:
    return args if isinstance(args, str) else " ".join(map(str, args))
