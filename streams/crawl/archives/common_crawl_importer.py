"""The import of pages that index files of Common Crawl name, from WARC files of a folder."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from streams.crawl.archives.common_crawl import (
    MAX_LINE_BYTES,
    MAX_PATH_BYTES,
    IndexLine,
    PathKind,
    is_list_of_paths,
    read_index,
    read_page,
    read_paths,
)
from streams.crawl.archives.importer import open_archive
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, read_warc
from streams.crawl.archives.regular_files import NO_FILE, open_below
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.archives.unpacking import BLOCK_BYTES, DamagedArchive, Unpacked
from streams.crawl.archives.warc import NotWarc
from streams.errors import UsageError
from streams.lines.bounded import Line, cut_lines

MAX_OPEN_FILES = 64
"""Maximum number of WARC files that are open at once."""


async def import_common_crawl(
    indexes: Sequence[Path], sender: Sender, *, hosts: frozenset[str], warc_folder: Path
) -> ImportReport:
    """Import the pages of hosts that index files of Common Crawl name, from WARC files of a folder.

    `indexes` may be lists of paths, too: of index files, or of WARC files, which are then read as a whole. No index is
    held: its lines are read as their pages are sent. Raises UsageError if a file of `indexes` can't be read, and the
    errors of `blobs` and `emit`.
    """
    limits = replace(sender.limits, hosts=hosts)
    listed = await asyncio.to_thread(find_listed_files, indexes, warc_folder)
    report = ImportReport(total=sum(file.path.stat().st_size for file in listed.files), resumed=sender.skip)
    with ExitStack() as opened:
        reading = _Reading(listed, warc_folder, limits, opened)
        await sender.send_all(reading.records(sender.skip), reading.position, report)
    return report


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of an import."""

    path: Path
    folder: Path | None = None
    """The folder below which a list names the file: no link leads out of it. None: an operator named the file."""

    def open(self) -> BinaryIO:
        """Open the file. Raises UsageError."""
        if self.folder is None:
            return open_archive(self.path)
        try:
            return open_below(self.folder, self.path.relative_to(self.folder).parts)
        except OSError as error:
            raise UsageError(f"{self.path} can't be read: {error.strerror or error}") from error


@dataclass(slots=True)
class ListedFiles:
    """The files of an import that are on this machine."""

    indexes: list[ListedFile] = field(default_factory=list)
    archives: list[ListedFile] = field(default_factory=list)
    """WARC and WET files that are read as a whole."""
    missing: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[ListedFile]:
        return [*self.indexes, *self.archives]


def find_listed_files(paths: Sequence[Path], folder: Path) -> ListedFiles:
    """Return the index files among `paths`, and what the lists among them name below the folder. Raises UsageError."""
    found = ListedFiles()
    for path in paths:
        try:
            with open_archive(path) as file:
                first = Unpacked(file).read1(MAX_PATH_BYTES).partition(b"\n")[0]
                if not is_list_of_paths(first.decode("utf-8", "replace")):
                    found.indexes.append(ListedFile(path))
                    continue
                for name, kind in read_paths(_lines(file, MAX_PATH_BYTES)):
                    _add_listed(found, folder, name, kind)
        except (OSError, DamagedArchive) as error:
            raise UsageError(f"{path} can't be read: {error}") from error
    if not (found.indexes or found.archives):
        raise UsageError(f"{folder} has none of the {len(found.missing):,} files that the lists name")
    return found


def _add_listed(found: ListedFiles, folder: Path, name: str, kind: PathKind) -> None:
    place = None if kind == "other" else _find_below(folder, name)
    if place is not None:
        path, file = place
        file.close()
        (found.indexes if kind == "index" else found.archives).append(ListedFile(path, folder))
    elif kind != "other":
        found.missing.append(name)


class _Reading:
    """The reading of the files of one import, one after the other."""

    def __init__(self, listed: ListedFiles, folder: Path, limits: Limits, opened: ExitStack) -> None:
        self._listed, self._limits, self._warcs = listed, limits, _WarcFiles(folder, opened)
        self._done = 0
        """Bytes of the files that were read to their end."""
        self._file: BinaryIO | None = None

    def position(self) -> int:
        """Return how many bytes were read, of the indexes and of the files that are read as a whole."""
        return self._done + (self._file.tell() if self._file and not self._file.closed else 0)

    def records(self, skip: int) -> Iterator[ArchivedPage | Skipped]:
        """Yield each page, or why there is none. The first `skip` were read by an earlier run: no WARC file is opened
        for those that an index names."""
        missing = (Skipped("listed file is not here", name) for name in self._listed.missing)
        index = (line for file in self._listed.indexes for line in self._index(file))
        number = -1
        for number, found in enumerate(chain(missing, index)):
            if number >= skip:
                yield read_page(found, self._warcs.open, self._limits) if isinstance(found, IndexLine) else found
        whole = (record for file in self._listed.archives for record in self._whole(file))
        yield from islice(whole, max(skip - number - 1, 0), None)

    def _index(self, listed: ListedFile) -> Iterator[IndexLine | Skipped]:
        with self._open(listed) as file:
            try:
                yield from read_index(_lines(file, MAX_LINE_BYTES), listed.path.name, self._limits.hosts)
            except (OSError, DamagedArchive) as error:
                yield Skipped("the rest of a damaged index", f"{listed.path}: {error}")

    def _whole(self, listed: ListedFile) -> Iterator[ArchivedPage | Skipped]:
        with self._open(listed) as file:
            try:
                yield from read_warc(file, self._limits)
            except NotWarc as error:
                yield Skipped("no WARC file", f"{listed.path}: {error}")

    @contextmanager
    def _open(self, listed: ListedFile) -> Iterator[BinaryIO]:
        with listed.open() as self._file:
            yield self._file
            self._done += self._file.seek(0, 2)


def _lines(file: BinaryIO, max_bytes: int) -> Iterator[Line]:
    """Yield the lines of a file from its beginning, unpacked."""
    file.seek(0)
    unpacked = Unpacked(file)
    return cut_lines(iter(lambda: unpacked.read1(BLOCK_BYTES), b""), max_bytes)


class _WarcFiles:
    """The WARC files of a folder, opened once each."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self._folder = folder
        self._files = files
        self._opened: dict[str, BinaryIO | None] = {}

    def open(self, name: str) -> BinaryIO | None:
        """Return the file with this name below the folder, or None. A name never leads out of the folder."""
        if name not in self._opened:
            if len(self._opened) >= MAX_OPEN_FILES:
                self._files.close()
                self._opened.clear()
            found = _find_below(self._folder, name)
            self._opened[name] = self._files.enter_context(found[1]) if found else None
        return self._opened[name]


def _find_below(folder: Path, name: str) -> tuple[Path, BinaryIO] | None:
    """Open the file with this name below the folder, or with its last part. None: there is no such regular file.

    Raises UsageError if one may be there that can't be opened now.
    """
    parts = tuple(part for part in name.split("/") if part not in ("", ".", ".."))
    for place in (parts, parts[-1:]):
        try:
            return folder.joinpath(*place), open_below(folder, place)
        except OSError as error:
            if error.errno not in NO_FILE:
                raise UsageError(
                    f"{folder.joinpath(*place)} can't be read: {error.strerror}. Make it readable, and start the "
                    "same import again: it goes on where this one ended"
                ) from error
        except ValueError:
            continue
    return None
