"""The command line for a beginner: misspelt commands, help, completion; and the first look of an operator."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from streams.cli import app
from streams.commands.console import EXIT_STATUSES
from streams.commands.stack.status import (
    Row,
    _show_figures,
    health_of,
    proportional_memory,
    read_figures,
    usage,
    waits_for,
)
from streams.doctor import overview
from streams.doctor.overview import Figures, Problem
from streams.local.home import ProcessState
from streams.runtime.lags.stage_lags import Lag
from streams.runtime.worker import EXIT_CONFIGURATION, EXIT_FAILED
from streams.settings import Settings
from tests.unit.doctor.addresses import at_port


@pytest.mark.parametrize(
    ("typed", "status", "shown"),
    [
        ("serach x", 2, "Did you mean `search`?"),
        ("Status", 2, "Did you mean `status`?"),
        ("dead-letter list", 2, "Did you mean `dead-letters`?"),
        ("xyzzy", 2, "`riffle --help` lists them"),
        ("dead-letters lsit", 2, "Did you mean 'list'?"),
        ("--help", 0, "Local stack"),
    ],
)
def test_a_misspelt_command_is_answered_with_what_was_meant(typed: str, status: int, shown: str) -> None:
    result = CliRunner().invoke(app, typed.split())
    assert result.exit_code == status
    assert shown in result.output


COMPLETED = {"riffle cra": "crawl", "riffle dead-letters re": "replay", "riffle crawl --ma": "--max-pages"}
"""Typed words, each with a word that is offered."""


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    """The script that `riffle completion bash` prints, run by bash itself."""
    program = tmp_path / "riffle"
    program.write_text(f"#!{sys.executable}\nfrom streams.cli import main\nmain()\n")
    program.chmod(0o755)
    lines = ['eval "$(riffle completion bash)"']
    for words in COMPLETED:
        lines += [
            f"COMP_WORDS=({words})",
            f"COMP_CWORD={len(words.split()) - 1}",
            "_riffle_completion riffle",
            'echo "${COMPREPLY[@]}"',
        ]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=240, check=False, env=environment
    )
    for offered, printed in zip(COMPLETED.values(), done.stdout.splitlines(), strict=True):
        assert offered in printed.split(), done.stderr


def test_commands_are_completed_without_importing_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell asks at each press of the tab key."""
    monkeypatch.setattr("streams.cli.load_command", None)
    group = get_command(app)
    context = group.make_context("riffle", [], resilient_parsing=True)
    offered = {one.value: one.help for one in group.shell_complete(context, "re")}
    assert {"remove", "replay", "reindex", "restore"} == offered.keys()
    assert all(offered.values()), "each with its line of help"
    assert "--version" in [one.value for one in group.shell_complete(context, "--")]


