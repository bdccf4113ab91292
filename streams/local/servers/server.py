"""The interface of the local stack's servers, and their concurrent start until each of them answers."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from string import Template
from typing import Any, Literal, Protocol, Self

import psutil

from streams.errors import StartError
from streams.local.child_process import (
    Child,
    Launch,
    family_cpu_seconds,
    keep_crash,
    keep_previous,
    kill_orphans,
    stop,
    tail,
)
from streams.local.tls.identities import Identities
from streams.settings import Settings

INSTALL_LOCAL = "Install the local stack's packages: pip install 'PATH_OF_THE_CLONE[local]'"
POLL_SECONDS = 0.1
CANCEL_CHECK_SECONDS = 0.2
START_CPU_SECONDS = 1.0
"""Minimum CPU time (seconds) of a start in `ready_timeout_seconds`: a process that uses less hangs."""
MAX_START_CPU_SECONDS = 600.0
"""Maximum CPU time of a start (seconds)."""
IDLE_SHARE = 0.25
"""Minimum share of the machine's processors that is idle on an idle machine."""
BUSY_WEIGHT = 0.1
"""Weight of a second of silence on a busy machine."""
MAX_CRASHES = 2
"""Maximum number of crashes after which a server is started once more. On a busy machine Triton now and then takes the
lock of its own shared memory for broken, and aborts."""

Answer = Literal["healthy", "unhealthy", "broken", "silent", "closed"]
"""A process's answer about its health. `broken`: only a restart helps. `closed`: it has no port to ask at."""

Hints = Sequence[tuple[str, str]]
"""(text in the log, advice), the most specific first."""

COMMON_HINTS: Hints = (
    ("No space left on device", "The disk is full: free some space, or set RIFFLE_HOME to a folder on another disk."),
    (
        "Address already in use",
        "Another process took the port. Run `riffle up` again: it picks others.",
    ),
    ("Address in use", "Another process took the port. Run `riffle up` again: it picks others."),
    ("insufficient memory", "Memory ran out. The whole stack needs about 3 GB: close other programs."),
    ("Cannot allocate memory", "Memory ran out. The whole stack needs about 3 GB: close other programs."),
    ("OutOfMemoryError", "The Java heap was too small for the data. `riffle down --clean` starts with empty data."),
    ("Permission denied", "A file or folder belongs to another user. The log names it."),
)


class Server(Protocol):
    """A server program: how to start it, and how to see that it answers."""

    @property
    def name(self) -> str:
        """Name of the server's log and data folder."""

    @property
    def title(self) -> str:
        """Name for people."""

    @property
    def port(self) -> int: ...

    @property
    def health(self) -> str:
        """URL that answers 200 if the server is healthy. Empty: the server is asked in its own protocol."""

    @property
    def hints(self) -> Hints: ...

    @property
    def ready_timeout_seconds(self) -> float: ...

    def prepare(self) -> Launch:
        """Write the configuration and return the command to run. May be slow. Raises StartError."""

    def is_ready(self) -> bool:
        """Ask the server once, in its own protocol. Raises StartError if it can't become ready any more."""


class StoreServer(Server, Protocol):
    """A server of the table (`streams.servers`). Its `name` is the one in the table."""

    @classmethod
    def of(cls, settings: Settings, home: Path, tls: Identities | None) -> Self:
        """Return the server with its data in `home`, on free ports. Raises StartError if its packages are missing."""

    @property
    def addresses(self) -> dict[str, Any]:
        """The settings of the server's group that point to the server."""

    @staticmethod
    def external(settings: Settings) -> str:
        """Return the address if environment variables set one: the server is then not started. Else an empty string."""

    def clean(self) -> None:
        """Remove what the ended server left outside of its data folder."""


class Cancelled(Exception):
    """The start was cancelled from outside."""


class CrashedError(StartError):
    """A signal ended the server before it answered."""


Report = Callable[[str, dict[str, Any]], None]
"""Called with ("preparing" | "starting" | "ready", {"name", "title", "seconds"?, "pid"?, "port"?})."""


def start_all(
    servers: Sequence[Server], logs: Path, report: Report, cancelled: threading.Event | None = None
) -> list[Child]:
    """Start all servers at once and return when all are ready. On any failure, all are stopped.

    The calling thread makes the children, since they end with the thread that made them. Raises StartError, Cancelled.
    """
    with ThreadPoolExecutor(2 * len(servers) or 1) as pool:
        start = _Start(pool, logs, report, cancelled or threading.Event())
        try:
            return start.run(servers)
        except BaseException:
            start.cancelled.set()  # ends the threads that wait for the others
            stop(start.children, grace_seconds=0)
            raise


