"""Starting servers side by side: all of them, or none and a message that helps."""

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from streams.errors import StartError
from streams.local.child_process import Launch, stop
from streams.local.ports import free_ports
from streams.local.probing import listens
from streams.local.servers import server as starting
from streams.local.servers.server import MAX_CRASHES, START_CPU_SECONDS, Cancelled, Hints, start_all
from streams.local.servers.triton import Triton, why_not
from tests.child_processes import niceness_above_own

LISTEN = "import socket, sys, signal; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); signal.pause()"
SILENT = "import signal; signal.pause()"
FULL = "print('starting'); raise OSError(28, 'No space left on device')"


@dataclass
class Program:
    """A server that is a line of Python."""

    code: str
    name: str = "thing"
    hints: Hints = ()
    ready_timeout_seconds: float = 30.0
    health: str = ""
    port: int = field(default_factory=lambda: free_ports(1)[0])
    nice: int = 0

    @property
    def title(self) -> str:
        return self.name.title()

    def prepare(self) -> Launch:
        return Launch([sys.executable, "-c", self.code, str(self.port)], nice=self.nice)

    def is_ready(self) -> bool:
        return listens(self.port)


class Reports(list[tuple[str, dict[str, Any]]]):
    def __call__(self, what: str, details: dict[str, Any]) -> None:
        self.append((what, details))

    def pids(self) -> list[int]:
        return [details["pid"] for what, details in self if what == "starting"]


def test_all_are_ready_when_it_returns(tmp_path: Path) -> None:
    servers, reports = [Program(LISTEN, "one"), Program(LISTEN, "two")], Reports()

    running = start_all(servers, tmp_path, reports)

    assert all(listens(server.port) for server in servers)
    assert sorted(details["name"] for what, details in reports if what == "ready") == ["one", "two"]
    stop(running, grace_seconds=0)


@dataclass
class Late:
    """A server that listens when it is let, however slow the machine is."""

    folder: Path

    def __post_init__(self) -> None:
        begin = f"import os, time\nwhile not os.path.exists({str(self.folder / 'begin')!r}): time.sleep(0.02)\n"
        self.server = Program(begin + LISTEN, ready_timeout_seconds=0.2)

    def listen(self) -> None:
        (self.folder / "begin").touch()
        while not listens(self.server.port):
            time.sleep(0.02)


def test_a_start_takes_as_long_as_it_needs_while_it_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late, used = Late(tmp_path), 0.0

    def compute(_pid: int) -> float:
        """Return the CPU time of a server that computes all the time, and listens after its third deadline."""
        nonlocal used
        used += 2 * START_CPU_SECONDS
        if used > 5 * START_CPU_SECONDS:
            late.listen()
        return used

    monkeypatch.setattr(starting, "family_cpu_seconds", compute)
    stop(start_all([late.server], tmp_path, Reports()), grace_seconds=0)


