"""The state file: written whole, believed only while its supervisor runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from streams.errors import UsageError
from streams.local.home import (
    ProcessState,
    StackState,
    is_alive,
    make_home,
    only_stack,
    read_state,
    running_state,
    write_state,
)
from streams.settings import Settings, read_stack_file, stack_file

ME = psutil.Process()
KAFKA = ProcessState("kafka", "Kafka", 4, 5.0, 21001, "/logs/kafka.log")


def state_of(pid: int, create_time: float) -> StackState:
    settings = {"kafka": {"bootstrap": "127.0.0.1:21001"}}
    return StackState(pid, create_time, "2026-01-31T12:00:00+00:00", settings=settings, processes=(KAFKA,))


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = state_of(ME.pid, ME.create_time())
    write_state(tmp_path, state)

    assert read_state(tmp_path) == state
    assert [file.name for file in tmp_path.iterdir()] == ["stack.json"], "a draft was left behind"


def test_the_settings_are_where_settings_look_for_them(tmp_path: Path) -> None:
    write_state(tmp_path, state_of(ME.pid, ME.create_time()))

    assert Settings(**read_stack_file(tmp_path)).kafka.bootstrap == "127.0.0.1:21001"


def test_the_state_of_a_running_supervisor_is_true(tmp_path: Path) -> None:
    write_state(tmp_path, state_of(ME.pid, ME.create_time()))

    assert running_state(tmp_path) is not None


@pytest.mark.parametrize(
    ("pid", "create_time"),
    [
        pytest.param(ME.pid, ME.create_time() - 3600, id="the id went to another process"),
        pytest.param(2**22 + 1, 1.0, id="no such process"),
    ],
)
def test_a_stale_state_is_removed(tmp_path: Path, pid: int, create_time: float) -> None:
    write_state(tmp_path, state_of(pid, create_time))

    assert running_state(tmp_path) is None
    assert not stack_file(tmp_path).exists(), "its addresses would still be believed"


def test_a_process_that_ended_and_was_not_read_is_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        create_time = psutil.Process(child.pid).create_time()
        assert is_alive(child.pid, create_time)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert not is_alive(child.pid, create_time)


def test_without_a_file_nothing_runs(tmp_path: Path) -> None:
    assert running_state(tmp_path) is None


@pytest.mark.parametrize("content", ["", "[]", '{"pid": 1}', '{"pid": 1, "processes": [{}]}'])
def test_a_damaged_file_says_what_to_do(tmp_path: Path, content: str) -> None:
    stack_file(tmp_path).write_text(content)

    with pytest.raises(UsageError, match=r"stack\.json can't be read .* Remove it and run `riffle up` again"):
        read_state(tmp_path)


def test_one_supervisor_at_a_time(tmp_path: Path) -> None:
    with only_stack(tmp_path), pytest.raises(UsageError, match=r"runs already.*riffle down"), only_stack(tmp_path):
        pass

    with only_stack(tmp_path):
        pass


def test_two_homes_do_not_meet(tmp_path: Path) -> None:
    with only_stack(tmp_path / "one"), only_stack(tmp_path / "two"):
        assert {home.name for home in tmp_path.iterdir()} == {"one", "two"}


@pytest.mark.parametrize(
    ("argument", "expected"),
    [pytest.param("asked", "asked:1", id="an argument"), pytest.param(None, "set:1", id="none")],
)
def test_the_home_of_the_argument_comes_before_that_of_the_environment(
    argument: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark with a stack of its own ran against the stack of RIFFLE_HOME."""
    for name in ("asked", "set"):
        (tmp_path / name).mkdir()
        content = {"settings": {"kafka": {"bootstrap": f"{name}:1"}}}
        stack_file(tmp_path / name).write_text(json.dumps(content))
    monkeypatch.setenv("RIFFLE_HOME", str(tmp_path / "set"))
    loaded = Settings.load(home=tmp_path / argument if argument else None)
    assert (loaded.kafka.bootstrap, loaded.home) == (expected, tmp_path / (argument or "set"))


@pytest.mark.parametrize("before", [None, 0o755, 0o777])
def test_no_other_user_enters_the_home(tmp_path: Path, before: int | None) -> None:
    home = tmp_path / "parent" / "home"
    if before is not None:
        home.mkdir(parents=True)
        home.chmod(before)
    with only_stack(home):
        assert home.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_all_users_share_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    make_home(tmp_path)
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777
