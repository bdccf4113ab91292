"""Pauses of the workers: held by a running process, and over with it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil

from streams.local.home import pause_asked, workers_paused


def ask(home: Path, pid: int, create_time: float) -> Path:
    file = home / "pause.json"
    file.write_text(json.dumps({"pid": pid, "create_time": create_time}))
    return file


def test_a_running_process_is_obeyed(tmp_path: Path) -> None:
    assert not pause_asked(tmp_path)
    ask(tmp_path, os.getpid(), psutil.Process().create_time())
    assert pause_asked(tmp_path)


def test_the_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    created = psutil.Process(ended.pid).create_time()
    ended.wait()
    file = ask(tmp_path, ended.pid, created)
    assert not pause_asked(tmp_path)
    assert not file.exists()


def test_a_damaged_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / "pause.json").write_text("{")
    assert not pause_asked(tmp_path)
    assert not (tmp_path / "pause.json").exists()


def test_without_a_stack_there_is_nothing_to_pause(tmp_path: Path) -> None:
    with workers_paused(tmp_path) as paused:
        assert not paused
