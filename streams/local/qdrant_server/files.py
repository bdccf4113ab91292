"""Atomic writes of small files: a crash leaves the old content or the new one."""

import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: Any) -> None:
    """Write JSON beside the file, sync it, and move it into place."""
    beside = path.with_suffix(".new")
    with beside.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
