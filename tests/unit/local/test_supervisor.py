"""When the supervisor restarts a process: what was seen of it over time, without a clock; and real processes."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import StartError
from streams.local.child_process import Child, Launch, stop
from streams.local.home import read_state
from streams.local.ports import free_ports
from streams.local.riffle_processes import RiffleProcess
from streams.local.servers.server import BUSY_WEIGHT, Answer, spawn
from streams.local.servers.triton import Triton
from streams.local.supervision.health_checks import HealthChecks, ask
from streams.local.supervision.watched import (
    BACKOFF_SECONDS,
    CLOSED_SECONDS,
    QUIET_SECONDS,
    REFUSALS,
    SERVER_SPIN_CPU_SECONDS,
    SPIN_CPU_SECONDS,
    STEADY_RUN_SECONDS,
    STEADY_SECONDS,
    Patience,
    Watched,
)
from streams.local.supervisor import Supervisor
from streams.settings import Settings, stack_file
from tests.child_processes import niceness_above_own

SLEEP = "import time; time.sleep(60)"
SERVER: Any = SimpleNamespace(ready_timeout_seconds=180.0, name="worker-fetch", title="Worker fetch")
CHILD: Any = SimpleNamespace(exit_code=None)
EVERY_SECONDS = 10.0
IDLE, BUSY = 0.9, 0.0


def first_restart(
    patience: Patience, answers: list[Answer], *, cpu_share: float, idle_share: float, begin: float = 0.0
) -> int | None:
    """The number of the check after which the process is restarted, from 0. None: never."""
    for number, answer in enumerate(answers):
        now = begin + EVERY_SECONDS * (number + 1)
        if patience.check(answer, cpu_seconds=cpu_share * (now - begin), idle_share=idle_share, now=now):
            return number
    return None


HOUR = int(3600 / EVERY_SECONDS)
STILL = int(QUIET_SECONDS / EVERY_SECONDS)
SPUN = int(SPIN_CPU_SECONDS / EVERY_SECONDS)
CLOSED = int(CLOSED_SECONDS / EVERY_SECONDS)


def test_the_patience_with_a_process_is_half_an_hour_on_a_busy_machine() -> None:
    """The times that docs/concepts/reliability.md promises."""
    assert (REFUSALS, SPIN_CPU_SECONDS, SERVER_SPIN_CPU_SECONDS) == (3, 300.0, 1_800.0)
    assert (QUIET_SECONDS, QUIET_SECONDS / BUSY_WEIGHT, CLOSED_SECONDS) == (180.0, 1_800.0, 60.0)


@pytest.mark.parametrize(
    ("answers", "cpu_share", "idle_share", "restart_at"),
    [
        # (what it answered, the share of a processor that it used, the idle share of the machine, the check)
        pytest.param(["silent"] * 3, 0.3, BUSY, None, id="late three times on a busy machine"),
        pytest.param(["silent"] * HOUR, 0.06, BUSY, None, id="an hour late, starved to some percent"),
        pytest.param(["silent"] * STILL, 0.0, BUSY, None, id="it got no processor for minutes"),
        pytest.param(["silent", "silent", "healthy"] * HOUR, 1.0, BUSY, None, id="it answers now and then"),
        pytest.param(["silent"] * HOUR, 0.0, IDLE, STILL, id="stopped, on an idle machine"),
        pytest.param(["silent"] * HOUR, 0.0, BUSY, int(STILL / BUSY_WEIGHT), id="stopped, on a busy machine"),
        pytest.param(["silent"] * HOUR, 1.0, BUSY, SPUN, id="an endless loop"),
        pytest.param(["unhealthy"] * REFUSALS, 0.3, BUSY, REFUSALS - 1, id="it says so several times"),
        pytest.param(["unhealthy", "unhealthy", "healthy"] * HOUR, 0.3, BUSY, None, id="it recovers"),
        pytest.param(["healthy", "broken"], 0.3, BUSY, 1, id="it can't go on"),
        pytest.param(["healthy", *["closed"] * HOUR], 0.3, BUSY, CLOSED, id="its threads go on after its end"),
        pytest.param(["healthy", *["closed"] * (CLOSED - 1)], 0.3, BUSY, None, id="it is ending"),
        pytest.param(["closed", "closed", "silent"] * 9, 0.3, BUSY, None, id="its port is there again"),
    ],
)
def test_a_process_that_hangs_is_restarted_and_a_slow_one_never(
    answers: list[Answer], cpu_share: float, idle_share: float, restart_at: int | None
) -> None:
    found = first_restart(Patience(180.0), answers, cpu_share=cpu_share, idle_share=idle_share)
    assert found == restart_at


@given(
    st.lists(st.tuples(st.sampled_from(["silent", "healthy"]), st.floats(0.051, 3.0)), max_size=200),
)
def test_no_silence_of_a_process_that_gets_on_slowly_restarts_it(checks: list[tuple[Answer, float]]) -> None:
    """Within the CPU time of an endless loop, whatever the clock says."""
    patience, now, used = Patience(180.0), 0.0, 0.0
    for answer, share in checks:
        now, used = now + EVERY_SECONDS, used + share * EVERY_SECONDS
        if used >= SPIN_CPU_SECONDS:
            return
        assert not patience.check(answer, cpu_seconds=used, idle_share=BUSY, now=now)


def test_a_start_is_not_silence_and_a_start_that_hangs_ends() -> None:
    patience = Patience(start_seconds=180.0)
    patience.restarted(now=0.0)
    at = first_restart(patience, ["silent"] * HOUR, cpu_share=0.0, idle_share=IDLE)
    assert at is not None
    assert (at + 2) * EVERY_SECONDS >= 180.0 + QUIET_SECONDS
    none_yet: list[Answer] = ["silent", "closed"]
    for answer in none_yet:
        patience.restarted(now=0.0)
        assert first_restart(patience, [answer] * HOUR, cpu_share=1.0, idle_share=BUSY) is None, "it computes"


def test_a_pause_of_the_whole_machine_is_no_silence() -> None:
    patience = Patience(180.0)
    patience.check("healthy", cpu_seconds=1.0, idle_share=IDLE, now=0.0)
    assert not patience.check("silent", cpu_seconds=1.0, idle_share=IDLE, now=100_000.0)


def test_each_forced_restart_doubles_the_patience_until_it_ran_well() -> None:
    patience = Patience(180.0, forced=2)
    answers: list[Answer] = ["unhealthy"] * HOUR
    assert first_restart(patience, answers, cpu_share=0.0, idle_share=IDLE) == 4 * REFUSALS - 1
    patience.restarted(now=0.0)
    well: list[Answer] = ["healthy"] * (int(STEADY_SECONDS / EVERY_SECONDS) + 1)
    assert first_restart(patience, well, cpu_share=0.0, idle_share=IDLE) is None
    assert patience.forced == 0


def test_each_restart_waits_longer_up_to_a_limit() -> None:
    watched = Watched(SERVER, CHILD, started_at=0.0)
    waits = [watched.ended(now=1.0) for _ in range(len(BACKOFF_SECONDS) + 1)]
    assert waits == [*BACKOFF_SECONDS, BACKOFF_SECONDS[-1]]


def test_after_a_steady_run_it_starts_again_at_once() -> None:
    watched = Watched(SERVER, CHILD, started_at=0.0, failures=5)
    assert watched.ended(now=STEADY_RUN_SECONDS + 1) == BACKOFF_SECONDS[0]


def test_a_pause_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backups pause the workers: their stops must not take the places of the logs of crashes, nor count as restarts."""
    asked: list[bool] = []
    monkeypatch.setattr("streams.local.supervisor.pause_asked", lambda _: asked[-1])
    launches = iter(["paused", "paused again", "crashed"])
    server: Any = SimpleNamespace(ready_timeout_seconds=1.0, name="worker", title="Worker", port=0)
    server.prepare = lambda: Launch([sys.executable, "-c", f"print({next(launches)!r}, flush=True); {SLEEP}"])
    watched = Watched(server, spawn(server, server.prepare(), tmp_path / "logs"), time.monotonic())
    log, warnings = watched.child.log, list[str]()
    supervisor: Any = SimpleNamespace(
        home=tmp_path, watched=[watched], state=SimpleNamespace(state="ready"), _warn=warnings.append
    )
    supervisor._note = lambda state="ready": setattr(supervisor.state, "state", state)
    supervisor._start_again = lambda one, now: Supervisor._start_again(supervisor, one, now)

    def until_started_again(former: Child) -> None:
        deadline = time.monotonic() + 60.0
        while watched.child is former:
            assert time.monotonic() < deadline
            Supervisor._check(supervisor, watched, math.inf)
        until(lambda: log.read_text() != "")

    try:
        for _ in range(2):
            until(lambda: log.read_text() != "")
            former = watched.child
            asked.append(True)
            Supervisor._pause_or_resume(supervisor)
            Supervisor._check(supervisor, watched, time.monotonic())
            assert watched.child is former, "it stays away during the pause"
            asked.append(False)
            Supervisor._pause_or_resume(supervisor)
            until_started_again(former)
        assert (watched.restarts, sorted(tmp_path.glob("logs/*.crash-*"))) == (0, [])
        supervisor.report = lambda *_: None
        former = watched.child
        former.process.kill()
        former.process.wait()
        launches = iter(["after the crash"])
        until_started_again(former)
        assert watched.restarts == 1
        assert [path.read_text() for path in tmp_path.glob("logs/*.crash-*")] == ["crashed\n"]
    finally:
        stop([watched.child], grace_seconds=0)
    assert warnings == []


