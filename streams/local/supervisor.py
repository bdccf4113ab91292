"""Keeps the local stack running: starts servers, workers and gateway in order, starts again what ends, stops it all.

`riffle up` runs it as a process of its own (`python -m streams.local.supervisor`), `riffle up --foreground` in its own.
It is single-threaded but for the waiting at starts, and the main thread makes every child: a child ends with the thread
that made it.
"""

import argparse
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from streams.errors import RiffleError, StartError
from streams.local import child_process as children
from streams.local import riffle_processes as members
from streams.local import server_set as running
from streams.local.child_process import Child
from streams.local.probing import answers
from streams.local.reporting import PipeReport
from streams.local.server import Report, Server, exit_words, spawn, start_all
from streams.local.state import ProcessState, StackState, only_stack, write_state
from streams.settings import Settings, stack_file

LOOK_SECONDS = 0.5
HEALTH_SECONDS = 10.0
"""Between two looks at the workers' health."""
UNHEALTHY_LOOKS = 3
"""In a row, before a worker that runs but makes no progress is started again."""
BACKOFF_SECONDS = (0.5, 1.0, 2.0, 5.0, 15.0, 30.0)
"""Before the next start of something that ended; the last one repeats."""
STEADY_SECONDS = 60.0
"""What ran for so long starts from the first backoff again."""
MEMBER_GRACE_SECONDS = 25.0
SERVER_GRACE_SECONDS = 20.0
NEEDED_BYTES = 1_000_000_000
"""Of free disk: commit logs and Kafka's segments are allocated ahead."""


@dataclass(slots=True)
class Watched:
    """A running child, and how often it had to be started again."""

    server: Server
    child: Child
    started_at: float
    restarts: int = 0
    failures: int = 0
    """In a row, without a steady run between them."""
    unhealthy: int = 0
    start_again_at: float | None = None

    def ended(self, now: float) -> float:
        """Note the end; returns the seconds to wait before the next start."""
        self.failures = 0 if now - self.started_at > STEADY_SECONDS else self.failures
        wait_seconds = BACKOFF_SECONDS[min(self.failures, len(BACKOFF_SECONDS) - 1)]
        self.failures += 1
        self.start_again_at = now + wait_seconds
        return wait_seconds

    @property
    def state(self) -> ProcessState:
        return ProcessState(
            name=self.server.name,
            title=self.server.title,
            pid=self.child.pid,
            create_time=self.child.create_time,
            port=self.server.port,
            log=str(self.child.log),
            health=self.server.health,
            restarts=self.restarts,
        )


