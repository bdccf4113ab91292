"""`.ci/run` sets up the tools of the checks that can be had, says what it lacks, and then runs what the README says."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
MAKE = """#!/bin/sh
echo "made $*"
case "$*" in *"$FAILS"*) exit 2;; esac
"""
PROGRAMS = ("bash", "dirname", "id", "timeout", "sh")


def run(folder: Path, fails: str, *parts: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a copy, with a `make` that only says what it makes, and fails for one target."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    programs = folder / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or "")
    for name, text in {"make": MAKE, "chromium": "#!/bin/sh\n", "go": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {"PATH": str(programs), "FAILS": fails, "HOME": os.environ.get("HOME", "/")}
    command = [str(programs / "bash"), str(folder / ".ci" / "run"), *parts]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)


@pytest.mark.parametrize(
    ("fails", "lacking"),
    [
        ("nothing", ""),
        (".tools/.ready", "the tools of the chart could not be built: its checks will be skipped"),
        (".tools/subscribers/.parser", "the parser part of make subscribers is not here: its checks will be skipped"),
        (".tools/subscribers/.go", "the go part of make subscribers is not here: its checks will be skipped"),
    ],
)
def test_what_cannot_be_set_up_is_named_and_the_rest_runs(tmp_path: Path, fails: str, lacking: str) -> None:
    done = run(tmp_path, fails)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    made = [line.removeprefix("made ") for line in lines if line.startswith("made ")]
    assert made == [".tools/.ready", ".tools/subscribers/.parser", ".tools/subscribers/.go", "test"]
    assert [line for line in lines if line.endswith("skipped")] == ([lacking] if lacking else [])


@pytest.mark.parametrize(("part", "tools"), [("check", 0), ("quick", 0), ("servers", 3)])
def test_a_job_runs_its_part_and_sets_up_what_that_part_needs(tmp_path: Path, part: str, tools: int) -> None:
    made = run(tmp_path, "nothing", part).stdout.splitlines()
    assert made[-1] == f"made {part}"
    assert len(made) == tools + 1


def test_a_suite_that_fails_fails_the_run(tmp_path: Path) -> None:
    assert run(tmp_path, "test").returncode == 2


def parts_of(jobs: Any) -> set[str]:
    """Return the parts that jobs run, whose matrix has `part` or `PART`."""
    found = set[str]()
    for rows in jobs:
        for row in [rows, *rows.get("include", [])]:
            given = row.get("part", row.get("PART", []))
            found.update([given] if isinstance(given, str) else given)
    return found


def test_both_services_run_the_same_parts() -> None:
    """The lowest and the newest versions are tried by one of them: no service changes what they are."""
    github = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    gitlab = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())
    parts = parts_of(row for job in gitlab.values() for row in job["parallel"]["matrix"])
    assert parts == parts_of(job["strategy"]["matrix"] for job in github.values()) - {"lowest", "platforms"}
    assert {"check", "clients", "programs"} <= parts
    makefile = (ROOT / "Makefile").read_text()
    assert [part for part in parts if f"\n{part}:" not in makefile] == []
