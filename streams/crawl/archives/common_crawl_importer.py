"""The import of pages that index files of Common Crawl name, from WARC files of a folder."""

import asyncio
import gzip
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, cast

from streams.clock import now_micros
from streams.crawl.archives.common_crawl import IndexLine, read_index, read_pages
from streams.crawl.archives.importer import open_archive
from streams.crawl.archives.readers import Limits
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

MAX_OPEN_FILES = 64
"""Maximum number of WARC files that are open at once."""


async def import_common_crawl(
    indexes: Sequence[Path],
    blobs: Blobs,
    emit: Emit,
    progress: Progress = no_progress,
    *,
    hosts: frozenset[str],
    warc_folder: Path,
    crawl_id: str = "",
    max_depth: int | None = 0,
    max_body_bytes: int = MAX_BODY_BYTES,
    trust_dates: bool = False,
    is_held_back: HeldBack = never,
    wait_for_room: Room = always,
    skip: int = 0,
) -> ImportReport:
    """Import the pages of hosts that index files of Common Crawl name, from WARC files of a folder.

    Raises UsageError if an index can't be read, and the errors of `blobs` and `emit`.
    """
    limits = Limits(max_body_bytes, now_micros())
    sender = Sender(blobs, emit, crawl_id, max_depth, None if trust_dates else limits.latest, is_held_back)
    with ExitStack() as files:
        lines = [line for path in indexes for line in await asyncio.to_thread(_index_lines, path, hosts)]
        report = ImportReport(total=len(lines), resumed=skip)
        warcs = _WarcFiles(warc_folder, files)
        records = read_pages(lines, warcs.open, limits, skip)
        await send_all(records, lambda: skip + report.seen, report, sender, progress, wait_for_room)
    return report


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
            parts = [part for part in name.split("/") if part not in ("", ".", "..")]
            places = [self._folder.joinpath(*parts), self._folder / (parts[-1] if parts else "")]
            found = next((place for place in places if place.is_file()), None)
            if len(self._opened) >= MAX_OPEN_FILES:
                self._files.close()
                self._opened.clear()
            self._opened[name] = self._files.enter_context(found.open("rb")) if found else None
        return self._opened[name]
