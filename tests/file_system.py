"""A small real file system for tests of a full disk."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILLER = "filler"


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount a file system in memory on a new folder. Skips the test where nobody can mount."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    as_root: list[str] = [] if os.geteuid() == 0 else ["sudo", "-n"]
    try:
        done = subprocess.run([*as_root, *command], capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"nobody can mount here: {error}")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run([*as_root, "umount", "--lazy", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write a file until no byte is free. Raises OSError then."""
    with path.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
