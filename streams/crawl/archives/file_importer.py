"""The import of files from folders: each becomes a page, as if it had been fetched (`sending`)."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from streams.clock import now_micros
from streams.crawl.archives.readers import (
    NO_PLACE,
    PAGE_SUFFIXES,
    ArchivedPage,
    Limits,
    Placing,
    Skipped,
    page_of_file,
)
from streams.crawl.archives.sending import (
    MAX_BODY_BYTES,
    HeldBack,
    ImportReport,
    Progress,
    Room,
    Sender,
    always,
    never,
    no_progress,
    send_all,
)
from streams.errors import UsageError
from streams.runtime.agent import Emit
from streams.stores.protocols import Blobs

UNREADABLE = "can't be read"
"""Reason for which a file is skipped that another look may read."""


async def import_html(
    folder: Path,
    blobs: Blobs,
    emit: Emit,
    progress: Progress = no_progress,
    *,
    crawl_id: str = "",
    max_depth: int | None = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
    trust_dates: bool = False,
    patterns: tuple[str, ...] = (),
    place: Placing = NO_PLACE,
    is_held_back: HeldBack = never,
    wait_for_room: Room = always,
) -> ImportReport:
    """Import each file FOLDER/HOST/path.html as https://HOST/path.html, or FOLDER/path.html at the address of `place`.

    Files of other formats (PDF, Markdown, ...) are imported likewise.

    Symbolic links are not followed.

    Raises UsageError if there is no such folder or no page in it, and the errors of `blobs` and `emit`.
    """
    files = await asyncio.to_thread(_html_files, folder)
    report = ImportReport(total=len(files))
    limits = Limits(max_body_bytes, now_micros(), patterns, place)
    records = (_read_file(folder, file, limits) for file in files)
    sender = Sender(blobs, emit, crawl_id, max_depth, None if trust_dates else limits.latest, is_held_back)
    await send_all(records, lambda: report.seen, report, sender, progress, wait_for_room)
    if not report.imported:
        raise UsageError(
            f"{folder} contains no page: {len(files)} files can be read. Say where people read them, as in "
            f"`riffle import {folder} --as https://docs.example/`, or give a folder that contains a folder for "
            f"each host, such as {folder}/docs.example.org/guide.html{_first_reason(report)}"
        )
    return report


async def import_files(
    folder: Path,
    files: Sequence[str],
    limits: Limits,
    blobs: Blobs,
    emit: Emit,
    *,
    crawl_id: str = "",
    is_held_back: HeldBack = never,
) -> ImportReport:
    """Import these files of a followed folder, as of `limits.latest`. Raises the errors of `blobs` and `emit`."""
    report = ImportReport(total=len(files))

    def read(file: str) -> ArchivedPage | Skipped:
        record = _read_file(folder, folder / file, limits)
        if isinstance(record, ArchivedPage):
            return replace(record, generation=limits.latest)
        if record.reason == UNREADABLE:
            report.unread.append(file)
        return record

    sender = Sender(blobs, emit, crawl_id, 0, limits.latest, is_held_back)
    await send_all(map(read, files), lambda: report.seen, report, sender, no_progress, always)
    return report


def stamp_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return time of change and size of each file below the folder that can be read. Raises UsageError."""
    stamps = {}
    for file in _html_files(folder):
        try:
            found = file.stat()
        except FileNotFoundError:
            continue
        stamps[file.relative_to(folder).as_posix()] = (found.st_mtime_ns, found.st_size)
    return stamps


def _first_reason(report: ImportReport) -> str:
    return "".join(f". {reason}: {example}" for reason, example in islice(report.examples.items(), 1))


def _html_files(folder: Path) -> list[Path]:
    """Return the files below the folder that can be read, sorted, so that each import has the same order."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in PAGE_SUFFIXES and path.is_file() and not _has_symlink(folder, path)
    )


def _has_symlink(folder: Path, path: Path) -> bool:
    """Return whether the path has a symbolic link, which may lead to any file of this machine."""
    return any(step.is_symlink() for step in (path, *path.parents) if step != folder and folder in step.parents)


def _read_file(folder: Path, file: Path, limits: Limits) -> ArchivedPage | Skipped:
    try:
        with file.open("rb") as opened:
            body = opened.read(limits.max_body_bytes + 1)
        modified_at = file.stat().st_mtime_ns // 1_000
    except OSError as error:
        return Skipped(UNREADABLE, f"{file}: {error.strerror}")
    return page_of_file(file.relative_to(folder).parts, modified_at, body, limits)
