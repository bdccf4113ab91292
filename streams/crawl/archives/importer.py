"""`riffle import`: pages out of WARC files and folders enter as `pages.fetched`, and go the same way from there.

Each page is a blob first and an event then. Both have the same name each time, so an import that was cut off is
started again, and an import that is run twice changes nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from os import fstat
from pathlib import Path
from time import time_ns
from typing import BinaryIO

from schemas import PageFetched
from schemas.ids import page_id
from streams.crawl.archives.readers import HTML_SUFFIXES, ArchivedPage, Limits, Skipped, page_of_file, read_warc
from streams.crawl.archives.warc import NoWarc
from streams.crawl.urls import host_of
from streams.errors import UsageError
from streams.runtime.agent import Emit
from streams.stores.protocols import Blobs

MAX_BODY_BYTES = 10 * 1024 * 1024
"""As the fetcher's default (`crawl.max_body_bytes`)."""
IN_FLIGHT = 32
"""Pages that are held and sent at once: at most 320 MB."""


@dataclass(slots=True)
class ImportReport:
    """How far an import is. The same object is given to the progress callback each time, and returned."""

    imported: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """How many records were left out, by reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """Of each reason, the first record that it met."""
    done: int = 0
    """Bytes of a WARC file, or files of a folder."""
    total: int = 0

    @property
    def seen(self) -> int:
        return self.imported + self.skipped.total()


Progress = Callable[[ImportReport], None]


def _no_progress(_: ImportReport) -> None:
    """Nobody looks."""


async def import_warc(
    path: Path,
    blobs: Blobs,
    emit: Emit,
    progress: Progress = _no_progress,
    *,
    crawl_id: str = "",
    max_depth: int | None = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> ImportReport:
    """Send every page of a WARC file, gzipped or not. With `max_depth` 0 its links are not followed; None: no limit.

    Raises UsageError when the file can't be read or is no WARC, and what `blobs` and `emit` raise: then run it again.
    """
    file = await asyncio.to_thread(_open, path)
    with file:
        report = ImportReport(total=fstat(file.fileno()).st_size)
        found = read_warc(file, Limits(max_body_bytes, time_ns() // 1_000))
        try:
            await _send_all(found, file.tell, report, _Sender(blobs, emit, crawl_id, max_depth), progress)
        except NoWarc as error:
            raise UsageError(f"{path} is not a WARC file: {error}") from error
    return report


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error


async def import_html(
    folder: Path,
    blobs: Blobs,
    emit: Emit,
    progress: Progress = _no_progress,
    *,
    crawl_id: str = "",
    max_depth: int | None = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> ImportReport:
    """Send every FOLDER/HOST/path.html as https://HOST/path.html. Symbolic links are not followed.

    Raises UsageError when there is no such folder or no such file in it, and what `blobs` and `emit` raise.
    """
    files = await asyncio.to_thread(_html_files, folder)
    report = ImportReport(total=len(files))
    limits = Limits(max_body_bytes, time_ns() // 1_000)
    found = (_read_file(folder, file, limits) for file in files)
    await _send_all(found, lambda: report.seen, report, _Sender(blobs, emit, crawl_id, max_depth), progress)
    if not report.imported:
        raise UsageError(
            f"{folder} holds no page: {len(files)} HTML files were found. It must hold a folder for each host, "
            f"named as the host, such as {folder}/docs.example.org/guide.html{_first_reason(report)}"
        )
    return report


def _first_reason(report: ImportReport) -> str:
    return "".join(f". {reason}: {example}" for reason, example in islice(report.examples.items(), 1))


def _html_files(folder: Path) -> list[Path]:
    """Sorted, so that an import goes the same way each time."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in HTML_SUFFIXES and path.is_file() and not _leads_away(folder, path)
    )


def _leads_away(folder: Path, path: Path) -> bool:
    """Whether a symbolic link is on the way: it may lead to any file of this machine."""
    return any(step.is_symlink() for step in (path, *path.parents) if step != folder and folder in step.parents)


def _read_file(folder: Path, file: Path, limits: Limits) -> ArchivedPage | Skipped:
    try:
        with file.open("rb") as opened:
            body = opened.read(limits.max_body_bytes + 1)
        modified_at = file.stat().st_mtime_ns // 1_000
    except OSError as error:
        return Skipped("can't be read", f"{file}: {error.strerror}")
    return page_of_file(file.relative_to(folder).parts, modified_at, body, limits)


async def _send_all(
    found: Iterator[ArchivedPage | Skipped],
    position: Callable[[], int],
    report: ImportReport,
    sender: "_Sender",
    progress: Progress,
) -> None:
    """Read some, send them, tell how far it is; until nothing is left."""
    while batch := await asyncio.to_thread(lambda: list(islice(found, IN_FLIGHT))):
        pages = [page for page in batch if isinstance(page, ArchivedPage)]
        await sender.send(pages)
        _count(report, batch)
        report.done = position()
        progress(report)


def _count(report: ImportReport, batch: Iterable[ArchivedPage | Skipped]) -> None:
    for one in batch:
        if isinstance(one, Skipped):
            report.skipped[one.reason] += 1
            report.examples.setdefault(one.reason, one.detail)
        else:
            report.imported += 1


@dataclass(frozen=True, slots=True)
class _Sender:
    """Blob first, event then."""

    blobs: Blobs
    emit: Emit
    crawl_id: str
    max_depth: int | None

    async def send(self, pages: Iterable[ArchivedPage]) -> None:
        await asyncio.gather(*(self._send(page) for page in pages))

    async def _send(self, page: ArchivedPage) -> None:
        ref = await self.blobs.put(page.body)
        event = PageFetched(
            page_id=page_id(page.url),
            url=page.url,
            host=host_of(page.url),
            outcome="ok",
            generation=page.generation,
            max_depth=self.max_depth,
            crawl_id=self.crawl_id,
            status=page.status,
            headers=dict(page.headers),
            body_ref=ref,
            body_bytes=len(page.body),
            source=page.source,
        )
        await self.emit(event, f"import/{page.source}/{page.url}/{page.generation}/{ref}")