@dataclass(slots=True)
class Supervisor:
    """One run of the stack. `report` is told what happens: see server.Report; also "step", "warning", "ended", "up"."""

    settings: Settings
    report: Report
    servers_only: bool = False
    stop_asked: threading.Event = field(default_factory=threading.Event)
    watched: list[Watched] = field(default_factory=list)
    servers: running.Servers = field(default_factory=running.Servers)
    state: StackState = field(init=False)
    home: Path = field(init=False)

    def __post_init__(self) -> None:
        self.home = self.settings.home.resolve()
        me = psutil.Process()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.state = StackState(me.pid, me.create_time(), started, self.servers_only)

    def run(self) -> None:
        """Start everything, keep it running until a signal comes, and stop it.

        Raises StartError, UsageError when a stack of this home runs already, and Cancelled.
        """
        with ExitStack() as stack:
            stack.enter_context(only_stack(self.home))
            check_space(self.home)
            for number in (signal.SIGTERM, signal.SIGINT):
                stack.callback(signal.signal, number, signal.signal(number, lambda *_: self.stop_asked.set()))
            stack.callback(stack_file(self.home).unlink, missing_ok=True)
            stack.callback(self.stop)
            self.start()
            self.report("up", {"settings": self.state.settings})
            self.watch()

    def start(self) -> None:
        servers = self.servers = running.plan(self.settings, self._warn, home=self.home)
        self._start(servers.all)
        # The workers read the addresses from this file, so they come after it.
        self._note(settings=servers.addresses)
        settings = running.pointed_at(self.settings, self.home, servers.addresses)
        self._step("Topics and tables", lambda: running.lay_out(settings, servers))
        if not self.servers_only:
            # Beside the workers, which take longer: it brings the clients of Triton and Qdrant with it.
            with ThreadPoolExecutor(1) as pool:
                ensured = pool.submit(self._step, "Search index", lambda: running.ensure_collection(settings))
                self._start_members(servers.addresses)
                ensured.result()
        self._note(state="ready")

    def _start_members(self, addresses: dict[str, dict[str, Any]]) -> None:
        if self.settings.local_web:
            web = members.web(self.settings.local_web, self.home)
            self._start([web])
            addresses = {**addresses, "crawl": web.addresses}
        gateway = members.gateway(self.home, self.settings.gateway.port)
        self._note(settings={**addresses, "gateway": {"port": gateway.port}})
        self._start([*members.workers(self.home), gateway])

    def _start(self, servers: Sequence[Server]) -> None:
        by_name = {server.name: server for server in servers}
        for child in start_all(servers, self.home / "logs", self.report, self.stop_asked):
            self.watched.append(Watched(by_name[child.name], child, time.monotonic()))
        self._note()

    def _step(self, title: str, action: Callable[[], None]) -> None:
        begun = time.monotonic()
        action()
        self.report("step", {"title": title, "seconds": time.monotonic() - begun})

    def _warn(self, text: str) -> None:
        self.report("warning", {"text": text})

    def _note(self, **changes: Any) -> None:
        processes = tuple(watched.state for watched in self.watched)
        self.state = replace(self.state, processes=processes, **changes)
        write_state(self.home, self.state)

    def watch(self) -> None:
        """Until the signal: start again what ended, and what doesn't get on."""
        next_health = time.monotonic() + HEALTH_SECONDS
        while not self.stop_asked.wait(LOOK_SECONDS):
            now = time.monotonic()
            for watched in self.watched:
                self._look(watched, now)
            if now >= next_health:
                next_health = now + HEALTH_SECONDS
                self._look_at_health()

    def _look(self, watched: Watched, now: float) -> None:
        if watched.start_again_at is None and watched.child.exit_code is not None:
            how = exit_words(watched.child.exit_code)
            wait_seconds = watched.ended(now)
            self.report("ended", {"title": watched.server.title, "how": how, "again_in_seconds": wait_seconds})
        elif watched.start_again_at is not None and now >= watched.start_again_at:
            self._start_again(watched, now)

    def _start_again(self, watched: Watched, now: float) -> None:
        try:
            watched.child = spawn(watched.server, watched.server.prepare(), self.home / "logs")
        except (RiffleError, OSError) as error:
            self._warn(f"{watched.server.title} can't be started again: {error}")
            watched.ended(now)
            return
        watched.started_at, watched.start_again_at, watched.unhealthy = now, None, 0
        watched.restarts += 1
        self._note()

    def _look_at_health(self) -> None:
        for watched in self.watched:
            if not watched.server.name.startswith("worker-") or watched.start_again_at is not None:
                continue
            watched.unhealthy = 0 if answers(watched.server.health) else watched.unhealthy + 1
            if watched.unhealthy >= UNHEALTHY_LOOKS:
                self._warn(f"{watched.server.title} runs but makes no progress: it is started again")
                children.stop([watched.child], grace_seconds=0)  # what it had begun comes again
                watched.unhealthy = 0

    def stop(self) -> None:
        """The gateway and the workers first, so that they can end what they began; then the servers."""
        if self.watched:
            self._note(state="stopping")
        ours = [watched.child for watched in self.watched if isinstance(watched.server, members.OURS)]
        servers = [watched.child for watched in self.watched if not isinstance(watched.server, members.OURS)]
        for part, grace_seconds in ((ours, MEMBER_GRACE_SECONDS), (servers, SERVER_GRACE_SECONDS)):
            for name in children.stop(part, grace_seconds):
                self._warn(f"{name} did not end within {grace_seconds:.0f} s and was killed")
        if self.servers.triton:
            self.servers.triton.clean_shared_memory()


def check_space(home: Path, needed_bytes: int = NEEDED_BYTES) -> None:
    """Raises StartError when the disk is too full for the servers to start."""
    free = shutil.disk_usage(home).free
    if free < needed_bytes:
        raise StartError(
            f"only {free / 1e6:,.0f} MB are free on the disk of {home}; the servers need {needed_bytes / 1e6:,.0f} MB. "
            "Free some space, or set RIFFLE_HOME to a folder on another disk"
        )


def main() -> int:
    """The detached process: reports as JSON lines on the file descriptor that `riffle up` listens to."""
    parser = argparse.ArgumentParser(prog="python -m streams.local.supervisor")
    parser.add_argument("--report", type=int, required=True, help="file descriptor for the reports")
    parser.add_argument("--servers-only", action="store_true")
    arguments = parser.parse_args()
    report = PipeReport(arguments.report)
    return report.tell_how_it_ends(lambda: Supervisor(Settings.load(), report, arguments.servers_only).run())


if __name__ == "__main__":
    raise SystemExit(main())