@pytest.mark.parametrize(
    ("shell", "typed"),
    [("zsh", {"_TYPER_COMPLETE_ARGS": "riffle cra"}),
     ("fish", {"_TYPER_COMPLETE_ARGS": "riffle cra", "_TYPER_COMPLETE_FISH_ACTION": "get-args"})],
)  # fmt: skip
def test_other_shells_ask_the_program_as_their_script_says(shell: str, typed: dict[str, str]) -> None:
    """The variables that the printed script sets, given by hand: a machine may lack these shells."""
    script = CliRunner().invoke(app, ["completion", shell]).stdout
    assert f"_RIFFLE_COMPLETE=complete_{shell}" in script
    assert all(name in script for name in typed)
    environment = {**os.environ, "_RIFFLE_COMPLETE": f"complete_{shell}", **typed}
    command = [sys.executable, "-c", "from streams.cli import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert "crawl" in done.stdout, done.stderr


def test_the_table_of_exit_statuses_has_those_of_workers() -> None:
    assert {EXIT_FAILED, EXIT_CONFIGURATION} <= EXIT_STATUSES.keys()


def test_no_traceback_of_a_driver_comes_before_the_message(tmp_path: Path) -> None:
    environment = {**os.environ, "RIFFLE_HOME": str(tmp_path), "RIFFLE_CASSANDRA__PORT": "1"}
    command = [sys.executable, "-c", "from streams.cli import main; main()", "page", "https://a.test/"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: Cassandra at")
    assert "riffle up" in done.stderr


def lag(stage: str, events: int, lost: int = 0) -> Lag:
    return Lag(stage, "in", events, lost)


@dataclass(frozen=True)
class Process:
    title: str
    health: str = "ok"
    restarts: int = 0
    log: str = "logs/x.log"
    waits_for: str = ""


FIGURES = [
    (Figures(), []),
    (Figures((Process("Kafka"),), (lag("embed", 5),)), []),
    (Figures((Process("Worker", "paused"),)), []),
    (Figures((Process("Kafka", "ended"),)), [Problem("failure", "Kafka: ended", "Read its log: logs/x.log")]),
    (
        Figures((Process("Worker", waits_for="a restore is not finished"),)),
        [Problem("failure", "Worker waits: a restore is not finished", "riffle doctor")],
    ),
    (
        Figures((Process("Worker", restarts=2),), (lag("embed", 0, 3), lag("embed", 0, 4))),
        [
            Problem(
                "failure",
                "Kafka deleted 7 events before embed handled them",
                "Replay the stage before it, and run more workers of embed",
            ),
            Problem("warning", "Worker was restarted 2 times", "Read its log: logs/x.log"),
        ],
    ),
    (
        Figures(letters={("embed", "Late"): 1, ("embed", "Poison"): 8, ("embed", "Odd"): 2}),
        [
            Problem(
                "warning",
                "11 events of embed failed for good (Poison 8, Odd 2)",
                "riffle dead-letters list --stage embed",
            )
        ],
    ),
]


@pytest.mark.parametrize(("figures", "problems"), FIGURES)
def test_what_is_wrong_and_what_to_do(figures: Figures, problems: list[Problem]) -> None:
    assert figures.problems() == problems


def test_waiting_events_are_summed_by_stage() -> None:
    figures = Figures(lags=(lag("embed", 5), lag("embed", 2), lag("index", 0)))
    assert figures.waiting() == {"embed": 7}


@pytest.mark.parametrize(
    ("figures", "shown"),
    [
        (Figures(), "All is well."),
        (Figures(lags=(lag("embed", 5),)), "Nothing is wrong so far. Whether the waiting events become fewer"),
        (Figures(lags=(lag("embed", 5, lost=1),)), "FAIL Kafka deleted 1 events"),
    ],
    ids=["nothing waits", "events wait", "something is wrong"],
)
def test_all_is_well_only_if_nothing_waits(figures: Figures, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One look at the queues does not show whether they grow."""
    _show_figures(figures, figures.problems(), Settings())
    printed = " ".join(capsys.readouterr().out.split())
    assert shown in printed
    assert ("All is well" in printed) == (shown == "All is well.")


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nothing listens, and that nobody else gets."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize(
    ("name", "status", "body", "waits"),
    [
        ("worker", 503, b'{"waiting_for": {"embed": "Triton: away", "index": "Triton: away"}}', "Triton: away"),
        ("worker-embed", 503, b'{"waiting_for": {"a": "b", "c": "d"}}', "b; d"),
        ("worker", 200, b'{"ready": true}', ""),
        ("worker", 503, b'{"ready": false}', ""),
        ("worker", 503, b"[1]", ""),
        ("worker", 404, b"no JSON", ""),
        ("gateway", 503, b'{"waiting_for": {"a": "b"}}', ""),
    ],
)
def test_a_worker_says_what_it_waits_for(name: str, status: int, body: bytes, waits: str) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/readyz"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        health = f"http://127.0.0.1:{server.server_port}/healthz"
        assert waits_for(ProcessState(name, name, 1, 1.0, 1, "x.log", health, 0)) == waits
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "is_paused", "health"), [("worker", True, "paused"), ("worker", False, "ended"), ("kafka", True, "ended")]
)
def test_a_worker_that_a_backup_has_stopped_is_paused(name: str, is_paused: bool, health: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    assert health_of(ProcessState(name, name, ended.pid, 1.0, 1, "x.log"), Settings(), is_paused=is_paused) == health


def test_a_worker_that_does_not_answer_waits_for_nothing_that_is_known(closed_port: int) -> None:
    health = f"http://127.0.0.1:{closed_port}/healthz"
    assert waits_for(ProcessState("worker", "Worker", 1, 1.0, 1, "x.log", health, 0)) == ""


def row_of(name: str) -> Row:
    return Row(name, name, 1, 1, 0, 0.0, 0, "ok", "logs/x.log")


def test_each_server_that_is_away_is_named_with_advice(closed_port: int, tmp_path: Path) -> None:
    """Without processes of a local stack, as in production."""
    problems = read_figures(at_port(closed_port, tmp_path), []).problems()
    assert {problem.level for problem in problems} == {"failure"}
    assert [problem.advice for problem in problems] == [
        f"riffle doctor --only {name}" for name in ("kafka", "cassandra", "qdrant", "triton", "gateway")
    ]
    for title, problem in zip(("Kafka", "Cassandra", "Qdrant", "Triton", "The gateway"), problems, strict=True):
        assert title in problem.what
        assert str(closed_port) in problem.what


def test_processes_of_the_local_stack_are_not_asked_twice(closed_port: int, tmp_path: Path) -> None:
    rows = [row_of(name) for name in ("cassandra", "triton", "gateway")]
    problems = read_figures(at_port(closed_port, tmp_path), rows).problems()
    assert [problem.advice[-6:] for problem in problems] == [" kafka", "qdrant"]


def test_servers_that_accept_connections_and_say_nothing_are_away_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "DEADLINE_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = at_port(silent.getsockname()[1], tmp_path)
        started = time.monotonic()
        problems = overview.find_away(settings)
        assert time.monotonic() - started < 3
    assert [problem.advice.split()[-1] for problem in problems] == ["cassandra", "qdrant", "triton", "gateway"]
    # Two deadlines of one second, which end together on a machine that stood still.
    qdrant = next(problem.what for problem in problems if problem.what.startswith("Qdrant"))
    assert "No answer within 1 s" in qdrant or "timed out" in qdrant


def test_models_inside_of_processes_need_no_server(closed_port: int, tmp_path: Path) -> None:
    settings = at_port(closed_port, tmp_path)
    settings = settings.model_copy(update={"triton": settings.triton.model_copy(update={"url": "inprocess:"})})
    assert "triton" not in {problem.advice.split()[-1] for problem in overview.find_away(settings)}


@pytest.mark.parametrize(("host", "is_asked"), [("127.0.0.1", False), ("gateway.test", True)])
def test_in_production_the_gateway_is_asked_where_its_address_is_known(
    host: str, is_asked: bool, closed_port: int, tmp_path: Path
) -> None:
    settings = at_port(closed_port, tmp_path)
    gateway = settings.gateway.model_copy(update={"host": host})
    settings = settings.model_copy(update={"profile": "production", "gateway": gateway})
    found = overview.find_away(settings, {"cassandra", "qdrant", "triton"})
    assert bool(found) == is_asked


FORKS = """
import os
held = bytearray(b"x" * 64_000_000)
end, kept = os.pipe()
if os.fork():
    print("ready", flush=True)
    input()
else:  # ends with its parent
    os.close(kept)
    os.read(end, 1)
"""


@pytest.mark.parametrize("is_readable", [True, False])
def test_memory_that_processes_share_is_counted_once_where_the_system_tells(
    is_readable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_readable:

        def denied(process: psutil.Process) -> None:
            raise psutil.AccessDenied(process.pid)

        monkeypatch.setattr(psutil.Process, "memory_full_info", denied)
    with subprocess.Popen([sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"ready\n"
        assert usage(parent.pid)[0] > 128_000_000, "each of two processes is said to hold it"
        memory_bytes = proportional_memory(parent.pid)
        parent.communicate(b"\n")
    assert (64_000_000 < memory_bytes < 128_000_000) == is_readable
    assert proportional_memory(parent.pid) == 0, "it has ended"
