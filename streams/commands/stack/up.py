"""`riffle up` and `riffle down`: start and stop the local stack."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.commands.console import command, load_settings, local_home, out
from streams.doctor.searchable_pages import advice_for_index
from streams.errors import StartError, UsageError
from streams.local.child_process import keep_previous
from streams.local.home import StackState, environment_digests, make_home, read_state, running_state
from streams.local.reporting import TerminalReport, read_reports
from streams.servers import server_of
from streams.settings import GatewaySettings, stack_file
from streams.settings.servers import IN_PROCESS

STOP_SECONDS = 75.0
"""Time after which a supervisor that doesn't stop is killed (seconds). Its own graces add up to less."""
LOOK_SECONDS = 5.0
"""Maximum time of the look for pages of earlier versions (seconds)."""

detached: list[subprocess.Popen[bytes]] = []
"""Supervisors that this process started. Python warns about a dropped Popen of a running process, so they are kept."""

Tls = Annotated[
    bool, typer.Option("--tls", help="Servers and gateway require certificates of an authority of this stack.")
]
Triton = Annotated[
    bool, typer.Option("--triton", help="Triton serves the models. Default: workers and gateway run them.")
]


@command
def up(
    servers_only: Annotated[
        bool, typer.Option("--servers-only", help="Only the servers: no worker, no gateway.")
    ] = False,
    web: Annotated[
        Path | None, typer.Option(help="A folder DIR/HOST/path to serve over HTTPS on loopback, for the crawler.")
    ] = None,
    tls: Tls = False,
    triton: Triton = False,
) -> int:
    """Start the local stack: real servers, a worker, and the gateway.

    A server whose address is set (RIFFLE_KAFKA__BOOTSTRAP, RIFFLE_CASSANDRA__HOSTS, RIFFLE_QDRANT__URL,
    RIFFLE_TRITON__URL) is used and not started.

    Examples:

        riffle up
        riffle up --servers-only
        riffle up --web mirror/
        riffle up --tls
        riffle up --triton
    """
    home = local_home()
    if state := running_state(home):
        return _runs_already(state, servers_only, web, tls=tls, triton=triton)
    choose_stack(web, tls=tls, triton=triton)
    load_settings(home=home)  # what is wrong in them is said here, and not in the log of the supervisor
    report = start_detached(home, servers_only)
    _greet(report.settings)
    _advise(home)
    return 0


def choose_stack(web: Path | None, *, tls: bool, triton: bool) -> None:
    """Note in the environment what the stack that is started next has."""
    chosen = {"WEB": str(web.resolve()) if web else "", "TLS": "true" if tls else ""}
    chosen["TRITON"] = "true" if triton else ""
    os.environ.update({f"RIFFLE_LOCAL_{name}": value for name, value in chosen.items() if value})


def check_stack(state: StackState, command: str, *, tls: bool, triton: bool) -> None:
    """Raise UsageError if the running stack has not what a command asks for."""
    if tls and not any("cert_file" in values for values in state.settings.values()):
        raise UsageError(f"a stack runs here without certificates. Run `riffle down`, then `riffle {command} --tls`")
    url = str(state.settings.get(server_of("models").name, {}).get("url", ""))
    if triton and url.startswith(IN_PROCESS):
        raise UsageError(f"a stack runs here without Triton. Run `riffle down`, then `riffle {command} --triton`")


def _runs_already(state: StackState, servers_only: bool, web: Path | None, *, tls: bool, triton: bool) -> int:
    check_stack(state, "up", tls=tls, triton=triton)
    if web and web.resolve() != (state.web and Path(state.web)):
        raise UsageError(
            f"the stack runs already, {f'with the web {state.web}' if state.web else 'without a web'}. "
            f"Run `riffle down`, then `riffle up --web {web}`"
        )
    if state.servers_only and not servers_only:
        raise UsageError(
            "the servers run already, without workers and gateway. Run `riffle down` and `riffle up` again"
        )
    _check_environment(state)
    out.print(f"The stack runs already (process {state.pid}, since {state.started}).")
    _greet(state.settings)
    _advise(local_home())
    return 0


