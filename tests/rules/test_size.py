"""The size of the command line, whose commands and options are things to find and to keep, and of files."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.cli import COMMANDS, load_command

ROOT = Path(__file__).parents[2]
MAX_COMMANDS = 53
MAX_OPTIONS = 190
"""Without --help."""
RULE = "Who adds one takes one away, or makes it a value or an option of one that is there"


def leaves(path: str, command: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield each command that has none below it, with its options."""
    below = getattr(command, "commands", {})
    for name, child in below.items():
        yield from leaves(f"{path} {name}", child)
    if not below:
        yield path, [param.opts[-1] for param in command.params if param.param_type_name == "option"]


def test_the_command_line_stays_small() -> None:
    found = dict(leaf for name in COMMANDS for leaf in leaves(name, load_command(name)))
    listed = "\n".join(f"  riffle {path} {' '.join(options)}" for path, options in found.items())
    options = sum(map(len, found.values()))
    assert len(found) <= MAX_COMMANDS, f"{len(found)} commands, {MAX_COMMANDS} are allowed. {RULE}:\n{listed}"
    assert options <= MAX_OPTIONS, f"{options} options, {MAX_OPTIONS} are allowed. {RULE}:\n{listed}"


MAX_FILE_BYTES = 25_000_000


def test_no_file_of_the_repository_is_large() -> None:
    """A file that was made and added by accident is in each clone for ever."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no clone")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert [str(file) for file in files if file.is_file() and file.stat().st_size > MAX_FILE_BYTES] == []