def test_one_hanging_process_is_ended_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Any] = []
    monkeypatch.setattr("streams.local.supervisor.stop", lambda children, grace_seconds: ended.extend(children))
    first, second = (Watched(SERVER, SimpleNamespace(exit_code=None), 0.0) for _ in range(2))  # type: ignore[arg-type]  # only its exit status is asked
    warnings: list[str] = []
    supervisor: Any = SimpleNamespace(watched=[first, second], _warn=warnings.append)
    first.child.exit_code = -9  # type: ignore[misc]  # as above
    Supervisor._end_hanging(supervisor, second, "it hangs", 10.0)
    first.child.exit_code = None  # type: ignore[misc]  # as above
    first.restarted(10.0)
    Supervisor._end_hanging(supervisor, second, "it hangs", 20.0)
    assert ended == [], "the first one ends, or starts"
    first.patience.check("healthy", cpu_seconds=1.0, idle_share=IDLE, now=30.0)
    Supervisor._end_hanging(supervisor, second, "it hangs", 30.0)
    assert ended == [second.child]
    assert warnings == ["Worker fetch is restarted: it hangs"]


HEALTH = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response({status}); self.end_headers()
HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""


@pytest.mark.parametrize(
    ("status", "how", "expected"),
    [
        (200, None, "healthy"),
        (503, None, "unhealthy"),
        (500, None, "healthy"),  # it answers
        (200, signal.SIGSTOP, "silent"),
        (200, signal.SIGKILL, "closed"),
    ],
)
def test_a_process_is_asked_without_waiting_for_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, how: signal.Signals | None, expected: Answer
) -> None:
    monkeypatch.setattr("streams.local.supervision.health_checks.HEALTH_SECONDS", 0.5)
    monkeypatch.setattr("streams.local.supervision.health_checks.CHECK_SECONDS", 0.0)
    (port,) = free_ports(1)
    server = RiffleProcess("worker-x", "Worker x", port, (), tmp_path)
    child = Child("x", Launch([sys.executable, "-c", HEALTH.format(status=status, port=port)]), tmp_path / "x.log")
    watched = Watched(server, child, 0.0)
    watched.patience = Patience(180.0)
    seen = noted_answers(monkeypatch)
    try:
        with HealthChecks() as checks:
            until(lambda: look(checks, watched) and seen[-1:] not in ([], ["silent"], ["closed"]))  # it listens
            if how:
                os.kill(child.pid, how)
            seen.clear()
            until(lambda: look(checks, watched) and expected in seen)
    finally:
        stop([child], grace_seconds=0)


