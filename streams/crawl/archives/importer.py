"""The import of archives: each page of a WARC file becomes a blob and a `pages.fetched` event, each line of a WAT file
with links an event about them.

All stages after the fetch handle an imported page like any other page (`sending`).
"""

import asyncio
from collections.abc import Sequence
from itertools import islice
from os import fstat
from pathlib import Path
from typing import Any, BinaryIO

from schemas import LinkFound
from streams.clock import now_micros
from streams.crawl.archives.common_crawl import read_wat
from streams.crawl.archives.readers import NO_PLACE, Limits, Placing, Skipped, read_warc
from streams.crawl.archives.sending import (
    IN_FLIGHT,
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
from streams.crawl.archives.warc import NotWarc
from streams.errors import UsageError
from streams.runtime.agent import Emit
from streams.stores.protocols import Blobs


async def import_warc(
    path: Path,
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
    skip: int = 0,
) -> ImportReport:
    """Import each page of a WARC or WET file, gzipped or not. The first `skip` records were sent before.

    With `max_depth` 0 the links of the pages are not followed; None: no limit. A page is as old as its import; with
    `trust_dates` as its date in the archive, which may be invented. Raises UsageError if the file can't be read or is
    not a WARC file, and the errors of `blobs` and `emit`. After an error of `blobs` or `emit`, run the import again.
    """
    file = await asyncio.to_thread(open_archive, path)
    with file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=skip)
        limits = Limits(max_body_bytes, now_micros(), patterns, place)
        records = islice(read_warc(file, limits), skip, None)
        sender = Sender(blobs, emit, crawl_id, max_depth, None if trust_dates else limits.latest, is_held_back)
        try:
            await send_all(records, file.tell, report, sender, progress, wait_for_room)
        except NotWarc as error:
            raise UsageError(f"{path} is not a WARC file: {error}") from error
    return report


def open_archive(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error


async def import_wat(
    path: Path,
    blobs: Blobs,
    emit: Emit,
    progress: Progress = no_progress,
    *,
    wait_for_room: Room = always,
    skip: int = 0,
    **_: Any,
) -> ImportReport:
    """Import the links between hosts of a WAT file. `imported` counts pages with such links. Raises UsageError."""
    file = await asyncio.to_thread(open_archive, path)
    with file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=skip)
        records = islice(read_wat(file, now_micros()), skip, None)
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
            report.skip(record)
            continue
        report.imported += 1
        await asyncio.gather(
            *(emit(link, f"import/wat/{link.source_url}/{link.generation}/{link.target_host}") for link in record)
        )
