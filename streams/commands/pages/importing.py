"""The import of pages that were fetched elsewhere, until they are searchable (`riffle import`)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import typer
from rich.progress import Progress

from streams.allowed_origins import EVERY_ORIGIN
from streams.commands.console import EXIT_NO, err, load_kafka_settings, out, print_json, styled
from streams.commands.job_reports import Report, reported
from streams.commands.watching import FOLLOWED, LOOK_SECONDS, Bars, BrokersAway, Seen, machine_load
from streams.crawl.archives.readers import NO_PLACE, Placing
from streams.crawl.archives.sending import ImportPlace, ImportReport, Sender, archive_name
from streams.crawl.scope import make_patterns
from streams.crawl.urls import with_scheme
from streams.errors import KafkaAway, RestoreUnfinished, TransientError, UsageError
from streams.runtime.lags.backpressure import AFTER_SOURCES, LagWatch, PausingSource, describe_shortage
from streams.runtime.lags.stage_lags import LagReader
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import Follower
from streams.settings import Settings
from streams.stores.opener import Stores, open_stores
from streams.stores.removals import is_held_back

TrustDates = Annotated[bool, typer.Option("--trust-dates", help="Pages are as old as the archive or file says.")]
As = Annotated[
    str,
    typer.Option(
        "--as", metavar="URL", help="The address at which people read the folder, or the archive's first server."
    ),
]
Include = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="Only URLs like it, as `/docs/*`. May be repeated.")
]
Exclude = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="No URLs like it. May be repeated.")]
AWAY_SECONDS = 120.0
"""Maximum time for which an import waits for brokers that don't answer (seconds): a stack starts in less."""
RESTORE_LOOK_SECONDS = 1.0
"""Time between two looks for the mark of an unfinished restore (seconds)."""
Import = Callable[[Path, Sender], Awaitable[ImportReport]]


def placing_options(address: str, include: list[str] | None, exclude: list[str] | None) -> dict[str, Any]:
    """Return which URLs are imported, and the address that they get. Raises UsageError."""
    try:
        patterns = make_patterns(include or (), exclude or ())
        place = Placing(with_scheme(address, EVERY_ORIGIN)) if address else NO_PLACE
    except ValueError as error:
        raise UsageError(str(error)) from None
    return {"patterns": patterns, "place": place}


class HeldBack:
    """The check whether a page may not be imported. It also ends the import when a restore begins meanwhile.

    Before an import begins, `open_stores` refuses an installation whose restore is not finished.
    """

    def __init__(self, stores: Stores, clock: Callable[[], float]) -> None:
        self._stores, self._clock = stores, clock
        self._looks_again = 0.0

    async def __call__(self, page_id: UUID) -> bool:
        """Return whether the page was removed on request. Raises RestoreUnfinished."""
        if self._stores.unfinished_restore and self._clock() >= self._looks_again:
            self._looks_again = self._clock() + RESTORE_LOOK_SECONDS
            if problem := await self._stores.unfinished_restore():
                raise RestoreUnfinished(problem)
        return is_held_back(await self._stores.pages.get(page_id))


async def import_archive(read: Import, path: Path, wait: bool, as_json: bool, name: str = "") -> int:
    """Import an archive. `name`: what is imported, for the place of an interrupted run; by default the file."""
    settings, finished = load_kafka_settings(), True
    seen, place = Seen(uuid4().hex[:12], last_event_at=time.monotonic()), _place_of(settings, path, name)
    report: ImportReport | None = None
    follower = await asyncio.to_thread(Follower, settings, FOLLOWED)
    try:
        with Bars(err) as bars:
            async with open_stores(settings, ["records"]) as stores, reported(stores.notes, "import") as say:
                report = await _read_archive(settings, partial(read, path), stores, seen.crawl_id, bars, place, say)
                if wait:
                    seen.last_event_at = time.monotonic()  # no event was looked at during the reading
                    finished = await _wait_until_settled(follower, seen, len(report.pages), stores, bars, say)
    except asyncio.CancelledError:
        again = "" if report else " Run it again to send the rest." if place else " Run it again to send all of it."
        err.print(f"The workers go on with the pages that were sent.{again}")
        raise
    finally:
        follower.close()
    if as_json:
        print_json(report_as_fields(report, seen if wait else None, finished))
    else:
        print_report(report)
    if wait and not as_json:
        removed = ", ".join(f"{count} {reason}" for reason, count in seen.reasons().items()) or "none"
        out.print(f"Searchable: {seen.searchable}; not indexed: {removed}.")
        if seen.older:
            out.print(f"Older than what is stored of the same page, which stays: {len(seen.older)}.")
        if sentence := seen.describe_cut():
            out.print(sentence)
    if not finished:
        err.print(
            styled(
                "[yellow]There was no event for {} s.[/] Look at `riffle status --topics`.",
                round(time.monotonic() - seen.last_event_at),
            )
        )
    return 0 if finished and report.imported else EXIT_NO