STARTING = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        waits = self.path == "/readyz" and not Path({mark!r}).exists()
        self.send_response(503 if waits else 200); self.end_headers()
HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""


def test_a_restarted_worker_is_nice_once_it_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers healthy from the begin of its start on. If it were nice then, the start would take minutes."""
    monkeypatch.setattr("streams.local.supervision.health_checks.CHECK_SECONDS", 0.0)
    (port,), mark, nicer = free_ports(1), tmp_path / "started", niceness_above_own()
    server = RiffleProcess("worker-x", "Worker x", port, (), tmp_path)
    code = STARTING.format(mark=str(mark), port=port)
    child = Child("x", Launch([sys.executable, "-c", code], nice=nicer), tmp_path / "x.log")
    watched, seen = Watched(server, child, 0.0), noted_answers(monkeypatch)
    try:
        with HealthChecks() as checks:
            until(lambda: look(checks, watched) and seen.count("healthy") > 1)
            assert os.getpriority(os.PRIO_PROCESS, child.pid) == os.nice(0)
            mark.touch()
            until(lambda: look(checks, watched) and os.getpriority(os.PRIO_PROCESS, child.pid) == nicer)
            assert not child.will_be_nice
    finally:
        stop([child], grace_seconds=0)


def noted_answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """Return a list to which each judged answer is added. None of them leads to a restart."""
    seen: list[Answer] = []

    def note(_: Patience, answer: Answer, **__: float) -> str:
        seen.append(answer)
        return ""

    monkeypatch.setattr(Patience, "check", note)
    return seen


def look(checks: HealthChecks, watched: Watched) -> bool:
    begun = time.monotonic()
    checks.look([watched], begun)
    assert time.monotonic() - begun < 5.0
    return True


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("is_ready", "expected"),
    [
        (lambda: True, "healthy"),
        (lambda: False, "silent"),  # it hangs, or has not started
        (lambda: _raise(StartError("a table is missing")), "silent"),  # a later check may find it otherwise
    ],
)
def test_a_server_is_asked_in_its_own_protocol(is_ready: Callable[[], bool], expected: Answer) -> None:
    server: Any = SimpleNamespace(is_ready=is_ready)
    assert ask(server) == expected


@pytest.mark.parametrize("answer", ["healthy", "silent", "broken"])
def test_the_models_of_triton_are_asked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: Answer) -> None:
    monkeypatch.setattr(Triton, "is_ready", lambda _: True)
    monkeypatch.setattr(Triton, "models_answer", lambda _: answer)
    assert ask(Triton(tmp_path, tmp_path)) == answer


def test_servers_and_gateway_are_watched_as_workers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that hangs keeps the workers waiting, and they stay green meanwhile."""
    names = ["kafka", "cassandra", "qdrant", "triton", "gateway", "worker-fetch"]
    watched = [Watched(SimpleNamespace(ready_timeout_seconds=1.0, name=name), CHILD, 0.0) for name in names]
    stop_asked, looked = threading.Event(), list[str]()

    def note(_: HealthChecks, running: list[Watched], now: float) -> list[tuple[Watched, str]]:
        looked.extend(each.server.name for each in running)
        stop_asked.set()
        return []

    monkeypatch.setattr(HealthChecks, "look", note)
    monkeypatch.setattr("streams.local.supervisor.rotate", lambda _: None)
    quiet: Any = SimpleNamespace(
        stop_asked=stop_asked,
        watched=watched,
        _commands=list,
        _is_unwritten=False,
        _try=lambda step: step(),
        _pause_or_resume=lambda: None,
        _check=lambda *_: None,
        _run_scheduled=lambda _: None,
    )
    quiet._look_after = partial(Supervisor._look_after, quiet)
    monkeypatch.setattr(CHILD, "log", None, raising=False)
    monkeypatch.setattr(CHILD, "share_processor", lambda is_full: None, raising=False)
    monkeypatch.setattr("streams.local.supervisor.LOOK_SECONDS", 0.0)
    Supervisor.watch(quiet)
    assert looked == names