@pytest.mark.parametrize(("idle", "starts"), [(0.0, True), (0.9, False)])
def test_a_process_that_waits_for_another_one_has_time_on_a_busy_machine(
    idle: float, starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker waited six minutes for a Kafka that was starved, used no CPU time, and was given up."""
    late, looks = Late(tmp_path), 0

    def look() -> float:
        nonlocal looks
        looks += 1
        if looks == 5:
            late.listen()
        return idle

    monkeypatch.setattr(starting, "family_cpu_seconds", lambda _pid: 0.0)
    monkeypatch.setattr(starting, "idle_share", look)
    if starts:
        stop(start_all([late.server], tmp_path, Reports()), grace_seconds=0)
    else:
        with pytest.raises(StartError, match="did not answer on port"):
            start_all([late.server], tmp_path, Reports())


def test_a_server_yields_the_processor_once_it_is_ready(tmp_path: Path) -> None:
    # A nice process takes minutes to start beside other work, more than a start may last.
    before: list[int] = []
    own, nicer, reports = os.nice(0), niceness_above_own(), Reports()

    class Watched(Program):
        def is_ready(self) -> bool:
            before.extend(os.getpriority(os.PRIO_PROCESS, pid) for pid in reports.pids())
            return super().is_ready()

    running = start_all([Watched(LISTEN, nice=nicer)], tmp_path, reports)

    assert set(before) == {own}
    assert os.getpriority(os.PRIO_PROCESS, running[0].pid) == nicer
    stop(running, grace_seconds=0)


@pytest.mark.parametrize(
    ("server", "says"),
    [
        pytest.param(Program(FULL), "Thing ended (exit code 1).\nThe disk is full: free some space", id="no space"),
        pytest.param(
            Program("raise SystemExit('my own trouble')", hints=[("own trouble", "Do this.")]),
            "Thing ended (exit code 1).\nDo this.\nThe last lines of its log",
            id="a hint of its own",
        ),
        pytest.param(
            Program("import os; os.kill(os.getpid(), 9)"),
            "Thing ended (signal 9).\nThe last lines of its log",
            id="killed, and no hint",
        ),
        pytest.param(Program(SILENT, ready_timeout_seconds=0.5), "did not answer on port", id="silent"),
    ],
)
def test_one_that_does_not_start_says_what_and_what_to_do(tmp_path: Path, server: Program, says: str) -> None:
    with pytest.raises(StartError) as raised:
        start_all([server], tmp_path, Reports())

    assert says in str(raised.value)
    assert str(tmp_path / "thing.log") in str(raised.value)


CRASHES = """import os
with open(%r, "a+") as tries:
    tries.write("x")
    if tries.tell() <= %d:
        tries.flush()
        os.abort()
"""


@pytest.mark.parametrize(("crashes", "starts"), [(1, 2), (MAX_CRASHES, MAX_CRASHES + 1)])
def test_one_that_crashes_while_it_starts_is_started_again(tmp_path: Path, crashes: int, starts: int) -> None:
    tries, reports = tmp_path / "tries", Reports()
    server = Program(CRASHES % (str(tries), crashes) + LISTEN)

    (child,) = start_all([server], tmp_path / "logs", reports)

    assert (listens(server.port), len(reports.pids())) == (True, starts)
    assert child.pid == reports.pids()[-1]
    stop([child], grace_seconds=0)


def test_one_that_crashes_at_each_start_fails_in_the_end(tmp_path: Path) -> None:
    reports = Reports()
    with pytest.raises(StartError, match="signal 6"):
        start_all([Program("import os; os.abort()")], tmp_path, reports)
    assert len(reports.pids()) == MAX_CRASHES + 1


def test_the_message_quotes_the_log(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"\n    OSError: \[Errno 28\] No space left on device"):
        start_all([Program(FULL)], tmp_path, Reports())


def test_a_taken_port_says_so(tmp_path: Path) -> None:
    first, second = Program(LISTEN, "first"), Program(LISTEN, "second")
    second.port = first.port
    running = start_all([first], tmp_path, Reports())

    with pytest.raises(StartError, match="Another process took the port"):
        start_all([Never(second)], tmp_path, Reports())
    stop(running, grace_seconds=0)


class Never(Program):
    """Looks for no answer, since another one would answer."""

    def __init__(self, server: Program) -> None:
        super().__init__(server.code, server.name, port=server.port)

    def is_ready(self) -> bool:
        return False


def test_when_one_does_not_start_none_stays(tmp_path: Path) -> None:
    reports = Reports()

    with pytest.raises(StartError):
        start_all([Program(LISTEN, "good"), Program(FULL, "bad")], tmp_path, reports)

    assert not any(psutil.pid_exists(pid) for pid in reports.pids())


def test_a_start_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    reports, cancelled = Reports(), threading.Event()

    def report(what: str, details: dict[str, Any]) -> None:
        reports(what, details)
        if what == "starting":
            cancelled.set()

    with pytest.raises(Cancelled):
        start_all([Program(SILENT)], tmp_path, report, cancelled)

    assert reports.pids()
    assert not any(psutil.pid_exists(pid) for pid in reports.pids())


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_the_local_triton_speaks_only_grpc(tmp_path: Path) -> None:
    """A page in a browser of this machine could send requests over HTTP, but none over gRPC."""
    triton = Triton(tmp_path / "data" / "triton", tmp_path)
    triton.data.mkdir(parents=True)
    command = triton.prepare().command
    assert "--allow-http=false" in command
    assert "--grpc-address=127.0.0.1" in command


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_triton_is_started_again_while_a_killed_model_process_still_runs(tmp_path: Path) -> None:
    """On a busy machine a killed process takes its time to end, and Linux lets nobody write to its program."""
    triton = Triton(tmp_path / "data" / "triton", tmp_path)
    triton.data.mkdir(parents=True)
    programs = [Path(word) for word in triton.prepare().command[:1]]
    programs += [*(triton.data / "backends").rglob("triton_python_backend_stub")]
    assert len(programs) == 2
    for program in programs:
        program.unlink()
        shutil.copyfile("/bin/sleep", program)
        program.chmod(0o755)
    running = [subprocess.Popen([program, "60"]) for program in programs]
    try:
        triton.prepare()
        assert [process.poll() for process in running] == [None, None]
    finally:
        for process in running:
            process.kill()
            process.wait()
