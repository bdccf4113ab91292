"""`riffle up`, `riffle down` and `riffle status`: the local stack from the command line."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer
from rich.table import Table

from streams.commands.console import EXIT_NO, JSON_OPTION, command, err, load_settings, out, print_json
from streams.errors import StartError, UsageError
from streams.local import child_process as children
from streams.local.probing import answers, cassandra_answers, kafka_answers, listens
from streams.local.reporting import TerminalReport, read_reports
from streams.local.server import Cancelled
from streams.local.state import ProcessState, StackState, is_alive, read_state, running_state
from streams.settings import Settings, stack_file

STOP_SECONDS = 75.0
"""Until a supervisor that doesn't stop is killed; its own graces add up to less."""
POLL_SECONDS = 0.1

_detached: list[subprocess.Popen[bytes]] = []
"""Supervisors that this process started: kept, since a Popen that is dropped while its process runs is a warning."""


@command
def up(
    servers_only: Annotated[
        bool, typer.Option("--servers-only", help="Kafka, Cassandra, Triton and Qdrant alone: no workers, no gateway.")
    ] = False,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay attached, and stop everything on Ctrl-C.")
    ] = False,
    web: Annotated[
        Path | None,
        typer.Option(help="A folder DIR/HOST/path to serve over HTTPS, for the crawler to find on loopback."),
    ] = None,
) -> int:
    """Start the local stack: real servers, a worker for each stage, and the gateway.

    Examples:

        riffle up
        riffle up --servers-only
        riffle up --web mirror/
    """
    home = _local_home()
    if state := running_state(home):
        return _already(state, servers_only, web)
    if web:
        os.environ["RIFFLE_LOCAL_WEB"] = str(web.resolve())
    settings = load_settings(home=home)
    if foreground:
        return _up_here(settings, servers_only)
    report = start_detached(home, servers_only)
    _greet(report.settings)
    return 0


def _local_home() -> Path:
    """The home, before settings are read: a stale state file must not lend them its addresses."""
    if os.environ.get("RIFFLE_PROFILE") == "production":
        raise UsageError("RIFFLE_PROFILE is production, and the local stack is for the local profile. Unset it")
    return Path(os.environ.get("RIFFLE_HOME", ".riffle"))


def _already(state: StackState, servers_only: bool, web: Path | None) -> int:
    if web:
        raise UsageError(
            f"the stack runs already, with what it was started with. Run `riffle down`, then `riffle up --web {web}`"
        )
    if state.servers_only and not servers_only:
        raise UsageError(
            "the servers run already, without workers and gateway. Run `riffle down` and `riffle up` again"
        )
    out.print(f"The stack runs already (process {state.pid}, since {state.started}).", highlight=False)
    _greet(state.settings)
    return 0


def _greet(settings: dict[str, dict[str, Any]]) -> None:
    if gateway := settings.get("gateway"):
        out.print(f"\nSearch  http://127.0.0.1:{gateway['port']}", highlight=False)
        out.print("Next    riffle crawl URL   riffle status   riffle down", highlight=False)
    else:
        out.print("\nNext    riffle status   riffle worker STAGE   riffle gateway   riffle down", highlight=False)


def _up_here(settings: Settings, servers_only: bool) -> int:
    from streams.local.supervisor import Supervisor

    class Report(TerminalReport):
        def __call__(self, what: str, details: dict[str, Any]) -> None:
            super().__call__(what, details)
            if what == "up":
                _greet(self.settings)
                out.print("Ctrl-C stops it.", highlight=False)

    try:
        Supervisor(settings, Report(out), servers_only).run()
    except Cancelled:
        err.print("The start was interrupted; nothing is left running.")
        return EXIT_NO
    out.print("Stopped.")
    return 0


def start_detached(home: Path, servers_only: bool = False) -> TerminalReport:
    """Start the supervisor as a process of its own and tell its progress until all is ready. Raises StartError."""
    with out.status("Starting") as status:
        report = TerminalReport(out, status)
        reading, writing = os.pipe()
        supervisor = _spawn_supervisor(home, servers_only, writing)
        _detached.append(supervisor)
        os.close(writing)
        try:
            with os.fdopen(reading) as lines:
                told = read_reports(lines, report)
        except KeyboardInterrupt:
            supervisor.send_signal(signal.SIGTERM)
            supervisor.wait(STOP_SECONDS)
            raise
    if report.failure:
        supervisor.wait(STOP_SECONDS)
        raise StartError(report.failure)
    if not told:
        raise StartError(f"the supervisor ended before all was ready. Its log is {supervisor_log(home)}")
    return report


def supervisor_log(home: Path) -> Path:
    return home.resolve() / "logs" / "supervisor.log"


def _spawn_supervisor(home: Path, servers_only: bool, descriptor: int) -> subprocess.Popen[bytes]:
    log = supervisor_log(home)
    log.parent.mkdir(parents=True, exist_ok=True)
    children.keep_previous(log)
    command = [sys.executable, "-m", "streams.local.supervisor", "--report", str(descriptor)]
    with log.open("wb") as output:
        return subprocess.Popen(  # noqa: S603
            [*command, "--servers-only"] if servers_only else command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "RIFFLE_HOME": str(home.resolve())},
            pass_fds=(descriptor,),
            start_new_session=True,  # it outlives this terminal
        )


