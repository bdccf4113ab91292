"""The import of archives: each page of a WARC file or folder becomes a blob and a `pages.fetched` event.

All stages after the fetch handle an imported page like any other page. The blob is stored before the event is sent, and
both have the same id each time: so an interrupted import can run again, and running an import twice changes nothing.
"""

import asyncio
import gzip
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from itertools import islice
from os import fstat
from pathlib import Path
from time import time_ns
from typing import Any, BinaryIO, cast
from uuid import UUID

from schemas import LinkFound, PageFetched
from schemas.ids import page_id
from streams.crawl.archives.common_crawl import IndexLine, read_index, read_pages, read_wat
from streams.crawl.archives.readers import (
    NO_PLACE,
    PAGE_SUFFIXES,
    ArchivedPage,
    Limits,
    Placing,
    Skipped,
    page_of_file,
    read_warc,
)
from streams.crawl.archives.warc import NotWarc
from streams.crawl.urls import host_of
from streams.errors import UsageError
from streams.runtime.agent import Emit
from streams.stores.protocols import Blobs

MAX_BODY_BYTES = 10 * 1024 * 1024
"""Maximum length of a body (bytes): the default of `crawl.max_body_bytes`, the fetcher's limit."""
MAX_OPEN_FILES = 64
"""Maximum number of WARC files that are open at once."""
IN_FLIGHT = 32
"""Maximum number of pages in memory at once: at most 320 MB."""


