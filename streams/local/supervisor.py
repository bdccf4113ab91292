"""The supervisor of the local stack: it starts servers, workers and gateway, restarts what ends, and stops all.

`riffle up` runs it as a separate process (`python -m streams.local.supervisor`), `riffle up --foreground` in its own.
Apart from the waiting at starts it has one thread, and this thread makes all children: a child ends with the thread
that made it.
"""

import argparse
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from streams.errors import RiffleError, StartError
from streams.local import riffle_processes
from streams.local.child_process import kill_orphans, rotate, stop
from streams.local.home import PAUSED, StackState, environment_digests, only_stack, pause_asked, write_state
from streams.local.reporting import PipeReport
from streams.local.server_set import (
    Servers,
    create_topics_and_tables,
    ensure_collection,
    external_servers,
    plan,
    with_addresses,
)
from streams.local.servers.server import Report, Server, exit_words, spawn, start_all
from streams.local.supervision.health_checks import HealthChecks
from streams.local.supervision.scheduled import SCHEDULED, ScheduledCommand
from streams.local.supervision.watched import Watched
from streams.models.opening import check_local_files
from streams.resources import is_machine_full
from streams.servers import NAMES, named
from streams.settings import Settings, stack_file

LOOK_SECONDS = 0.5
RIFFLE_GRACE_SECONDS = 25.0
SERVER_GRACE_SECONDS = 20.0
NEEDED_BYTES = 1_000_000_000
"""Minimum free space on the disk (bytes): commit logs and Kafka's segments are allocated ahead."""


