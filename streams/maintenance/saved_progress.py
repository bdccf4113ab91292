"""The file in which an interrupted sweep is saved: its place, its counts, and its set of references."""

import json
from dataclasses import asdict
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from streams.maintenance.reference_set import ReferenceSet
from streams.maintenance.sweeping import DAY, Counts, Progress

MAX_AGE_SECONDS = DAY
"""Age (seconds) from which a sweep begins anew: the references that it has read are too old."""


def save(file: Path, progress: Progress, references: ReferenceSet, mode: str) -> None:
    """Write the sweep to the file. `mode` holds the options that must be equal when the sweep continues."""
    state = json.dumps({**asdict(progress), "mode": mode})
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".part")
    with unfinished.open("wb") as opened:
        np.savez(opened, state=np.array(state), salt=np.frombuffer(references.salt, np.uint8), bits=references.bits)
    unfinished.replace(file)


def load(file: Path, now: float, mode: str) -> tuple[Progress, ReferenceSet] | None:
    """Return the sweep of the file, or None if there is no file, or the sweep is too old or had other options."""
    if not file.is_file():
        return None
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as saved:
            state = json.loads(str(saved["state"]))
            bits, salt = saved["bits"], saved["salt"].tobytes()
        if state.pop("mode") != mode or now - state["started_at"] > MAX_AGE_SECONDS:
            return None
        progress = Progress(**{**state, "counts": Counts(**state["counts"])})
    except (OSError, EOFError, BadZipFile, ValueError, KeyError, TypeError):
        return None
    return progress, ReferenceSet(bits.size, salt, bits)
