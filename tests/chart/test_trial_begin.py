"""The first steps of the trial on a cluster: arguments and tools are looked at before anything is built."""

import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from docs.generate import ROOT
from tests.chart.one_node import trial
from tests.chart.one_node.trial import MIN_FREE_BYTES, NEEDED, look

Disk = namedtuple("Disk", "free")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program in place of `qdrant`."""
    made = tmp_path / "qdrant"
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return made


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that has all that the trial needs, apart from `qdrant`."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(MIN_FREE_BYTES))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(trial, "real_qdrant", lambda: None)
    return monkeypatch


def test_a_machine_with_all_of_it_may_begin(machine: pytest.MonkeyPatch, program: Path, tmp_path: Path) -> None:
    assert look(program, None) == program
    machine.setattr(trial, "real_qdrant", lambda: program)
    assert look(None, None) == program
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.12").touch()
    assert look(None, tmp_path) == program


@pytest.mark.parametrize("tool", [*NEEDED, "debootstrap"])
def test_each_missing_tool_is_named(machine: pytest.MonkeyPatch, program: Path, tmp_path: Path, tool: str) -> None:
    machine.setattr(shutil, "which", lambda name: None if name == tool else f"/usr/bin/{name}")
    with pytest.raises(SystemExit, match=f"not found: {tool}. On Debian: see docs/operate/install.md"):
        look(program, tmp_path)


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("root", "run it as root"),
        ("disk", "15 GB of disk must be free"),
        ("qdrant", 'no program `qdrant`: name it with ARGS="--qdrant PROGRAM"'),
        ("the qdrant that was named", "no program `qdrant` at /nowhere/qdrant"),
        ("the Python of the stand-ins", "there is no bin/python3.12"),
    ],
)
def test_a_missing_requirement_is_named_with_advice(
    machine: pytest.MonkeyPatch, program: Path, tmp_path: Path, lacks: str, says: str
) -> None:
    if lacks == "root":
        machine.setattr(os, "geteuid", lambda: 1_000)
    if lacks == "disk":
        machine.setattr(shutil, "disk_usage", lambda _: Disk(MIN_FREE_BYTES - 1))
    named = {"qdrant": None, "the qdrant that was named": Path("/nowhere/qdrant")}.get(lacks, program)
    with pytest.raises(SystemExit) as ended:
        look(named, tmp_path if lacks == "the Python of the stand-ins" else None)
    assert says in str(ended.value)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ("--help", 0, "usage: make cluster-check"),
        ("--qdrant /nowhere/qdrant", 2, "not found|no program `qdrant`|run it as root"),
    ],
)
def test_make_builds_nothing_for_a_question_or_a_mistake(arguments: str, status: int, says: str) -> None:
    # What the recipe calls is this Python, and the environment is not set up again.
    command = ["make", "-o", "setup", "cluster-check", f"BIN={Path(sys.executable).parent}", f"ARGS={arguments}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert any(each in done.stdout + done.stderr for each in says.split("|"))
    assert "Building" not in done.stdout