def _place_of(settings: Settings, path: Path, name: str) -> ImportPlace | None:
    """Return the place of an interrupted import. A folder has none, since its files may change."""
    if not name and not path.is_file():
        return None
    return ImportPlace(settings.home / "imports", name or archive_name(path))


async def _read_archive(
    settings: Settings,
    read: Callable[[Sender], Awaitable[ImportReport]],
    stores: Stores,
    crawl_id: str,
    bars: Progress,
    place: ImportPlace | None,
    say: Report,
) -> ImportReport:
    """Send the pages of the archive, and wait while a stage is too far behind."""
    reading = bars.add_task("Read", total=None)

    def show(report: ImportReport) -> None:
        bars.update(reading, completed=report.done, total=report.total or None)
        say(f"Reading: {report.imported:,} pages", report.done / report.total if report.total else None)
        if place:
            place.save(report.resumed + report.seen)

    def show_wait(reason: str) -> None:
        bars.update(reading, description=f"Read{reason}")

    shortage = partial(describe_shortage, settings)
    with closing(LagReader(settings, AFTER_SOURCES)) as lags:
        source = PausingSource(
            LagWatch(lags.read, settings.crawl.max_stage_lag_events, describe_shortage=shortage), show_wait
        )
        async with EventProducer(settings, "import") as producer:
            sender = Sender(
                stores.blobs,
                producer,
                show,
                crawl_id=crawl_id,
                is_held_back=HeldBack(stores, time.monotonic),
                wait_for_room=source.wait,
                skip=place.load() if place else 0,
            )
            report = await read(sender)
    if place:
        place.clear()
    return report


def report_as_fields(report: ImportReport, seen: Seen | None = None, finished: bool = True) -> dict[str, Any]:
    """Return the result of an import for a program. `seen`: the pages, if the import was watched to the index."""
    fields: dict[str, Any] = {
        "imported": report.imported,
        "pages": len(report.pages),
        "skipped": [
            {"reason": reason, "count": count, "example": report.examples.get(reason, "")}
            for reason, count in report.skipped.most_common()
        ],
    }
    if report.notes:
        fields["notes"] = dict(report.notes)
    if seen is None:
        return fields
    watched: dict[str, Any] = {"finished": finished, "searchable": seen.searchable, "set_aside": seen.reasons()}
    watched["older"] = len(seen.older)
    watched["searchable_in_part"] = [page._asdict() for page in seen.cut.values()]
    return fields | watched


def print_report(report: ImportReport) -> None:
    """Print the number of imported pages, and the reasons for skipped pages, each with an example."""
    if report.resumed:
        out.print(f"It went on after {report.resumed:,} records of an interrupted run.")
    repeated = report.imported - len(report.pages) if report.pages else 0
    out.print(f"{report.imported - repeated} pages imported.")
    for note, count in report.notes.items():
        out.print(f"  {count} {note}.")
    if repeated:
        out.print(f"  {repeated} more had the address of one of them: of each page, the newest is searchable.")
    for reason, count in report.skipped.most_common():
        example = report.examples.get(reason, "")
        out.print(f"  {count} skipped: {reason}{example and f', such as {example}'}")


async def _wait_until_settled(
    follower: Follower, seen: Seen, pages: int, stores: Stores, bars: Progress, say: Report
) -> bool:
    """Wait until each imported page is searchable or removed. Return False if no event came for long.

    Raises KafkaAway.
    """
    indexing, brokers = bars.add_task("Searchable", total=pages or None), BrokersAway(bars.console)
    while len(seen.fetched) < pages or seen.under_way:
        events = await asyncio.to_thread(lambda: list(follower.poll(LOOK_SECONDS)))
        now, load = time.monotonic(), machine_load()
        seen.note(events, now)
        if brokers.look(follower.away_since, now) > AWAY_SECONDS:
            raise KafkaAway(
                f"Kafka has not answered for {AWAY_SECONDS:.0f} s. It has the pages that were sent: the workers go on "
                "with them once it runs again, as after `riffle up`"
            )
        with suppress(TransientError):
            await seen.look_at_unchanged(stores.pages)
        bars.update(indexing, completed=seen.settled, note=seen.notes(now, load))
        say(f"{seen.settled:,} of {pages:,} pages are searchable or set aside", seen.settled / max(pages, 1))
        if seen.is_stuck(now, load):
            return False
    return True