class _Start:
    """One start. Threads prepare the servers and wait until they answer; the calling thread makes the children."""

    def __init__(self, pool: ThreadPoolExecutor, logs: Path, report: Report, cancelled: threading.Event) -> None:
        self.pool, self.logs, self.report, self.cancelled = pool, logs, report, cancelled
        self.begun = time.monotonic()
        self.children: list[Child] = []
        self.preparing: dict[Future[Any], Server] = {}
        self.waiting: dict[Future[Any], tuple[Server, Child]] = {}
        self.crashes: Counter[str] = Counter()
        """The crashes of each server, by its name."""

    def run(self, servers: Sequence[Server]) -> list[Child]:
        for server in servers:
            self._prepare(server)
        while futures := {*self.preparing, *self.waiting}:
            if self.cancelled.is_set():
                raise Cancelled
            for future in wait(futures, CANCEL_CHECK_SECONDS, FIRST_COMPLETED).done:
                if future in self.preparing:
                    self._spawn(self.preparing.pop(future), future.result())
                else:
                    self._end_wait(future, *self.waiting.pop(future))
        return self.children

    def _prepare(self, server: Server) -> None:
        self.report("preparing", {"name": server.name, "title": server.title})
        self.preparing[self.pool.submit(server.prepare)] = server

    def _end_wait(self, future: Future[Any], server: Server, child: Child) -> None:
        """Note that a server is ready, or start it again after a crash. Raises its other failures."""
        if isinstance(future.exception(), CrashedError) and self.crashes[server.name] < MAX_CRASHES:
            self.crashes[server.name] += 1
            self.children.remove(child)
            kill_orphans(child)
            self._prepare(server)
            return
        future.result()
        child.yield_processor()
        self._report_on("ready", server, child)

    def _spawn(self, server: Server, launch: Launch) -> None:
        child = spawn(server, launch, self.logs, crashed=self.crashes[server.name] > 0)
        self.children.append(child)
        self._report_on("starting", server, child)
        self.waiting[self.pool.submit(_wait_ready, server, child, self.cancelled)] = (server, child)

    def _report_on(self, what: str, server: Server, child: Child) -> None:
        seconds = time.monotonic() - self.begun
        details = {"name": server.name, "title": server.title, "pid": child.pid, "port": child.port}
        self.report(what, {**details, "seconds": seconds})


def spawn(server: Server, launch: Launch, logs: Path, *, crashed: bool = False) -> Child:
    """Start a server's process with a new log. The previous log is kept, and more logs of processes that `crashed`."""
    log = logs / f"{server.name}.log"
    (keep_crash if crashed else keep_previous)(log)
    return Child(server.name, launch, log, server.port)


def _wait_ready(server: Server, child: Child, cancelled: threading.Event) -> None:
    """Wait until the server answers, as long as it computes. Raises StartError, CrashedError, Cancelled.

    A process that waits for another one computes nothing: on a busy machine, where the other one is slow, its time
    without CPU time counts a tenth.
    """
    begun = time.monotonic()
    deadline, used, quiet_seconds = begun + server.ready_timeout_seconds, 0.0, 0.0
    idle_share()
    while not cancelled.is_set():
        if child.exit_code is not None:
            kind = CrashedError if child.exit_code < 0 else StartError
            raise kind(failure_message(server, f"ended ({exit_words(child.exit_code)})", child.log))
        if server.is_ready():
            return
        if time.monotonic() > deadline:
            before, used = used, family_cpu_seconds(child.pid)
            waited_seconds = server.ready_timeout_seconds * (BUSY_WEIGHT if idle_share() < IDLE_SHARE else 1.0)
            quiet_seconds = 0.0 if used > before + START_CPU_SECONDS else quiet_seconds + waited_seconds
            # Less a tenth of a wait: ten tenths of it are a whole one.
            if used >= MAX_START_CPU_SECONDS or quiet_seconds > (1 - BUSY_WEIGHT / 2) * server.ready_timeout_seconds:
                silent = f"did not answer on port {server.port} within {time.monotonic() - begun:.0f} s"
                raise StartError(failure_message(server, silent, child.log))
            deadline = time.monotonic() + server.ready_timeout_seconds
        time.sleep(POLL_SECONDS)
    raise Cancelled


def read_template(name: str) -> Template:
    """Return the text of a server's configuration: a file beside this module, with `$name` for what a home sets."""
    return Template((Path(__file__).parent / name).read_text())


def idle_share() -> float:
    """Return the share of the processors' time since this thread's last call in which they were idle."""
    return float(psutil.cpu_times_percent().idle) / 100


def exit_words(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def failure_message(server: Server, happened: str, log: Path) -> str:
    """Return a message with what happened, advice, the last lines of the log, and its path."""
    lines = tail(log)
    text = "\n".join(lines)
    advice = next((advice for pattern, advice in [*server.hints, *COMMON_HINTS] if pattern in text), "")
    quoted = "".join(f"\n    {line}" for line in lines) or "\n    (nothing)"
    return "\n".join(
        part for part in (f"{server.title} {happened}.", advice, f"The last lines of its log, {log}:{quoted}") if part
    )
