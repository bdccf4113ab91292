"""Child processes that end with their parent, each with its own log, stopped only by process id."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import psutil

from streams.local import die_with_parent
from streams.resources import raise_session_niceness, set_session_niceness

CHILD_VARIABLE = "LOCAL_STACK_CHILD"
"""Environment variable that marks a child and all processes that it starts. Each child has a value of its own."""
KEPT_LOG_SUFFIX = ".previous"
CRASH_LOGS = 3
"""Number of logs that are kept of the first crashes of a process: the first one has the cause."""
CRASH_SECONDS = 7 * 86_400.0
"""Age after which the log of a crash gives way to another one (seconds)."""
LOG_BYTES = 20_000_000
"""Size from which a log is rotated (bytes). The part before is kept once."""
ROTATED_LOG_SUFFIX = ".older"
KILLED_SECONDS = 5.0
"""Maximum wait for a killed process to end."""
TAIL_LINES = 15
TAIL_BYTES = 32_768


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to run. `environment` is added to the environment of this process.

    `nice` is the minimum niceness of the process once it answers (`Child.yield_processor`). `timer_slack` is the
    maximum delay of its timers (microseconds); 0 leaves the kernel's own choice.
    """

    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    nice: int = 0
    timer_slack: int = 0


class Child:
    """A running child process. It ends with the thread that started it: see `die_with_parent`."""

    def __init__(self, name: str, launch: Launch, log: Path, port: int = 0) -> None:
        self.name, self.log, self.port = name, log, port
        numbers = (os.getpid(), launch.timer_slack)
        starter = [sys.executable, "-I", "-S", die_with_parent.__file__, *map(str, numbers)]
        self.mark = uuid4().hex
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603
                [*starter, *launch.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **launch.environment, CHILD_VARIABLE: self.mark},
                start_new_session=True,  # so that Ctrl-C reaches only the parent, which stops the children in order
            )
        self._nice = launch.nice
        self._session_nice = self._session_nice_now = 0
        self.create_time = psutil.Process(self.process.pid).create_time()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit status, or None while the child runs. Negative: the number of the signal that ended it."""
        return self.process.poll()

    @property
    def will_be_nice(self) -> bool:
        """True if the child is to be nicer than it is, once it has started."""
        return self._nice > 0

    def yield_processor(self) -> None:
        """Give the child the niceness of its launch, once. Call it when the child has started.

        On a busy machine a nice process takes minutes to start.
        """
        if self._nice:
            with suppress(ProcessLookupError):
                if raise_session_niceness(self.pid, self._nice):
                    self._session_nice = self._session_nice_now = self._nice
        self._nice = 0

    def share_processor(self, *, is_full: bool) -> None:
        """Let the child's session be no nicer than others while the machine is full with other work.

        A session of niceness 10 gets a ninth of the time of any other session. Beside 30 busy ones that is nothing.
        The session is as nice as before once the machine has time again. Where sessions share no time of their own
        (`streams.resources`), this does nothing.
        """
        wanted = 0 if is_full else self._session_nice
        if wanted != self._session_nice_now:
            set_session_niceness(self.pid, wanted)
            self._session_nice_now = wanted


def stop(children: Iterable[Child], grace_seconds: float) -> list[str]:
    """Send SIGTERM to all children, and after `grace_seconds` SIGKILL to what still runs of them and their children.

    Returns the names of the children that had to be killed. A grace of 0 kills at once.
    """
    running = [child for child in children if child.exit_code is None]
    families = [(child, _find_family(child.pid)) for child in running]
    if grace_seconds:
        for child in running:
            child.process.terminate()
    deadline = time.monotonic() + grace_seconds
    killed = []
    for child, family in families:
        if not _wait_for_end(child, deadline - time.monotonic()):
            killed.append(child.name)
            child.process.kill()
            child.process.wait()
        for process in family:
            _kill(process)
    psutil.wait_procs([process for _, family in families for process in family], timeout=KILLED_SECONDS)
    return killed


def kill_orphans(child: Child) -> None:
    """Kill the processes that an ended child started and left behind, such as the model processes of a killed Triton.

    A mark in their environment names them, since some have a session of their own. They have ended when the function
    returns: a program that still runs can't be replaced by the next start.
    """
    killed = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(CHILD_VARIABLE) == child.mark and process.pid != child.pid:
                _kill(process)
                killed.append(process)
    psutil.wait_procs(killed, timeout=KILLED_SECONDS)


def _find_family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def family_cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process and its children used (seconds), with the children that have ended."""
    used = 0.0
    with suppress(psutil.Error):
        for process in (psutil.Process(pid), *_find_family(pid)):
            with suppress(psutil.Error):
                used += sum(process.cpu_times()[:4])  # user, system, and both of ended children
    return used


def _wait_for_end(child: Child, seconds: float) -> bool:
    try:
        child.process.wait(max(seconds, 0))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: psutil.Process) -> None:
    # psutil compares the creation time first, so it never kills another process that got the same id.
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def keep_previous(log: Path) -> None:
    """Rename the log of the last start, so that a log holds only one start."""
    if log.exists():
        log.replace(log.with_name(log.name + KEPT_LOG_SUFFIX))


def keep_crash(log: Path) -> None:
    """Rename the log of a process that ended by itself. The logs of the first crashes stay, and the last one."""
    for number in range(1, CRASH_LOGS + 1):
        kept = log.with_name(f"{log.name}.crash-{number}")
        if log.exists() and (not kept.exists() or time.time() - kept.stat().st_mtime > CRASH_SECONDS):
            log.replace(kept)
    keep_previous(log)


def rotate(log: Path, max_bytes: int = LOG_BYTES) -> None:
    """Copy a large log aside and empty it. The process goes on writing, since it appends."""
    try:
        if log.stat().st_size > max_bytes:
            shutil.copyfile(log, log.with_name(log.name + ROTATED_LOG_SUFFIX))
            os.truncate(log, 0)
    except OSError:
        return  # as on a full disk: the next look tries again


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a log, without empty lines and the frames of Java's stack traces."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")][-lines:]