@command
def down(
    clean: Annotated[bool, typer.Option("--clean", help="Remove the data too: the next start is empty.")] = False,
) -> int:
    """Stop the local stack: gateway and workers first, then the servers.

    Examples:

        riffle down
        riffle down --clean
    """
    home = _local_home()
    state = read_state(home)
    if state is None:
        out.print(f"No stack of {home.resolve()} runs.", highlight=False)
    else:
        with out.status("Stopping"):
            how = stop_stack(home, state)
        out.print(how, highlight=False)
    if clean:
        shutil.rmtree(home / "data", ignore_errors=True)
        out.print(f"Removed {home.resolve() / 'data'}.", highlight=False)
    return 0


def stop_stack(home: Path, state: StackState) -> str:
    """Stop the supervisor and whatever is left of its children. Returns what happened, in a sentence."""
    begun = time.monotonic()
    if state.alive:
        os.kill(state.pid, signal.SIGTERM)
        how = "Stopped" if _gone(state, STOP_SECONDS) else "Killed, since it did not stop when it was asked to,"
        if state.alive:
            os.kill(state.pid, signal.SIGKILL)
            _gone(state, 5)
    else:
        how = "It had been killed before; cleaned up"
    for left in [process for process in state.processes if process.alive]:
        os.kill(left.pid, signal.SIGKILL)
        how += f", killed {left.title} ({left.pid})"
    stack_file(home).unlink(missing_ok=True)
    return f"{how} in {time.monotonic() - begun:.1f} s."


def _gone(state: StackState, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while state.alive and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return not state.alive


@dataclass(frozen=True, slots=True)
class Row:
    """One process of the stack as it is now."""

    name: str
    title: str
    pid: int
    port: int
    memory_bytes: int
    """Resident, with its own child processes."""
    cpu_seconds: float
    restarts: int
    health: str
    log: str


@command
def status(as_json: Annotated[bool, JSON_OPTION] = False) -> int:
    """Show what runs: process, port, memory, CPU time, health.

    Examples:

        riffle status
        riffle status --json
    """
    home = _local_home()
    state = running_state(home)
    rows = [_row(process) for process in state.processes] if state else []
    well = bool(rows) and all(row.health == "ok" for row in rows)
    if as_json:
        print_json({"running": state is not None, "well": well, **(_head(state) if state else {}), "processes": rows})
    elif state is None:
        out.print(f"No stack of {home.resolve()} runs. Start it with `riffle up`.", highlight=False)
    else:
        _show(state, rows)
    return 0 if well else EXIT_NO


def _head(state: StackState) -> dict[str, Any]:
    return {"pid": state.pid, "started": state.started, "state": state.state, "settings": state.settings}


def _row(process: ProcessState) -> Row:
    memory_bytes, cpu_seconds = usage(process.pid)
    return Row(
        name=process.name,
        title=process.title,
        pid=process.pid,
        port=process.port,
        memory_bytes=memory_bytes,
        cpu_seconds=round(cpu_seconds, 1),
        restarts=process.restarts,
        health=health_of(process),
        log=process.log,
    )


def usage(pid: int) -> tuple[int, float]:
    """Resident bytes and CPU seconds of a process and its children. Zeros when it's gone."""
    memory_bytes, cpu_seconds = 0, 0.0
    try:
        process = psutil.Process(pid)
        for part in [process, *process.children(recursive=True)]:
            with part.oneshot():
                memory_bytes += part.memory_info().rss
                times = part.cpu_times()
                cpu_seconds += times.user + times.system
    except psutil.NoSuchProcess:
        pass  # it ended while we looked: what was counted so far is what there is
    return memory_bytes, cpu_seconds


def health_of(process: ProcessState) -> str:
    """ "ok", or what is the matter."""
    if not is_alive(process.pid, process.create_time):
        return "ended"
    match process.name:
        case "kafka":
            well = kafka_answers(f"127.0.0.1:{process.port}")
        case "cassandra":
            well = cassandra_answers(process.port)
        case "web":
            well = listens(process.port)
        case _:
            well = answers(process.health)
    return "ok" if well else "no answer"


def _show(state: StackState, rows: list[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("process", "pid", "port", "memory", "CPU", "restarts", "health"):
        table.add_column(heading, justify="left" if heading in ("process", "health") else "right")
    for row in rows:
        colour = "green" if row.health == "ok" else "red"
        memory, cpu = f"{row.memory_bytes / 1e6:,.0f} MB", f"{row.cpu_seconds:,.1f} s"
        table.add_row(
            row.title, str(row.pid), str(row.port), memory, cpu, str(row.restarts), f"[{colour}]{row.health}[/]"
        )
    out.print(table)
    total = sum(row.memory_bytes for row in rows)
    out.print(
        f"\n{state.state}, since {state.started}; {total / 1e9:.2f} GB in all; logs in {Path(rows[0].log).parent}"
    )