def test_a_state_that_cannot_be_written_ends_nothing_once_the_stack_runs(tmp_path: Path) -> None:
    """As on a full disk. Here a folder has the name of the draft."""
    supervisor = Supervisor(Settings(home=tmp_path), lambda *_: None)
    draft = stack_file(tmp_path).with_suffix(f".{os.getpid()}.tmp")
    draft.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        supervisor._note()
    supervisor._note(state="ready")
    supervisor._note(state="stopping")
    draft.rmdir()
    supervisor._note()
    written = read_state(tmp_path)
    assert written is not None
    assert written.state == "stopping"


def test_what_the_machine_refuses_in_housekeeping_is_reported_once(tmp_path: Path) -> None:
    reports: list[str] = []
    supervisor = Supervisor(Settings(home=tmp_path), lambda _, details: reports.append(details["text"]))
    for _ in range(3):
        supervisor._try(lambda: (tmp_path / "no folder" / "file").touch())
    assert len(reports) == 1


def test_a_step_is_named_from_its_begin_to_its_end(tmp_path: Path) -> None:
    """On a busy machine the topics and tables take minutes: the terminal says what is waited for."""
    reports: list[Any] = []
    supervisor = Supervisor(Settings(home=tmp_path), lambda what, details: reports.append((what, details["title"])))
    supervisor._step("Topics and tables", lambda: reports.append("made"))
    assert reports == [("preparing", "Topics and tables"), "made", ("ready", "Topics and tables")]