@dataclass(slots=True)
class Supervisor:
    """One run of the stack. `report` gets the reports of server.Report, and "warning", "ended" and "up"."""

    settings: Settings
    report: Report
    servers_only: bool = False
    stop_asked: threading.Event = field(default_factory=threading.Event)
    watched: list[Watched] = field(default_factory=list)
    servers: Servers = field(default_factory=Servers)
    state: StackState = field(init=False)
    home: Path = field(init=False)
    scheduled: list[ScheduledCommand] = field(default_factory=list)
    _is_unwritten: bool = False
    """True if the file of the state has an earlier state."""
    _refusal: str = ""
    """The last error of housekeeping that was reported."""

    def __post_init__(self) -> None:
        self.home = self.settings.home.resolve()
        me = psutil.Process()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        web = "" if self.servers_only or not self.settings.local_web else str(self.settings.local_web.resolve())
        environment = environment_digests(os.environ)
        self.state = StackState(me.pid, me.create_time(), started, self.servers_only, web=web, environment=environment)

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
        external = external_servers(self.settings)
        for name, address in external.items():
            self.report("external", {"title": named(name).title, "address": address})
        names = [name for name in NAMES if name not in external]
        servers = self.servers = plan(self.settings, self._warn, home=self.home, names=names)
        if servers.in_process and not self.servers_only:
            # A missing package is said now, and not when two servers run.
            self._step("Models", lambda: check_local_files(self.settings))
        self._start(servers.all)
        # The workers read the addresses from this file, so it is written before they start.
        addresses = {**servers.addresses, "crawl": riffle_processes.CRAWL_SETTINGS}
        self._note(settings=addresses)
        settings = with_addresses(self.settings, self.home, servers.addresses)
        self._step("Topics and tables", lambda: create_topics_and_tables(settings))
        if not self.servers_only:
            # At the same time as the workers, which take longer: it loads the clients of Triton and Qdrant.
            with ThreadPoolExecutor(1) as pool:
                ensured = pool.submit(self._step, "Search index", lambda: ensure_collection(settings))
                self._start_riffle(addresses)
                ensured.result()
        self._note(state="ready")

    def _start_riffle(self, addresses: dict[str, dict[str, Any]]) -> None:
        if self.settings.local_web:
            web = riffle_processes.web(self.settings.local_web, self.home)
            self._start([web])
            addresses = {**addresses, "crawl": {**addresses["crawl"], **web.addresses}}
        tls, encrypted = self.servers.tls, self.servers.encrypted
        gateway = riffle_processes.gateway(self.home, self.settings.gateway.port, tls, encrypted)
        self._note(settings={**addresses, "gateway": riffle_processes.gateway_settings(gateway.port, tls)})
        self._start([*self._workers(), gateway])

    def _workers(self) -> list[riffle_processes.RiffleProcess]:
        """Return the workers: with certificates one for each stage, since each stage has a certificate of its own."""
        tls, encrypted = self.servers.tls, self.servers.encrypted
        if tls or self.settings.local_worker_per_stage:
            return riffle_processes.workers(self.home, tls=tls, encrypted=encrypted)
        return [riffle_processes.shared_worker(self.home)]

    def _start(self, servers: Sequence[Server]) -> None:
        by_name = {server.name: server for server in servers}
        for child in start_all(servers, self.home / "logs", self.report, self.stop_asked):
            self.watched.append(Watched(by_name[child.name], child, time.monotonic()))
        self._note()

    def _step(self, title: str, action: Callable[[], None]) -> None:
        begun = time.monotonic()
        self.report("preparing", {"title": title})
        action()
        self.report("ready", {"title": title, "seconds": time.monotonic() - begun})

    def _warn(self, text: str) -> None:
        self.report("warning", {"text": text})

    def _note(self, **changes: Any) -> None:
        processes = tuple(watched.state for watched in self.watched)
        self.state = replace(self.state, processes=processes, **changes)
        try:
            write_state(self.home, self.state)
            self._is_unwritten = False
        except OSError:
            if self.state.state == "starting":
                raise  # the workers read the addresses from the file
            # As on a full disk. The processes go on, and the next look tries again.
            self._is_unwritten = True

    def _try(self, step: Callable[[], None]) -> None:
        """Run a step of housekeeping. An error of the machine, as on a full disk, ends nothing: it is tried again."""
        try:
            step()
            return
        except OSError as error:
            refusal = str(error)
        if refusal != self._refusal:
            self._refusal = refusal
            self._warn(f"a part of the housekeeping failed, and is tried again: {refusal}")

    def watch(self) -> None:
        """Restart processes that end, and processes that hang (`patience`), until the stop signal."""
        self.scheduled = self._commands()
        with HealthChecks() as checks:
            while not self.stop_asked.wait(LOOK_SECONDS):
                self._try(self._pause_or_resume)
                now = time.monotonic()
                for watched in self.watched:
                    self._try(partial(self._check, watched, now))
                if self._is_unwritten:
                    self._note()
                self._try(partial(self._look_after, checks, now))
                self._try(partial(self._run_scheduled, time.time()))

    def _look_after(self, checks: HealthChecks, now: float) -> None:
        """Rotate logs, share the processor, and end the processes that hang."""
        running = [watched for watched in self.watched if watched.start_again_at is None]
        is_full = is_machine_full(os.getloadavg()[0], os.cpu_count() or 1)
        for watched in running:
            rotate(watched.child.log)
            watched.child.share_processor(is_full=is_full)
        for watched, reason in checks.look(running, now):
            self._end_hanging(watched, reason, now)

    def _commands(self) -> list[ScheduledCommand]:
        """Return the commands that run from time to time. An external Cassandra is its operators' to look after."""
        home = self.home
        if self.servers_only or "cassandra" in external_servers(self.settings):
            return []
        return [
            ScheduledCommand(
                title, home / mark, partial(riffle_processes.start_command, home, name, *arguments), *seconds
            )
            for title, mark, name, arguments, *seconds in SCHEDULED
        ]

    def _run_scheduled(self, now: float) -> None:
        for command in self.scheduled if self.state.state != PAUSED else ():
            if failure := command.look(now):
                self._warn(failure)

    def _end_hanging(self, watched: Watched, reason: str, now: float) -> None:
        """End a process that must be restarted, unless another one is being restarted: a restart takes CPU time."""
        if any(other.is_restarting(now) for other in self.watched):
            return
        self._warn(f"{watched.server.title} is restarted: {reason}")
        watched.patience.forced += 1
        stop([watched.child], grace_seconds=0)  # its unfinished events are delivered again

    def _pause_or_resume(self) -> None:
        """Stop the workers while a backup wants them stopped, and start them again after it."""
        asked, paused = pause_asked(self.home), self.state.state == PAUSED
        workers = [watched for watched in self.watched if watched.is_worker]
        if asked and not paused:
            for watched in workers:
                watched.pause()
            for name in stop([watched.child for watched in workers], RIFFLE_GRACE_SECONDS):
                self._warn(f"{name} did not end within {RIFFLE_GRACE_SECONDS:.0f} s and was killed")
            self._note(state=PAUSED)
        elif paused and not asked:
            for watched in workers:
                watched.resume(time.monotonic())
            self._note(state="ready")

    def _check(self, watched: Watched, now: float) -> None:
        if watched.start_again_at is None and watched.child.exit_code is not None:
            kill_orphans(watched.child)
            how = exit_words(watched.child.exit_code)
            wait_seconds = watched.ended(now)
            self.report("ended", {"title": watched.server.title, "how": how, "again_in_seconds": wait_seconds})
        elif watched.start_again_at is not None and now >= watched.start_again_at:
            self._start_again(watched, now)

    def _start_again(self, watched: Watched, now: float) -> None:
        try:
            logs, crashed = self.home / "logs", not watched.is_paused
            watched.child = spawn(watched.server, watched.server.prepare(), logs, crashed=crashed)
        except (RiffleError, OSError) as error:
            self._warn(f"{watched.server.title} can't be restarted: {error}")
            watched.ended(now)
            return
        watched.restarted(now)
        self._note()

    def stop(self) -> None:
        """Stop the gateway and the workers first, so that they can finish their events, then the servers."""
        for command in self.scheduled:
            command.stop()
        if self.watched:
            self._note(state="stopping")
        first = [each.child for each in self.watched if isinstance(each.server, riffle_processes.STOPPED_FIRST)]
        servers = [each.child for each in self.watched if not isinstance(each.server, riffle_processes.STOPPED_FIRST)]
        for part, grace_seconds in ((first, RIFFLE_GRACE_SECONDS), (servers, SERVER_GRACE_SECONDS)):
            for name in stop(part, grace_seconds):
                self._warn(f"{name} did not end within {grace_seconds:.0f} s and was killed")
        self.servers.clean()


def check_space(home: Path, needed_bytes: int = NEEDED_BYTES) -> None:
    """Raise StartError if the disk is too full for the servers."""
    free = shutil.disk_usage(home).free
    if free < needed_bytes:
        raise StartError(
            f"only {free / 1e6:,.0f} MB are free on the disk of {home}; the servers need {needed_bytes / 1e6:,.0f} MB. "
            "Free some space, or set RIFFLE_HOME to a folder on another disk"
        )


def main() -> int:
    """Run the detached supervisor. It reports as JSON lines on a file descriptor that `riffle up` reads."""
    parser = argparse.ArgumentParser(prog="python -m streams.local.supervisor")
    parser.add_argument("--report", type=int, required=True, help="file descriptor for the reports")
    parser.add_argument("--servers-only", action="store_true")
    arguments = parser.parse_args()
    report = PipeReport(arguments.report)
    return report.run_and_report(lambda: Supervisor(Settings.load(), report, arguments.servers_only).run())


if __name__ == "__main__":
    raise SystemExit(main())
