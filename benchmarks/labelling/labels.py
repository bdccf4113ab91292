"""The labels that people give to statements: a file for each page, with a line for each label and each undo.

Lines are only appended, so that several labellers write side by side and an undo loses nothing. Each labeller's last
line about a statement counts.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_type_hints
from uuid import UUID

LABELLER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""The form of a labeller's name."""
MAX_FILE_BYTES = 4 * 1024 * 1024
"""Maximum size of a file of labels, for about 20,000 labels of a page (bytes). A full file takes no more."""


@dataclass(frozen=True, slots=True)
class Label:
    """One person's answer about one statement. Statements are named by their ids, which change with their text."""

    labeller: str
    statement: str
    antecedent: str = ""
    """The id of the statement that this statement needs. Empty: it needs none."""
    leaf: bool = True
    """True if the statement can be matched alone."""
    undone: bool = False


_KINDS = get_type_hints(Label)


class LabelsFull(Exception):
    """The file of these labels has no room for more."""


class LabelStore:
    """The labels of all pages in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def of_page(self, page_id: UUID) -> list[Label]:
        """Return the labels of a page that count, the labels of each labeller in the order of labelling."""
        return await asyncio.to_thread(self._read, page_id)

    async def add(self, page_id: UUID, label: Label) -> None:
        """Append a label, or an undo. Raises LabelsFull."""
        await asyncio.to_thread(self._append, page_id, label)

    def _read(self, page_id: UUID) -> list[Label]:
        try:
            lines = self._path(page_id).read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            return []
        return select_counting(_labels(lines))

    def _append(self, page_id: UUID, label: Label) -> None:
        append_line(self._path(page_id), (json.dumps(asdict(label)) + "\n").encode())

    def _path(self, page_id: UUID) -> Path:
        return self._folder / f"{page_id}.jsonl"


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file of labels. Raises LabelsFull."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line  # appended to a line that a crash cut short, both would be unreadable
        if size + len(line) > MAX_FILE_BYTES:
            raise LabelsFull(f"{path} has {MAX_FILE_BYTES:,} bytes of labels")
        # A line is written at once, so that lines of several processes don't mix.
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def select_counting(labels: Iterable[Label]) -> list[Label]:
    """Return the last label of each labeller about each statement, without labels that were undone."""
    last: dict[tuple[str, str], Label] = {}
    for label in labels:
        last.pop((label.labeller, label.statement), None)
        if not label.undone:
            last[label.labeller, label.statement] = label
    return list(last.values())


def _labels(lines: Iterable[str]) -> Iterator[Label]:
    for line in lines:
        try:
            fields = json.loads(line)
            label = Label(**{name: fields[name] for name in Label.__slots__ if name in fields})
        except (ValueError, TypeError, RecursionError):
            continue  # a line that a crash cut short
        if _is_label(label):
            yield label


def _is_label(label: Label) -> bool:
    """Return True if `add` could have written the line. A line broken by hand is left out: its page would fail."""
    typed = all(isinstance(getattr(label, name), kind) for name, kind in _KINDS.items())
    return typed and LABELLER.fullmatch(label.labeller) is not None
