"""A disk without a free byte ends nothing: a real file system of two megabytes that is full, below the home.

What each process writes, and what it does on a full disk:

    supervisor   stack.json, pause.json, marks of scheduled commands, logs of its children: goes on, tries again
    worker       its log, notes about sudden ends: goes on. The writes of its stages are those of the servers
    gateway      its log, and nothing else after its start: serves on
    commands     their reports and marks of progress: end with the system's error, and are repeated by a person

The servers end, and start again with room: tests/faults/test_full_file_system.py. Their stages wait meanwhile, since no
room is an outage.
"""

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import structlog

from streams.errors import is_outage
from streams.local.child_process import Child, Launch, keep_crash, keep_previous, rotate
from streams.local.home import pause_asked, read_state
from streams.local.ports import free_ports
from streams.local.reporting import PipeReport
from streams.local.servers.server import spawn
from streams.local.supervision.scheduled import ScheduledCommand
from streams.local.supervision.watched import Watched
from streams.local.supervisor import Supervisor
from streams.logs import configure_logging
from streams.runtime.brake import Brake
from streams.runtime.records import Incoming
from streams.settings import Settings
from tests.file_system import FILLER, fill, mounted

PATIENCE_SECONDS = 60.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes in memory."""
    with mounted(tmp_path / "disk", "2m") as folder:
        yield folder


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Leave no byte free."""
    with pytest.raises(OSError, match="No space"):
        fill(disk / FILLER)
    with pytest.raises(OSError, match="No space"):
        (disk / "one byte").write_bytes(b"1")
    yield
    (disk / FILLER).unlink()


class Idle(SimpleNamespace):
    """A server that does nothing."""

    def __init__(self, log: str = "") -> None:
        (port,) = free_ports(1)
        super().__init__(name="idle", title="Idle", port=port, health="", ready_timeout_seconds=60.0, hints=(), log=log)

    def prepare(self) -> Launch:
        talk = "while True:\n try: print('x' * 999, flush=True)\n except OSError: pass\n time.sleep(0.05)"
        return Launch([sys.executable, "-c", f"import time\n{talk}"])

    def is_ready(self) -> bool:
        return True


def until(holds: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def _end(child: Child) -> None:
    """End a process from another thread than the supervisor's, as the system would."""
    os.kill(child.pid, 9)


def test_the_supervisor_goes_on_without_a_free_byte_and_notes_its_state_when_there_is_room(disk: Path) -> None:
    reports: list[str] = []
    supervisor = Supervisor(Settings(home=disk), lambda what, details: reports.append(f"{what} {details}"))
    server: Any = Idle()
    watched = Watched(server, spawn(server, server.prepare(), disk / "logs"), time.monotonic())
    supervisor.watched.append(watched)
    supervisor._note(state="ready")
    failures: list[BaseException] = []

    def attack() -> None:
        try:
            with full(disk):
                for _ in range(2):
                    former = watched.child
                    _end(former)
                    until(lambda former=former: watched.child is not former, "it is started again on the full disk")  # type: ignore[misc]  # a default binds it
                    until(lambda: watched.start_again_at is None, "it runs")
                noted = read_state(disk)
                assert noted is not None
                assert noted.alive, "`riffle status` finds the stack"
            until(lambda: (found := read_state(disk)) and found.processes[0].pid == watched.child.pid, "it is noted")
        except BaseException as error:
            failures.append(error)
        finally:
            supervisor.stop_asked.set()

    attacker = threading.Thread(target=attack)
    attacker.start()
    supervisor.watch()
    attacker.join()
    assert failures == []
    with full(disk):
        supervisor.stop()
    assert not psutil.pid_exists(watched.child.pid)
    assert any(report.startswith("ended") for report in reports)


def test_each_step_of_housekeeping_survives(disk: Path) -> None:
    """A step that nobody tries again raises nothing; the rest raises the error that the supervisor expects."""
    logs, mark, pause = disk / "logs", disk / "mark", disk / "pause.json"
    logs.mkdir()
    log = logs / "idle.log"
    log.write_bytes(bytes(300_000))
    pause.write_text(json.dumps({"pid": os.getpid(), "create_time": psutil.Process().create_time()}))
    with full(disk):
        rotate(log, max_bytes=1_000)
        keep_previous(log)
        keep_crash(log)
        assert pause_asked(disk)
        pause.unlink()
        assert not pause_asked(disk)
        command = ScheduledCommand("Sweep", mark, lambda: Child("sweep", Launch(["true"]), logs / "sweep.log"), 1.0)
        supervisor = Supervisor(Settings(home=disk), lambda *_: None)
        for _ in range(3):
            supervisor._try(lambda: command.look(time.time()))  # type: ignore[arg-type]  # a step
        command.stop()
    assert (logs / "idle.log.previous").stat().st_size >= 300_000


def test_a_report_of_the_supervisor_is_never_an_error(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (disk / "supervisor.log").open("w") as log:
        monkeypatch.setattr(sys, "stderr", log)
        report = PipeReport(os.dup(os.open(os.devnull, os.O_WRONLY)))
        with full(disk):
            for _ in range(100):
                report("warning", {"text": "x" * 9_000})
            log.buffer.raw.truncate(0)  # type: ignore[attr-defined]  # what the writer holds must not fail its close


@pytest.mark.parametrize("log_json", [True, False])
def test_a_line_of_a_log_is_never_an_error(disk: Path, monkeypatch: pytest.MonkeyPatch, log_json: bool) -> None:
    """The logs of a worker and of a gateway are files of the home."""
    with (disk / "worker.log").open("w", buffering=1) as log:
        monkeypatch.setattr(sys, "stderr", log)
        configure_logging(Settings(log_json=log_json))
        with full(disk):
            for _ in range(100):
                structlog.get_logger("test").warning("a page was indexed", text="x" * 9_000)
        structlog.get_logger("test").warning("there is room")
    assert "there is room" in (disk / "worker.log").read_text()


async def test_notes_about_sudden_ends_fail_no_record(disk: Path) -> None:
    path = disk / "notes" / "worker.jsonl"
    brake = Brake(path)
    brake.begin()
    records = [Incoming("pages.fetched", 0, offset, b"", b"", []) for offset in range(3)]
    async with brake.watch(records[0]):
        os.close(os.dup(brake._descriptor or 0))  # it ends suddenly: nothing is noted behind this
    again = Brake(path.with_name("other.jsonl"))
    with full(disk):
        again.begin()
        for brake_now in (brake, again):
            brake_now._unnoted = 10
            for record in records:
                async with brake_now.watch(record) as verdict:
                    assert verdict is None
        again.end()
        brake.end()


def test_no_room_is_an_outage_so_a_stage_waits_and_goes_on() -> None:
    """The stage's events stay in their topic meanwhile: tests/unit/runtime/test_processing.py."""
    assert is_outage(OSError(errno.ENOSPC, "No space left on device"))
    assert is_outage(OSError(errno.EDQUOT, "Disk quota exceeded"))
