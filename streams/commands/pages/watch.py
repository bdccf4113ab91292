"""`riffle watch`: keep the pages of a folder searchable while its files change."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer
from watchfiles import awatch

from schemas import PageRemoved
from schemas.ids import page_id
from streams.clock import now_micros
from streams.commands.console import AsJson, command, err, load_kafka_settings, out, print_json
from streams.commands.pages.importing import Exclude, HeldBack, Include, placing_options, print_report, report_as_fields
from streams.crawl.archives.file_importer import (
    UNREAD,
    Changes,
    Stamps,
    compare,
    import_files,
    read_stamps,
    stamp_files,
    twins_of,
    url_of,
    write_stamps,
)
from streams.crawl.archives.readers import Limits, Placing
from streams.crawl.archives.regular_files import GONE
from streams.crawl.archives.sending import MAX_BODY_BYTES, ImportReport, Sender
from streams.errors import UsageError
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores

DEBOUNCE_MS = 1_000
"""Pause after a change until the folder is looked at (ms), so that a build is seen as a whole."""
RETRY_SECONDS = 10.0
"""Pause after a look that could not read a part of the folder (seconds)."""


@command
async def watch(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="DIR", help="HTML, Markdown, text and PDF files.")
    ],
    address: Annotated[
        str, typer.Option("--as", metavar="URL", help="The address of the folder, at which people read its pages.")
    ],
    include: Include = None,
    exclude: Exclude = None,
    once: Annotated[bool, typer.Option("--once", help="Bring the index up to date once, and end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make the pages of a folder searchable, and follow it: changed files are indexed again, deleted ones removed.

    The state of the folder is kept in the home folder. So changes while nobody watched are seen at the next start.

    Examples:

        riffle watch docs/build/html --as https://docs.example/
        riffle watch notes/ --as http://localhost:8000/ --exclude '/drafts/*'
        riffle watch site/ --as https://docs.example/ --once
    """
    if as_json and not once:
        raise UsageError("--json needs --once: without it, there is no end at which the result is known")
    placing = placing_options(address, include, exclude)
    settings = load_kafka_settings()
    async with open_stores(settings, ["records"]) as stores, EventProducer(settings, "watch") as producer:
        followed = Followed(settings, stores, producer, folder, **placing)
        async for _ in follow_changes(folder, once):
            print_look(await look_until_read(followed, once), as_json=as_json)


async def look_until_read(followed: "Followed", once: bool, pause: float = RETRY_SECONDS) -> "Look":
    """Return the next look that reads all of the folder. Raises UsageError if there is no folder, or only one look."""
    while True:
        try:
            return await followed.look()
        except UsageError as error:
            if once or (isinstance(cause := error.__cause__, OSError) and cause.errno in GONE):
                raise
            err.print(f"{error}. Nothing of the folder is changed in the index; it is tried again in {pause:.0f} s.")
            await asyncio.sleep(pause)


async def follow_changes(folder: Path, once: bool) -> AsyncGenerator[None]:
    """Yield now, and then after each change. A change while the first look lasts counts, too."""
    if once:
        yield
        return
    changes = awatch(folder, debounce=DEBOUNCE_MS, recursive=True)
    change = asyncio.ensure_future(anext(changes))
    try:
        await asyncio.sleep(0)  # the task begins to watch
        yield
        err.print(f"Following {folder}. Ctrl-C ends it.")
        while True:
            await change
            change = asyncio.ensure_future(anext(changes))
            yield
    finally:
        change.cancel()
        await asyncio.wait([change])


@dataclass(frozen=True, slots=True)
class Look:
    """The result of one look at a folder."""

    changes: Changes
    imported: ImportReport
    removed: int
    """Number of pages whose files were deleted."""


def print_look(look: Look, *, as_json: bool) -> None:
    """Print what was imported and removed. Where nothing changed, there is only something to say for programs."""
    if as_json:
        print_json({**report_as_fields(look.imported), "removed": look.removed})
        return
    if look.imported.seen:
        print_report(look.imported)
    if look.removed:
        out.print(f"{look.removed} pages of deleted files are removed.")


class Followed:
    """A folder that is followed."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        producer: EventProducer,
        folder: Path,
        place: Placing,
        patterns: tuple[str, ...],
    ) -> None:
        self._stores, self._producer, self._folder = stores, producer, folder
        self._limits = partial(Limits, MAX_BODY_BYTES, patterns=patterns, place=place)
        name = sha256(f"{folder.resolve()} {place.address}".encode()).hexdigest()[:16]
        self._file = settings.home / "watched" / f"{name}.json"
        self._stamps: Stamps = read_stamps(self._file.read_text()) if self._file.is_file() else {}

    async def look(self) -> Look:
        """Import what changed and remove what is gone, then remember the state of the folder."""
        now = await asyncio.to_thread(stamp_files, self._folder)
        changes = compare(self._stamps, now)
        limits, report = self._limits(now_micros()), ImportReport()
        twins = await asyncio.to_thread(twins_of, changes.gone, now, limits)
        if changed := sorted({*changes.changed, *twins}):  # the twin of a deleted file has its page now
            held_back = HeldBack(self._stores, time.monotonic)
            blobs, crawl_id = self._stores.blobs, uuid4().hex[:12]
            sender = Sender(blobs, self._producer, limits=limits, crawl_id=crawl_id, is_held_back=held_back)
            report = await import_files(self._folder, {path: now[path] for path in changed}, sender)
        if removals := removals_of(changes.gone, twins, limits):
            await self._producer.send_ahead(removals)
        now |= dict.fromkeys(report.unread, UNREAD)
        if now != self._stamps:
            await asyncio.to_thread(self._save, now)
        self._stamps = now
        return Look(changes, report, len(removals))

    def _save(self, stamps: Stamps) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_suffix(".part")
        unfinished.write_text(write_stamps(stamps))
        unfinished.replace(self._file)


def removals_of(paths: Sequence[str], there: Iterable[str], limits: Limits) -> list[PageRemoved]:
    """Return the removals of the pages of deleted files. A page that has a file `there` stays: it was only renamed.

    Its import has the same generation as the removal would have, and of these two the removal wins.
    """
    kept = {url_of(path, limits) for path in there}
    urls = dict.fromkeys(url for path in paths if (url := url_of(path, limits)) and url not in kept)
    return [
        PageRemoved(
            page_id=page_id(url), url=url, generation=limits.latest, reason="gone", detail="its file was deleted"
        )
        for url in urls
    ]
