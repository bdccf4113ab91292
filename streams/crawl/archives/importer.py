"""The import of archives: each page of an archive becomes a blob and a `pages.fetched` event, each line of a WAT file
with links an event about them.

All stages after the fetch handle an imported page like any other page (`sending`).
"""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from os import fstat
from pathlib import Path
from typing import BinaryIO

from schemas import LinkFound
from streams.crawl.archives.common_crawl import read_wat
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped, read_warc
from streams.crawl.archives.regular_files import open_regular
from streams.crawl.archives.sending import ImportReport, Sender
from streams.crawl.archives.wacz import MAGIC, NotWacz, warcs_of
from streams.crawl.archives.warc import NotWarc
from streams.crawl.archives.wikipedia_html import read_html_dump
from streams.crawl.archives.zim import NotZim, ZimFile
from streams.crawl.archives.zim_pages import read_zim
from streams.errors import UsageError
from streams.runtime.agent import Emit


async def import_warc(path: Path, sender: Sender) -> ImportReport:
    """Import each page of a WARC, WET or WACZ file, packed or not. The links of the pages are not followed.

    Raises UsageError if the file can't be read or is none of these, and the errors of `blobs` and `emit`. After an
    error of `blobs` or `emit`, run the import again.
    """
    with await asyncio.to_thread(open_archive, path) as file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=sender.skip)
        magic = file.read(len(MAGIC))
        file.seek(0)
        read = _read_wacz if magic == MAGIC else read_warc
        try:
            await sender.send_all(islice(read(file, sender.limits), sender.skip, None), file.tell, report)
        except NotWarc as error:
            raise UsageError(f"{path} is not a WARC file: {error}") from error
        except NotWacz as error:
            raise UsageError(f"{path} is not a WACZ file: {error}") from error
    return report


def _read_wacz(file: BinaryIO, limits: Limits) -> Iterator[ArchivedPage | Skipped]:
    for warc in warcs_of(file):
        if warc.file is None:
            yield Skipped(warc.reason, warc.name)
            continue
        try:
            yield from read_warc(warc.file, limits)
        except NotWarc as error:
            yield Skipped("no WARC file", f"{warc.name}: {error}")


async def import_zim(path: Path, sender: Sender) -> ImportReport:
    """Import each page of a ZIM file. Raises UsageError."""
    with await asyncio.to_thread(open_archive, path) as file:
        try:
            report = ImportReport(total=ZimFile(file).entries, resumed=sender.skip)
            records = read_zim(file, sender.limits, sender.skip)
            await sender.send_all(records, lambda: sender.skip + report.seen, report)
        except NotZim as error:
            raise UsageError(f"{path} is not a ZIM file that can be read: {error}") from error
    return report


async def import_html_dump(path: Path, sender: Sender) -> ImportReport:
    """Import each article of an HTML dump of a Wikipedia. Raises UsageError."""
    with await asyncio.to_thread(open_archive, path) as file:
        report = ImportReport(total=fstat(file.fileno()).st_size, resumed=sender.skip)
        await sender.send_all(read_html_dump(file, sender.limits, sender.skip), file.tell, report)
    return report


def open_archive(path: Path) -> BinaryIO:
    """Open a file that an operator named. Raises UsageError, also if it is no regular file."""
    try:
        return open_regular(path)
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
