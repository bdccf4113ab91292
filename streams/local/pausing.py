"""Pauses of the local stack's workers, asked for by a file `<home>/pause.json` that names the asking process.

The supervisor stops the workers while that process runs, and starts them again when the file or the process is gone. So
a backup that was killed leaves no paused stack behind.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from streams.errors import StartError
from streams.local.state import is_alive, running_state

PAUSED = "paused"
"""The state of a stack with paused workers."""
WAIT_SECONDS = 60.0
"""Maximum time until the supervisor has stopped or started the workers. Their own grace is 25 s."""
_LOOK_SECONDS = 0.2


def pause_asked(home: Path) -> bool:
    """Return True if a running process wants the workers paused. A file that a killed process left is removed."""
    path = _file(home)
    try:
        content = json.loads(path.read_text())
        asked = is_alive(int(content["pid"]), float(content["create_time"]))
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        asked = False
    if not asked:
        path.unlink(missing_ok=True)
    return asked


@contextmanager
def workers_paused(home: Path) -> Iterator[bool]:
    """Keep the workers of the home's stack paused. Yields False if no stack with workers runs. Raises StartError."""
    state = running_state(home)
    if state is None or state.servers_only:
        yield False
        return
    own = psutil.Process()
    draft = _file(home).with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps({"pid": own.pid, "create_time": own.create_time()}))
    try:
        os.link(draft, _file(home))  # fails if another process has it
    except FileExistsError:
        raise StartError(f"another backup or restore of {home} runs: wait for its end") from None
    finally:
        draft.unlink()
    try:
        _wait_for_state(home, PAUSED)
        yield True
    finally:
        _file(home).unlink(missing_ok=True)
        _wait_for_state(home, "ready")


def _wait_for_state(home: Path, wanted: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while (state := running_state(home)) is not None and state.state != wanted:
        if time.monotonic() > deadline:
            raise StartError(f"the workers are not {wanted} after {WAIT_SECONDS:.0f} s: see `riffle status`")
        time.sleep(_LOOK_SECONDS)


def _file(home: Path) -> Path:
    return home / "pause.json"
