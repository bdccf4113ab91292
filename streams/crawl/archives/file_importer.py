"""The import of files from folders: each becomes a page, as if it had been fetched (`sending`).

A followed folder is looked at again: a file is known by its stamp, the time of change and the size. So a look needs to
read no file. A changed file gets the time of the look as its generation: an older copy that is put back is as new as
its coming back.
"""

import asyncio
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from streams.crawl.archives.folder_pages import HEAD_BYTES, LEFT_OUT, PAGE_SUFFIXES, why_no_page
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, page_of_file
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.scope import belongs
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.errors import UsageError

UNREADABLE = "can't be read"
"""Reason for which a file is skipped that another look may read."""
Stamp = tuple[int, int]
"""Time of the last change (nanoseconds since 1970 UTC), and size (bytes)."""
Stamps = Mapping[str, Stamp]
"""Stamp of each file by its path below the folder."""
UNREAD: Stamp = (0, -1)
"""Stamp of a file that could not be read: no look finds the same, so each one tries it again."""


async def import_html(folder: Path, sender: Sender) -> ImportReport:
    """Import each file FOLDER/HOST/path.html as https://HOST/path.html, or FOLDER/path.html at the address of `place`.

    Files of other formats (PDF, Markdown, ...) are imported likewise. What a file is, its first bytes say: a page may
    have any suffix. Symbolic links are not followed.

    Raises UsageError if there is no such folder or no page in it, and the errors of `blobs` and `emit`.
    """
    report = ImportReport(total=await asyncio.to_thread(lambda: sum(1 for _ in _files(folder))))
    records = (_read_file(folder, file, sender.limits, looks=True) for file in _files(folder))
    await sender.send_all(records, lambda: report.seen, report)
    if not report.imported:
        pages = sum(count for reason, count in report.skipped.items() if not reason.endswith(LEFT_OUT))
        raise UsageError(
            f"{folder} contains no page: {pages} files can be read. Say where people read them, as in "
            f"`riffle import {folder} --as https://docs.example/`, or give a folder that contains a folder for "
            f"each host, such as {folder}/docs.example.org/guide.html{_first_reason(report)}"
        )
    return report


async def import_files(folder: Path, files: Sequence[str], sender: Sender) -> ImportReport:
    """Import these files of a followed folder, as of `limits.latest`. Raises the errors of `blobs` and `emit`."""
    report = ImportReport(total=len(files))

    def read(file: str) -> ArchivedPage | Skipped:
        record = _read_file(folder, folder / file, sender.limits)
        if isinstance(record, ArchivedPage):
            return replace(record, generation=sender.limits.latest)
        if record.reason == UNREADABLE:
            report.unread.append(file)
        return record

    await sender.send_all(map(read, files), lambda: report.seen, report)
    return report


def stamp_files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return time of change and size of each file below the folder that can be read. Raises UsageError."""
    stamps = {}
    for file in _files(folder):
        if file.suffix.lower() not in PAGE_SUFFIXES:
            continue
        try:
            found = file.stat()
        except FileNotFoundError:
            continue
        stamps[file.relative_to(folder).as_posix()] = (found.st_mtime_ns, found.st_size)
    return stamps


def _first_reason(report: ImportReport) -> str:
    return "".join(f". {reason}: {example}" for reason, example in islice(report.examples.items(), 1))


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below the folder, sorted in each folder, so that each import has the same order.

    Symbolic links may lead to any file of this machine: they are not followed.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names) if _is_file(Path(parent, name)))


def _is_file(path: Path) -> bool:
    try:
        return S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _read_file(folder: Path, file: Path, limits: Limits, *, looks: bool = False) -> ArchivedPage | Skipped:
    """Read the page of a file. `looks`: its first bytes say whether it is one, and what its address is."""
    parts = file.relative_to(folder).parts
    try:
        # By now the name may lead to something else: a link, or a pipe that nobody writes to.
        with open(file, "rb", opener=_open_file) as opened:
            head = opened.read(HEAD_BYTES)
            if looks and (reason := why_no_page(file.name, head)):
                return Skipped(reason, "/".join(parts))
            body = head + opened.read(max(limits.max_body_bytes + 1 - len(head), 0))
            modified_at = os.fstat(opened.fileno()).st_mtime_ns // 1_000
    except OSError as error:
        return Skipped(UNREADABLE, f"{file}: {error.strerror}")
    return page_of_file(parts, modified_at, body, limits, believes_comments=looks)


def _open_file(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences between two looks at a folder."""

    changed: tuple[str, ...]
    """Paths of files that are new or were changed."""
    gone: tuple[str, ...]
    """Paths of files that were there and are not any more."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone)


def compare(before: Stamps, now: Stamps) -> Changes:
    """Return the differences, in the order of the paths."""
    changed = sorted(path for path, stamp in now.items() if before.get(path) != stamp)
    return Changes(tuple(changed), tuple(sorted(before.keys() - now.keys())))


def url_of(path: str, limits: Limits) -> str | None:
    """Return the canonical URL of a file, or None if it is left out."""
    parts: Sequence[str] = PurePosixPath(path).parts
    try:
        url = canonicalize(limits.place.of_file(parts), limits.place)
    except InvalidUrl:
        return None
    return url if belongs(url, limits.patterns) else None


def twins_of(gone: Sequence[str], there: Iterable[str], limits: Limits) -> list[str]:
    """Return the files that have the URL of a deleted file: `index.htm` is the page of its folder, as `index.html`."""
    urls = {url_of(path, limits) for path in gone} - {None}
    return [path for path in there if url_of(path, limits) in urls] if urls else []


def write_stamps(stamps: Stamps) -> str:
    """Return the stamps as JSON, for the next start."""
    return json.dumps({path: list(stamp) for path, stamp in sorted(stamps.items())})


def read_stamps(text: str) -> dict[str, Stamp]:
    """Return the stamps of a JSON text. A damaged text has none: then each file counts as changed."""
    try:
        found = json.loads(text)
        return {str(path): (int(changed), int(size)) for path, (changed, size) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
