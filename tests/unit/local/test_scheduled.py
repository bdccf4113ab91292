"""When the supervisor runs a scheduled command: its own clock is the test's, its processes are real."""

import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams.local import riffle_processes
from streams.local.child_process import Child, Launch, stop
from streams.local.supervision.scheduled import RETRY_SECONDS, WEEK_SECONDS, ScheduledCommand
from streams.local.supervisor import Supervisor
from streams.settings import CassandraSettings, Settings

NOW = 1_800_000_000.0
DAY = 86_400.0


class Sweeps:
    """A weekly sweep whose process runs a line of Python. `started` counts them."""

    def __init__(self, folder: Path, line: str = "") -> None:
        self.folder, self.line = folder, line
        self.children: list[Child] = []
        self.weekly = ScheduledCommand("The weekly sweep", folder / "swept", self._start, WEEK_SECONDS)

    def _start(self) -> Child:
        log = self.folder / "sweep.log"
        self.children.append(Child("sweep", Launch([sys.executable, "-S", "-c", self.line]), log))
        return self.children[-1]

    def look(self, now: float) -> str:
        """Look, and wait for the end of a sweep that started."""
        if self.children:
            self.children[-1].process.wait(120)
        return self.weekly.look(now)


@pytest.fixture
def sweeps(tmp_path: Path) -> Iterator[Callable[[str], Sweeps]]:
    made: list[Sweeps] = []

    def make(line: str) -> Sweeps:
        made.append(Sweeps(tmp_path, line))
        return made[-1]

    yield make
    stop([child for each in made for child in each.children], grace_seconds=0)


@pytest.mark.parametrize(
    ("looks", "started"),
    [
        # (the days at which the supervisor looks, the number of sweeps that were started until then)
        pytest.param([0, 1, 6.9], 0, id="nothing in the first week"),
        pytest.param([0, 7], 1, id="after a week"),
        pytest.param([0, 7, 7, 13.9], 1, id="once a week"),
        pytest.param([0, 7, 7, 14], 2, id="and after the next one"),
        pytest.param([0, 40, 40, 41], 1, id="once after a stack was down for long"),
        pytest.param([400, 1, 2, 7.9], 0, id="a clock that was ahead: a week from now"),
        pytest.param([400, 1, 8], 1, id="and no later"),
    ],
)
def test_stored_blobs_are_swept_each_week(sweeps: Callable[[str], Sweeps], looks: list[float], started: int) -> None:
    found = sweeps("")
    assert [found.look(NOW + day * DAY) for day in looks] == [""] * len(looks)
    assert len(found.children) == started


def test_the_next_supervisor_remembers_the_last_sweep(sweeps: Callable[[str], Sweeps]) -> None:
    first, second = sweeps(""), sweeps("")
    for day in (0, 7, 7):
        first.look(NOW + day * DAY)
    second.look(NOW + 8 * DAY)
    assert (len(first.children), len(second.children)) == (1, 0)


def test_a_sweep_that_fails_is_reported_and_tried_again_later(sweeps: Callable[[str], Sweeps]) -> None:
    found, due = sweeps("raise SystemExit(3)"), NOW + WEEK_SECONDS
    found.look(NOW)
    assert found.look(due) == ""
    assert found.look(due).startswith("The weekly sweep failed (exit code 3")
    assert found.look(due + RETRY_SECONDS / 2) == ""
    assert len(found.children) == 1
    found.look(due + RETRY_SECONDS)
    assert len(found.children) == 2


def test_a_running_sweep_is_alone_and_ends_with_the_stack(sweeps: Callable[[str], Sweeps]) -> None:
    found = sweeps("import time; time.sleep(600)")
    found.weekly.look(NOW)
    for late in (0, 1, DAY):
        assert found.weekly.look(NOW + WEEK_SECONDS + late) == ""
    begun = time.monotonic()
    found.weekly.stop()
    assert [child.exit_code is None for child in found.children] == [False]
    assert time.monotonic() - begun < 30


def test_the_suggestions_of_a_new_stack_are_built_after_a_minute_and_then_less_and_less_often(tmp_path: Path) -> None:
    runs: list[float] = []

    def start() -> Any:
        runs.append(now)
        return SimpleNamespace(exit_code=0)

    mark = tmp_path / "suggested"
    command = ScheduledCommand("The build", mark, start, 900.0, 60.0)
    for second in range(4_000):
        now = NOW + second
        command.look(now)
    gaps = [round((after - before) / 10) for before, after in pairwise([NOW, *runs])]
    assert gaps[:6] == [6, 12, 24, 48, 90, 90]
    again = ScheduledCommand("The build", mark, start, 900.0, 60.0)
    runs.clear()
    for second in range(4_000, 4_700):
        now = NOW + second
        again.look(now)
    assert len(runs) <= 1, "a stack that was stopped is not new"


def test_the_local_stack_sweeps_its_own_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single machine has no other schedule. A Cassandra elsewhere is its operators' to look after."""
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(riffle_processes, "start_command", lambda _home, _name, *words: started.append(words))

    def commands(settings: Settings) -> list[ScheduledCommand]:
        own: Any = SimpleNamespace(home=tmp_path, servers_only=False, settings=settings)
        return Supervisor._commands(own)

    for command in commands(Settings(home=tmp_path)):
        command.look(NOW)
        command.look(NOW + WEEK_SECONDS)
    assert started == [("blobs", "sweep", "--delete"), ("suggest", "build", "--if-grown")]
    assert commands(Settings(home=tmp_path, cassandra=CassandraSettings(hosts=("db.test",)))) == []