@dataclass(slots=True)
class ImportReport:
    """The progress of an import. The progress callback gets the same object each time, and the import returns it."""

    imported: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Number of skipped records by reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first skipped record of each reason."""
    resumed: int = 0
    """Number of records that an interrupted run had sent."""
    done: int = 0
    """Bytes of a WARC file, or files of a folder, that were read."""
    total: int = 0

    @property
    def seen(self) -> int:
        """Number of records that were imported or skipped."""
        return self.imported + self.skipped.total()


Progress = Callable[[ImportReport], None]
HeldBack = Callable[[UUID], Awaitable[bool]]
"""Function that returns whether a page was removed on request. Such a page is not imported."""


def _no_progress(_: ImportReport) -> None:
    """Ignore the progress."""


Room = Callable[[], Awaitable[None]]
"""Function that returns when the stages have room for more pages."""


async def _always() -> None:
    """Never wait."""


async def _never(_: UUID) -> bool:
    """Import every page."""
    return False


async def import_warc(
    path: Path,
    blobs: Blobs,
    emit: Emit,
    progress: Progress = _no_progress,
    *,
    crawl_id: str = "",
    max_depth: int | None = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
    trust_dates: bool = False,
    patterns: tuple[str, ...] = (),
    place: Placing = NO_PLACE,
    is_held_back: HeldBack = _never,
    wait_for_room: Room = _always,
    skip: int = 0,
) -> ImportReport:
    """Import each page of a WARC or WET file, gzipped or not. The first `skip` records were sent before.

    With `max_depth` 0 the links of the pages are not followed; None: no limit. A page is as old as its import; with
    `trust_dates` as its date in the archive, which may be invented. Raises UsageError if the file can't be read or is
    not a WARC file, and the errors of `blobs` and `emit`. After an error of `blobs` or `emit`, run the import again.
    """
    file = await asyncio.to_thread(_open, path)
    with file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=skip)
        limits = Limits(max_body_bytes, time_ns() // 1_000, patterns, place)
        records = islice(read_warc(file, limits), skip, None)
        sender = _Sender(blobs, emit, crawl_id, max_depth, None if trust_dates else limits.latest, is_held_back)
        try:
            await _send_all(records, file.tell, report, sender, progress, wait_for_room)
        except NotWarc as error:
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
    trust_dates: bool = False,
    patterns: tuple[str, ...] = (),
    place: Placing = NO_PLACE,
    is_held_back: HeldBack = _never,
    wait_for_room: Room = _always,
) -> ImportReport:
    """Import each file FOLDER/HOST/path.html as https://HOST/path.html, or FOLDER/path.html at the address of `place`.

    Files of other formats (PDF, Markdown, ...) are imported likewise.

    Symbolic links are not followed.

    Raises UsageError if there is no such folder or no page in it, and the errors of `blobs` and `emit`.
    """
    files = await asyncio.to_thread(_html_files, folder)
    report = ImportReport(total=len(files))
    limits = Limits(max_body_bytes, time_ns() // 1_000, patterns, place)
    records = (_read_file(folder, file, limits) for file in files)
    sender = _Sender(blobs, emit, crawl_id, max_depth, None if trust_dates else limits.latest, is_held_back)
    await _send_all(records, lambda: report.seen, report, sender, progress, wait_for_room)
    if not report.imported:
        raise UsageError(
            f"{folder} contains no page: {len(files)} files can be read. Say where people read them, as in "
            f"`riffle import html {folder} --as https://docs.example/`, or give a folder that contains a folder for "
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
    is_held_back: HeldBack = _never,
) -> ImportReport:
    """Import these files of a followed folder, as of `limits.latest`. Raises the errors of `blobs` and `emit`."""
    report = ImportReport(total=len(files))
    read = (_read_file(folder, folder / file, limits) for file in files)
    records = (replace(one, generation=limits.latest) if isinstance(one, ArchivedPage) else one for one in read)
    sender = _Sender(blobs, emit, crawl_id, 0, limits.latest, is_held_back)
    await _send_all(records, lambda: report.seen, report, sender, _no_progress, _always)
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
        return Skipped("can't be read", f"{file}: {error.strerror}")
    return page_of_file(file.relative_to(folder).parts, modified_at, body, limits)


async def _send_all(
    records: Iterator[ArchivedPage | Skipped],
    position: Callable[[], int],
    report: ImportReport,
    sender: "_Sender",
    progress: Progress,
    wait_for_room: Room,
) -> None:
    """Read and send the records in batches, and report the progress after each batch."""
    while batch := await asyncio.to_thread(lambda: list(islice(records, IN_FLIGHT))):
        await wait_for_room()
        _count(report, await sender.send(batch))
        report.done = position()
        progress(report)


def _count(report: ImportReport, batch: Iterable[ArchivedPage | Skipped]) -> None:
    for record in batch:
        if isinstance(record, Skipped):
            report.skipped[record.reason] += 1
            report.examples.setdefault(record.reason, record.detail)
        else:
            report.imported += 1


@dataclass(frozen=True, slots=True)
class _Sender:
    """Sends pages: first the blob, then the event."""

    blobs: Blobs
    emit: Emit
    crawl_id: str
    max_depth: int | None
    seen_at: int | None
    """The time of the import, which counts as the age of the pages. None: their dates count."""
    is_held_back: HeldBack

    async def send(self, records: Sequence[ArchivedPage | Skipped]) -> list[ArchivedPage | Skipped]:
        """Send the pages, and return the records. A page that may not be imported is replaced by the reason."""
        return await asyncio.gather(*(self._send(record) for record in records))

    async def _send(self, page: ArchivedPage | Skipped) -> ArchivedPage | Skipped:
        if isinstance(page, Skipped):
            return page
        if await self.is_held_back(page_id(page.url)):
            return Skipped("removed on request", page.url)
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
            seen_at=self.seen_at,
        )
        await self.emit(event, f"import/{page.source}/{page.url}/{page.generation}/{ref}")
        return page


async def import_common_crawl(
    indexes: Sequence[Path],
    blobs: Blobs,
    emit: Emit,
    progress: Progress = _no_progress,
    *,
    hosts: frozenset[str],
    warc_folder: Path,
    crawl_id: str = "",
    max_depth: int | None = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
    trust_dates: bool = False,
    is_held_back: HeldBack = _never,
    wait_for_room: Room = _always,
    skip: int = 0,
) -> ImportReport:
    """Import the pages of hosts that index files of Common Crawl name, from WARC files of a folder.

    Raises UsageError if an index can't be read, and the errors of `blobs` and `emit`.
    """
    limits = Limits(max_body_bytes, time_ns() // 1_000)
    sender = _Sender(blobs, emit, crawl_id, max_depth, None if trust_dates else limits.latest, is_held_back)
    with ExitStack() as files:
        lines = [line for path in indexes for line in await asyncio.to_thread(_index_lines, path, hosts)]
        report = ImportReport(total=len(lines), resumed=skip)
        warcs = _WarcFiles(warc_folder, files)
        records = read_pages(lines, warcs.open, limits, skip)
        await _send_all(records, lambda: skip + report.seen, report, sender, progress, wait_for_room)
    return report


def _index_lines(path: Path, hosts: frozenset[str]) -> list[IndexLine]:
    with _open(path) as file:
        lines = TextIOWrapper(_decompressed(file), "utf-8", "replace")
        try:
            return list(read_index(lines, hosts))
        except (OSError, EOFError, zlib.error) as error:
            raise UsageError(f"{path} can't be read: {error}") from error


def _decompressed(file: BinaryIO) -> BinaryIO:
    magic = file.read(2)
    file.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb")) if magic == b"\x1f\x8b" else file


class _WarcFiles:
    """The WARC files of a folder, opened once each."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self._folder = folder
        self._files = files
        self._opened: dict[str, BinaryIO | None] = {}

    def open(self, name: str) -> BinaryIO | None:
        """Return the file with this name below the folder, or None. A name never leads out of the folder."""
        if name not in self._opened:
            parts = [part for part in name.split("/") if part not in ("", ".", "..")]
            places = [self._folder.joinpath(*parts), self._folder / (parts[-1] if parts else "")]
            found = next((place for place in places if place.is_file()), None)
            if len(self._opened) >= MAX_OPEN_FILES:
                self._files.close()
                self._opened.clear()
            self._opened[name] = self._files.enter_context(found.open("rb")) if found else None
        return self._opened[name]


async def import_wat(
    path: Path,
    blobs: Blobs,
    emit: Emit,
    progress: Progress = _no_progress,
    *,
    wait_for_room: Room = _always,
    skip: int = 0,
    **_: Any,
) -> ImportReport:
    """Import the links between hosts of a WAT file. `imported` counts pages with such links. Raises UsageError."""
    file = await asyncio.to_thread(_open, path)
    with file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=skip)
        records = islice(read_wat(file, time_ns() // 1_000), skip, None)
        try:
            while batch := await asyncio.to_thread(lambda: list(islice(records, IN_FLIGHT))):
                await wait_for_room()
                await _send_links(batch, emit, report)
                report.done = file.tell()
                progress(report)
        except NotWarc as error:
            raise UsageError(f"{path} is not a WAT file: {error}") from error
    return report


async def _send_links(batch: Sequence[list[LinkFound] | Skipped], emit: Emit, report: ImportReport) -> None:
    for record in batch:
        if isinstance(record, Skipped):
            report.skipped[record.reason] += 1
            report.examples.setdefault(record.reason, record.detail)
            continue
        report.imported += 1
        await asyncio.gather(
            *(emit(link, f"import/wat/{link.source_url}/{link.generation}/{link.target_host}") for link in record)
        )
