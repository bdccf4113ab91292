"""The import of files from folders: each becomes a page, as if it had been fetched (`sending`).

A followed folder is looked at again: a file is known by its stamp, the time of change and the size. So a look needs to
read no file. A changed file gets the time of the look as its generation: an older copy that is put back is as new as
its coming back.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, starmap
from pathlib import Path, PurePosixPath

from streams.crawl.archives.folder_pages import HEAD_BYTES, LEFT_OUT, PAGE_SUFFIXES, why_no_page
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, page_of_file
from streams.crawl.archives.regular_files import Stamp, files_below, open_below, stamp_of
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.scope import belongs
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.errors import UsageError

UNREADABLE = "can't be read"
CHANGING = "changes while it is read"
READ_LATER = frozenset({UNREADABLE, CHANGING})
"""Reasons for which a file is skipped that another look may read."""
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
    records = (_read_file(folder, parts, sender.limits, looks=True) for parts, _ in _files(folder))
    await sender.send_all(records, lambda: report.seen, report)
    if not report.imported:
        pages = sum(count for reason, count in report.skipped.items() if not reason.endswith(LEFT_OUT))
        raise UsageError(
            f"{folder} contains no page: {pages} files can be read. Say where people read them, as in "
            f"`riffle import {folder} --as https://docs.example/`, or give a folder that contains a folder for "
            f"each host, such as {folder}/docs.example.org/guide.html{_first_reason(report)}"
        )
    return report


async def import_files(folder: Path, files: Stamps, sender: Sender) -> ImportReport:
    """Import these files of a followed folder, as of `limits.latest`. Raises the errors of `blobs` and `emit`.

    A file that has another stamp than at the look is left to the next look.
    """
    report = ImportReport(total=len(files))

    def read(file: str, stamp: Stamp) -> ArchivedPage | Skipped:
        record = _read_file(folder, PurePosixPath(file).parts, sender.limits, stamp)
        if isinstance(record, ArchivedPage):
            return replace(record, generation=sender.limits.latest)
        if record.reason in READ_LATER:
            report.unread.append(file)
        return record

    await sender.send_all(starmap(read, files.items()), lambda: report.seen, report)
    return report


def stamp_files(folder: Path) -> dict[str, Stamp]:
    """Return the stamp of each file below the folder that may be a page. Raises UsageError."""
    files = ((PurePosixPath(*parts), stamp) for parts, stamp in _files(folder))
    return {path.as_posix(): stamp for path, stamp in files if path.suffix.lower() in PAGE_SUFFIXES}


def _first_reason(report: ImportReport) -> str:
    return "".join(f". {reason}: {example}" for reason, example in islice(report.examples.items(), 1))


def _files(folder: Path) -> Iterator[tuple[tuple[str, ...], Stamp]]:
    """Yield path and stamp of the files below the folder, sorted in each folder, so that all imports have one order."""
    try:
        yield from files_below(folder)
    except OSError as error:
        raise UsageError(f"{error.filename} is not a folder that can be read ({error.strerror})") from error


def _read_file(
    folder: Path, parts: tuple[str, ...], limits: Limits, stamp: Stamp | None = None, *, looks: bool = False
) -> ArchivedPage | Skipped:
    """Read the page of a file. `looks`: its first bytes say whether it is one, and what its address is.

    `stamp`: what the file had when it was looked at. Half of a file that is being written is no page.
    """
    path = "/".join(parts)
    try:
        with open_below(folder, parts) as opened:
            stamp = stamp or stamp_of(opened)
            head = opened.read(HEAD_BYTES)
            if looks and (reason := why_no_page(parts[-1], head)):
                return Skipped(reason, path)
            body = head + opened.read(max(limits.max_body_bytes + 1 - len(head), 0))
            if stamp_of(opened) != stamp:
                return Skipped(CHANGING, path)
    except OSError as error:
        return Skipped(UNREADABLE, f"{folder / path}: {error.strerror}")
    return page_of_file(parts, stamp[0] // 1_000, body, limits, believes_comments=looks)


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
