"""The import of archives: each page of a WARC file becomes a blob and a `pages.fetched` event, each line of a WAT file
with links an event about them.

All stages after the fetch handle an imported page like any other page (`sending`).
"""

import asyncio
from collections.abc import Sequence
from itertools import islice
from os import fstat
from pathlib import Path
from typing import BinaryIO

from schemas import LinkFound
from streams.crawl.archives.common_crawl import read_wat
from streams.crawl.archives.readers import Skipped, read_warc
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.archives.warc import NotWarc
from streams.errors import UsageError
from streams.runtime.agent import Emit


async def import_warc(path: Path, sender: Sender) -> ImportReport:
    """Import each page of a WARC or WET file, gzipped or not. The links of the pages are not followed.

    Raises UsageError if the file can't be read or is not a WARC file, and the errors of `blobs` and `emit`. After an
    error of `blobs` or `emit`, run the import again.
    """
    with await asyncio.to_thread(open_archive, path) as file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=sender.skip)
        records = islice(read_warc(file, sender.limits), sender.skip, None)
        try:
            await sender.send_all(records, file.tell, report)
        except NotWarc as error:
            raise UsageError(f"{path} is not a WARC file: {error}") from error
    return report


def open_archive(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror or error}") from error


async def import_wat(path: Path, sender: Sender) -> ImportReport:
    """Import the links between hosts of a WAT file. `imported` counts pages with such links. Raises UsageError."""
    with await asyncio.to_thread(open_archive, path) as file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=sender.skip)
        records = islice(read_wat(file, sender.limits.latest), sender.skip, None)
        try:
            async for batch in sender.batches(records, file.tell, report):
                await _send_links(batch, sender.emit, report)
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
