"""The folder of a collection: which runs and log files are valid, and the schemas of payload indexes.

| name | what it is |
|---|---|
| `collection.json` | the name, and the request that made the collection |
| `layout.json` | this file's `Layout`, replaced at once when runs change |
| `log/NUMBER` | the log of the shard for new points |
| `runs/ID` | a shard with a graph; what `layout.json` does not name is no run yet, or none any more |
| `new/ID` | a shard for new points, made from the log at each start |
| `shard` | the only shard of a collection that a former Riffle made, until a run is built from it |
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMER, RUNS, NEW, LOG = "shard", "runs", "new", "log"
_FILE = "layout.json"


@dataclass(frozen=True, slots=True)
class Layout:
    """The runs, by their paths in the collection's folder; the first log file that is in none of them; the schema of
    each payload index."""

    runs: tuple[str, ...] = ()
    log: int = 1
    indexes: Mapping[str, Any] = field(default_factory=dict)


def read_layout(folder: Path) -> Layout:
    """Return the layout of a collection, and remove what belongs to no layout."""
    try:
        stored = json.loads((folder / _FILE).read_text())
        layout = Layout(tuple(stored["runs"]), stored["log"], stored["indexes"])
    except FileNotFoundError:
        layout = Layout((FORMER,) if (folder / FORMER).exists() else ())
    remove_unused(folder, layout)
    shutil.rmtree(folder / NEW, ignore_errors=True)
    return layout


def remove_unused(folder: Path, layout: Layout) -> None:
    """Remove the runs that the layout does not name."""
    for path in (folder / FORMER, *(folder / RUNS).glob("*")):
        if str(path.relative_to(folder)) not in layout.runs:
            shutil.rmtree(path, ignore_errors=True)


def store_layout(folder: Path, layout: Layout) -> None:
    write_atomically(folder / _FILE, asdict(layout))


def write_atomically(path: Path, content: Any) -> None:
    """Write JSON beside the file, sync it, and move it into place."""
    beside = path.with_suffix(".new")
    with beside.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
