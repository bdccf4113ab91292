"""`riffle up`: start the local stack."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.commands.console import EXIT_INTERRUPTED, command, err, load_settings, local_home, out
from streams.errors import StartError, UsageError
from streams.local.child_process import keep_previous
from streams.local.reporting import TerminalReport, read_reports
from streams.local.servers.server import Cancelled
from streams.local.state import StackState, make_home, running_state
from streams.models.opening import IN_PROCESS
from streams.servers import server_of
from streams.settings import GatewaySettings, Settings

STOP_SECONDS = 75.0
"""Time after which a supervisor that doesn't stop is killed (seconds). Its own graces add up to less."""

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
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay in the foreground. Ctrl-C stops everything.")
    ] = False,
    web: Annotated[
        Path | None,
        typer.Option(help="A folder DIR/HOST/path to serve over HTTPS on loopback, for the crawler."),
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
    if web:
        os.environ["RIFFLE_LOCAL_WEB"] = str(web.resolve())
    if tls:
        os.environ["RIFFLE_LOCAL_TLS"] = "true"
    if triton:
        os.environ["RIFFLE_LOCAL_TRITON"] = "true"
    settings = load_settings(home=home)
    if foreground:
        return _run_here(settings, servers_only)
    report = start_detached(home, servers_only)
    _greet(report.settings)
    return 0


def _runs_already(state: StackState, servers_only: bool, web: Path | None, *, tls: bool, triton: bool) -> int:
    if tls and not requires_certificates(state):
        raise UsageError("the stack runs already, without certificates. Run `riffle down`, then `riffle up --tls`")
    if triton and runs_in_process(state):
        raise UsageError("the stack runs already, without Triton. Run `riffle down`, then `riffle up --triton`")
    if web:
        raise UsageError(f"the stack runs already, without this web. Run `riffle down`, then `riffle up --web {web}`")
    if state.servers_only and not servers_only:
        raise UsageError(
            "the servers run already, without workers and gateway. Run `riffle down` and `riffle up` again"
        )
    out.print(f"The stack runs already (process {state.pid}, since {state.started}).", highlight=False)
    _greet(state.settings)
    return 0


def requires_certificates(state: StackState) -> bool:
    """Return True if the running stack was started with `--tls`."""
    return any("cert_file" in values for values in state.settings.values())


def runs_in_process(state: StackState) -> bool:
    """Return True if the models of the running stack run inside its processes."""
    return str(state.settings.get(server_of("models").name, {}).get("url", "")).startswith(IN_PROCESS)


def _greet(settings: dict[str, dict[str, Any]]) -> None:
    if gateway := settings.get("gateway"):
        out.print(f"\nSearch  {GatewaySettings(**gateway).address}", highlight=False)
        if "client_ca_file" in gateway:
            person = Path(gateway["client_cert_file"]).parents[1] / "person" / "person.p12"
            out.print(f"        with the certificate {person} (password: riffle) in the browser", highlight=False)
        out.advise("Next    riffle crawl URL   riffle status   riffle down", highlight=False)
    else:
        out.advise("\nNext    riffle status   riffle worker STAGE   riffle gateway   riffle down", highlight=False)


def _run_here(settings: Settings, servers_only: bool) -> int:
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
        err.print("The start was interrupted. All processes were stopped.")
        return EXIT_INTERRUPTED
    out.print("Stopped.")
    return 0


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
