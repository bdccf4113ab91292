"""The files of a home: the state of its stack, the pause of its workers, and the keys that Riffle makes itself.

`<home>/stack.json` is the state of the running stack:

    {"pid": 41, "create_time": 1763724000.1, "started": "2026-01-31T12:00:00+00:00", "servers_only": false,
     "state": "starting" | "ready" | "paused" | "stopping",
     "settings": {"kafka": {"bootstrap": ...}, ...},        settings that the environment overrides
     "processes": [{"name", "title", "pid", "create_time", "port", "log", "health", "restarts"}, ...],
     "web": the folder that is served for the crawler, or "",
     "environment": {"RIFFLE_ANSWERS__URL": digest of its value, ...}}    settings with which it was started

The kernel reuses process ids, so a process is identified by its id together with its time of creation.

`<home>/pause.json` names a process that asks for a pause of the workers. The supervisor stops them while that process
runs, and starts them again when the file or the process is gone. So a backup that was killed leaves no paused stack.
"""

import fcntl
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil

from streams.credentials import current_secret
from streams.errors import StartError, UsageError
from streams.settings import stack_file

_ONLY_USER = 0o700
SAME_SECONDS = 1.0
"""Maximum difference of two readings of one creation time. The kernel counts it in hundredths of a second."""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """One child process of the stack."""

    name: str
    title: str
    pid: int
    create_time: float
    port: int
    log: str
    health: str = ""
    """URL that answers 200 if the process is healthy. Empty: it is asked in its own protocol."""
    restarts: int = 0

    @property
    def alive(self) -> bool:
        return is_alive(self.pid, self.create_time)


@dataclass(frozen=True, slots=True)
class StackState:
    """The state of the stack as its supervisor last wrote it."""

    pid: int
    create_time: float
    started: str
    servers_only: bool = False
    state: str = "starting"
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    processes: tuple[ProcessState, ...] = ()
    web: str = ""
    """The folder that is served for the crawler, or an empty string."""
    environment: dict[str, str] | None = None
    """See `environment_digests`. None: the stack was started by a version that didn't note it."""

    @property
    def alive(self) -> bool:
        """True if the supervisor runs. False if it was killed and only left the file."""
        return is_alive(self.pid, self.create_time)


OF_THE_COMMAND = frozenset({"RIFFLE_HOME", *(f"RIFFLE_LOCAL_{name}" for name in ("WEB", "TLS", "TRITON"))})
"""Settings that `riffle up` has as options, or that name the home."""


def environment_digests(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the settings in an environment, each with a digest of its value, which may be a secret."""
    return {
        name: hashlib.blake2b(value.encode(), digest_size=8).hexdigest()
        for name, value in sorted(environment.items())
        if name.startswith("RIFFLE_") and name not in OF_THE_COMMAND
    }


def is_alive(pid: int, create_time: float) -> bool:
    """Return True if this very process runs: not a later one with its id, and not a zombie."""
    try:
        process = psutil.Process(pid)
        same = abs(process.create_time() - create_time) < SAME_SECONDS
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def write_state(home: Path, state: StackState) -> None:
    """Replace the file in one step, so that a reader sees the old state or the new one, never a part."""
    target = stack_file(home)
    draft = target.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(asdict(state), indent=2) + "\n")
    draft.replace(target)


def read_state(home: Path) -> StackState | None:
    """Return the last written state, valid or stale, or None if there is none. Raises UsageError."""
    try:
        content = json.loads(stack_file(home).read_text())
        processes = tuple(ProcessState(**process) for process in content.pop("processes"))
        return StackState(**content, processes=processes)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{stack_file(home)} can't be read ({error}). Remove it and run `riffle up` again") from error


def running_state(home: Path) -> StackState | None:
    """Return the state of the running stack, or None. A stale file is removed, so that its addresses are not used."""
    state = read_state(home)
    if state is None or state.alive:
        return state
    stack_file(home).unlink(missing_ok=True)
    return None


def make_home(home: Path) -> None:
    """Make the home folder, and let only this user into it: it holds pages, queries, labels and the index.

    A folder of another user, or one that all users share (with the sticky bit, such as /tmp), stays as it is.
    """
    home.mkdir(mode=_ONLY_USER, parents=True, exist_ok=True)
    status = home.stat()
    if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        home.chmod(_ONLY_USER)


@contextmanager
def only_stack(home: Path) -> Iterator[None]:
    """Hold the home's lock, which only one supervisor can hold. The kernel releases it when the process ends.

    Raises UsageError if another process holds it.
    """
    make_home(home)
    with (home / "stack.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"a stack of {home} runs already, or is being started or stopped. "
                "See `riffle status`; stop it with `riffle down`"
            ) from None
        yield


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


KEY_BYTES = 32


def own_secret(file: Path) -> str:
    """Return the random key in a file that only this user may read. The first call makes it; it stays the same from
    then on, also if two processes call at the same moment."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{uuid4().hex}")
        draft.touch(mode=0o600)
        try:
            draft.write_text(secrets.token_urlsafe(KEY_BYTES), encoding="ascii")
            os.link(draft, file)
        except FileExistsError:
            pass  # another process was first
        finally:
            draft.unlink()
    return current_secret(file)