def _check_environment(state: StackState) -> None:
    """Raise UsageError if a setting that is given now is not the one with which the stack was started."""
    if state.environment is None:
        return
    given = environment_digests(os.environ)
    if differing := [name for name, digest in given.items() if state.environment.get(name) != digest]:
        raise UsageError(
            f"the stack runs already, with {'another value of' if len(differing) == 1 else 'other values of'} "
            f"{', '.join(differing)}. To take what is set now: `riffle down`, then `riffle up`"
        )
    if unset := [name for name in state.environment if name not in given]:
        out.print(f"It was started with {', '.join(unset)}, and goes on with it.")


def _advise(home: Path) -> None:
    """Say what to do if searchable pages were made by an earlier version of a stage, or with another model."""
    found = asyncio.run(advice_for_index(load_settings(home=home), LOOK_SECONDS))
    if found:
        out.advise(f"\n{found.says}. {found.advice}")


def _greet(settings: dict[str, dict[str, Any]]) -> None:
    if gateway := settings.get("gateway"):
        out.print(f"\nSearch  {GatewaySettings(**gateway).address}")
        if "ca_file" in gateway:
            person = Path(gateway["ca_file"]).parents[1] / "person" / "person.p12"
            out.print(f"        with the certificate {person} (password: riffle) in the browser")
        out.advise("Next    riffle crawl URL   riffle status   riffle down")
    else:
        out.advise("\nNext    riffle status   riffle worker STAGE   riffle gateway   riffle down")


def start_detached(home: Path, servers_only: bool = False) -> TerminalReport:
    """Start the supervisor as a separate process, and show its progress until all is ready. Raises StartError."""
    with out.status("Starting") as status:
        report = TerminalReport(out, status)
        reading, writing = os.pipe()
        supervisor = _spawn_supervisor(home, servers_only, writing)
        detached.append(supervisor)
        os.close(writing)
        try:
            with os.fdopen(reading) as lines:
                complete = read_reports(lines, report)
        except KeyboardInterrupt:
            supervisor.send_signal(signal.SIGTERM)
            supervisor.wait(STOP_SECONDS)
            raise
    if report.failure:
        supervisor.wait(STOP_SECONDS)
        raise StartError(report.failure)
    if not complete:
        raise StartError(f"the supervisor ended before all was ready. Its log is {supervisor_log(home)}")
    return report


def supervisor_log(home: Path) -> Path:
    """Return the log of the detached supervisor."""
    return home.resolve() / "logs" / "supervisor.log"


def _spawn_supervisor(home: Path, servers_only: bool, descriptor: int) -> subprocess.Popen[bytes]:
    log = supervisor_log(home)
    make_home(home)
    log.parent.mkdir(parents=True, exist_ok=True)
    keep_previous(log)
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


POLL_SECONDS = 0.1


@command
def down(
    clean: Annotated[bool, typer.Option("--clean", help="Also remove the data: the next start is empty.")] = False,
) -> int:
    """Stop the local stack: gateway and workers first, then the servers.

    Examples:

        riffle down
        riffle down --clean
    """
    home = local_home()
    state = read_state(home)
    if state is None:
        out.print(f"No stack runs in {home.resolve()}.")
    else:
        with out.status("Stopping"):
            outcome = stop_stack(home, state)
        out.print(outcome)
    if clean:
        shutil.rmtree(home / "data", ignore_errors=True)
        out.print(f"Removed {home.resolve() / 'data'}.")
    return 0


def stop_stack(home: Path, state: StackState) -> str:
    """Stop the supervisor and its remaining children. Return the outcome as a sentence."""
    started = time.monotonic()
    if state.alive:
        os.kill(state.pid, signal.SIGTERM)
        outcome = "Stopped" if _wait_for_end(state, STOP_SECONDS) else "Killed, because it did not stop by itself,"
        if state.alive:
            os.kill(state.pid, signal.SIGKILL)
            _wait_for_end(state, 5)
    else:
        outcome = "The supervisor was not running any more. Cleaned up"
    for left in [process for process in state.processes if process.alive]:
        os.kill(left.pid, signal.SIGKILL)
        outcome += f", killed {left.title} ({left.pid})"
    stack_file(home).unlink(missing_ok=True)
    for supervisor in detached:
        supervisor.poll()  # reaps it if this process started it: Python warns about a Popen that was never reaped
    return f"{outcome} in {time.monotonic() - started:.1f} s."


def _wait_for_end(state: StackState, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while state.alive and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return not state.alive
