"""The import of pages that index files of Common Crawl name, from WARC files of a folder."""

import asyncio
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, cast

from streams.crawl.archives.common_crawl import (
    MAX_LINE_CHARS,
    IndexLine,
    PathKind,
    is_list_of_paths,
    read_index,
    read_pages,
    read_paths,
)
from streams.crawl.archives.importer import open_archive
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, read_warc
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.archives.warc import NotWarc
from streams.errors import UsageError

MAX_OPEN_FILES = 64
"""Maximum number of WARC files that are open at once."""


async def import_common_crawl(
    indexes: Sequence[Path], sender: Sender, *, hosts: frozenset[str], warc_folder: Path
) -> ImportReport:
    """Import the pages of hosts that index files of Common Crawl name, from WARC files of a folder.

    `indexes` may be lists of paths, too: of index files, or of WARC files, which are then read as a whole. Raises
    UsageError if an index can't be read, and the errors of `blobs` and `emit`.
    """
    limits, skip = replace(sender.limits, hosts=hosts), sender.skip
    listed = await asyncio.to_thread(find_listed_files, indexes, warc_folder)
    with ExitStack() as files:
        lines = [line for path in listed.indexes for line in await asyncio.to_thread(_index_lines, path, hosts)]
        report = ImportReport(total=0 if listed.archives else len(listed.missing) + len(lines), resumed=skip)
        warcs = _WarcFiles(warc_folder, files)
        missing = [Skipped("listed file is not here", name) for name in listed.missing]
        named = read_pages(lines, warcs.open, limits, max(skip - len(missing), 0))
        whole = islice(_read_whole(listed.archives, limits), max(skip - len(missing) - len(lines), 0), None)
        records = chain(missing[skip:], named, whole)
        await sender.send_all(records, lambda: skip + report.seen, report)
    return report


@dataclass(slots=True)
class ListedFiles:
    """The files of an import that are on this machine."""

    indexes: list[Path] = field(default_factory=list)
    archives: list[Path] = field(default_factory=list)
    """WARC and WET files that are read as a whole."""
    missing: list[str] = field(default_factory=list)


def find_listed_files(paths: Sequence[Path], folder: Path) -> ListedFiles:
    """Return the index files among `paths`, and what the lists among them name below the folder. Raises UsageError."""
    found = ListedFiles()
    for path in paths:
        with open_archive(path) as file:
            lines = TextIOWrapper(_decompressed(file), "utf-8", "replace")
            try:
                first = lines.readline(MAX_LINE_CHARS)
                if not is_list_of_paths(first):
                    found.indexes.append(path)
                    continue
                for name, kind in read_paths(chain([first], lines)):
                    _add_listed(found, folder, name, kind)
            except (OSError, EOFError, zlib.error) as error:
                raise UsageError(f"{path} can't be read: {error}") from error
    if not (found.indexes or found.archives):
        raise UsageError(f"{folder} has none of the {len(found.missing):,} files that the lists name")
    return found


def _add_listed(found: ListedFiles, folder: Path, name: str, kind: PathKind) -> None:
    place = None if kind == "other" else _place_below(folder, name)
    if place is not None:
        (found.indexes if kind == "index" else found.archives).append(place)
    elif kind != "other":
        found.missing.append(name)


def _read_whole(paths: Sequence[Path], limits: Limits) -> Iterator[ArchivedPage | Skipped]:
    """Yield the pages of WARC files, one file after the other."""
    for path in paths:
        with open_archive(path) as file:
            try:
                yield from read_warc(file, limits)
            except NotWarc as error:
                yield Skipped("no WARC file", f"{path}: {error}")


def _index_lines(path: Path, hosts: frozenset[str]) -> list[IndexLine]:
    with open_archive(path) as file:
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
            found = _place_below(self._folder, name)
            if len(self._opened) >= MAX_OPEN_FILES:
                self._files.close()
                self._opened.clear()
            self._opened[name] = self._files.enter_context(found.open("rb")) if found else None
        return self._opened[name]


def _place_below(folder: Path, name: str) -> Path | None:
    """Return the file with this name below the folder, or with its last part; or None. It is never outside of it."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    places = [folder.joinpath(*parts), folder / (parts[-1] if parts else "")]
    return next((place for place in places if place.is_file()), None)
