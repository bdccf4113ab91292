"""Sends the pages of an import in batches: first the blob, then the event, with a report of the progress.

Both have the same id each time, so an interrupted import can run again, and running an import twice changes nothing.
The place of an interrupted import is in a file: a later run of the same import starts there.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from schemas import PageFetched
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.archives.page_ids import PageIds
from streams.crawl.archives.readers import ArchivedPage, Limits, Skipped
from streams.crawl.urls import host_of
from streams.runtime.agent import Emit
from streams.stores.protocols import Blobs

MAX_BODY_BYTES = 10 * 1024 * 1024
"""Maximum length of a body (bytes): the default of `crawl.max_body_bytes`, the fetcher's limit."""
IN_FLIGHT = 32
"""Maximum number of pages in memory at once: at most 320 MB."""
Record = TypeVar("Record")


@dataclass(slots=True)
class ImportReport:
    """The progress of an import. The progress callback gets the same object each time, and the import returns it."""

    imported: int = 0
    """Number of records that were sent."""
    pages: PageIds = field(default_factory=PageIds)
    """The pages of these records: several records may have one address. Empty for links, which are no pages."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Number of skipped records by reason."""
    examples: dict[str, str] = field(default_factory=dict)
    """The first skipped record of each reason."""
    unread: list[str] = field(default_factory=list)
    """Files of a followed folder that could not be read: the next look tries them again."""
    notes: Counter[str] = field(default_factory=Counter)
    """Numbers of pages by what is to be said of them beside."""
    resumed: int = 0
    """Number of records that an interrupted run had sent."""
    done: int = 0
    """Bytes of a WARC file, or files of a folder, that were read."""
    total: int = 0

    @property
    def seen(self) -> int:
        """Number of records that were imported or skipped."""
        return self.imported + self.skipped.total()

    def skip(self, record: Skipped) -> None:
        """Count a skipped record, and keep it if it is the first of its reason."""
        self.skipped[record.reason] += 1
        # A detail may be the name of a file that is not UTF-8, which can be printed nowhere.
        self.examples.setdefault(record.reason, record.detail.encode(errors="replace").decode())


Progress = Callable[[ImportReport], None]
HeldBack = Callable[[UUID], Awaitable[bool]]
"""Function that returns whether a page was removed on request. Such a page is not imported."""


def no_progress(_: ImportReport) -> None:
    """Ignore the progress."""


Room = Callable[[], Awaitable[None]]
"""Function that returns when the stages have room for more pages."""


async def always() -> None:
    """Never wait."""


async def never(_: UUID) -> bool:
    """Import every page."""
    return False


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the pages of one import: first the blob, then the event."""

    blobs: Blobs
    emit: Emit
    progress: Progress = no_progress
    limits: Limits = field(default_factory=lambda: Limits(MAX_BODY_BYTES, now_micros()))
    """The limits of the pages. `latest` is the time of the import."""
    crawl_id: str = ""
    trust_dates: bool = False
    """True: a page is as old as its date in the archive, which may be invented. False: as its import."""
    is_held_back: HeldBack = never
    wait_for_room: Room = always
    skip: int = 0
    """Number of records that an interrupted run has sent."""

    async def send_all(
        self, records: Iterator[ArchivedPage | Skipped], position: Callable[[], int], report: ImportReport
    ) -> None:
        """Read and send the records in batches. A page that may not be imported is counted by the reason."""
        async for batch in self.batches(records, position, report):
            for record in await asyncio.gather(*(self.send(record) for record in batch)):
                if isinstance(record, Skipped):
                    report.skip(record)
                else:
                    report.imported += 1
                    report.pages.add(page_id(record.url))

    async def batches(
        self, records: Iterator[Record], position: Callable[[], int], report: ImportReport
    ) -> AsyncIterator[list[Record]]:
        """Yield the records in batches, each when the stages have room, and report the progress after it."""
        while batch := await asyncio.to_thread(lambda: list(islice(records, IN_FLIGHT))):
            await self.wait_for_room()
            yield batch
            report.done = position()
            self.progress(report)

    async def send(self, page: ArchivedPage | Skipped) -> ArchivedPage | Skipped:
        """Send one page. Returns it, or why it is skipped."""
        if isinstance(page, Skipped):
            return page
        if await self.is_held_back(page_id(page.url)):
            return Skipped("removed on request", page.url)
        ref = await self.blobs.put(page.body)
        brought_ref = await self.blobs.put(page.brought) if page.brought else None
        event = PageFetched(
            page_id=page_id(page.url),
            url=page.url,
            host=host_of(page.url),
            outcome="ok",
            generation=page.generation,
            max_depth=0,
            crawl_id=self.crawl_id,
            status=page.status,
            headers=dict(page.headers),
            body_ref=ref,
            body_bytes=len(page.body),
            source=page.source,
            origin=page.origin,
            brought_ref=brought_ref,
            seen_at=None if self.trust_dates else self.limits.latest,
        )
        await self.emit(event, f"import/{page.source}/{page.url}/{page.generation}/{ref}")
        return page


class ImportPlace:
    """The number of records that an import has sent. `name` says what is imported, and changes with the archive."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / f"{blake2b(name.encode(), digest_size=12).hexdigest()}.json"
        self._name = name

    def load(self) -> int:
        """Return the number of records of an interrupted run; 0 if there was none."""
        try:
            saved = json.loads(self._file.read_text(encoding="utf-8"))
            return max(int(saved["records"]), 0) if saved["name"] == self._name else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def save(self, records: int) -> None:
        """Write the place. The file is replaced as a whole."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self._file.with_suffix(".part")
        unfinished.write_text(json.dumps({"name": self._name, "records": records}), encoding="utf-8")
        unfinished.replace(self._file)

    def clear(self) -> None:
        """Forget the place: the import is done."""
        self._file.unlink(missing_ok=True)


def archive_name(*paths: Path) -> str:
    """Return a name of these files that changes with them: their paths, sizes and times of change."""
    facts = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    return json.dumps(facts)
