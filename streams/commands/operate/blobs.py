"""`riffle blobs`: delete the blobs that nothing refers to any more."""

import asyncio
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.commands.console import AsJson, command, command_group, err, load_settings, need_kafka, out, print_json
from streams.commands.job_reports import Report, reported
from streams.maintenance import saved_progress
from streams.maintenance.reference_set import ReferenceSet
from streams.maintenance.sweeping import DAY, Counts, Progress, Sweeper, minimum_grace_seconds
from streams.runtime.readers.topic_reader import read_topic
from streams.settings import Settings
from streams.stores.blobs import references_in
from streams.topology import STAGES

SAVE_SECONDS = 60.0
"""Time after which the progress is saved and printed again (seconds)."""

blobs_app = command_group("Large values in Cassandra: delete those that nothing refers to any more.")


@blobs_app.command("sweep")
@command
async def sweep(
    delete: Annotated[bool, typer.Option("--delete", help="Delete. Without it, nothing is changed.")] = False,
    grace_days: Annotated[
        float | None,
        typer.Option(help="Days between the first sweep that finds a blob unreferenced and its deletion. Default: 22."),
    ] = None,
    rows_per_second: Annotated[int, typer.Option("--rate", min=1, help="Rows read per second, at most.")] = 20_000,
    memory_mb: Annotated[int, typer.Option(min=1, help="Memory for the references: 1 MB for 800,000.")] = 64,
    as_json: AsJson = False,
) -> None:
    """Find the blobs that no page, host or dead letter refers to, and with --delete delete them after a grace period.

    The texts of pages that left the index (gone, noindex, robots.txt) leave their records first.
    Then the first sweep notes the blobs. A sweep after the grace period deletes the blobs that are still unreferenced.
    So run it each week. It may run beside the workers. An interrupted sweep continues where it was, for a day.

    Examples:

        riffle blobs sweep
        riffle blobs sweep --delete --rate 5000
    """
    from streams.stores.opener import open_stores

    settings = load_settings()
    need_kafka(settings)
    grace_seconds = minimum_grace_seconds() if grace_days is None else grace_days * DAY
    mode = f"{delete} {grace_seconds}"
    file = settings.home / "sweep.npz"
    progress, references = saved_progress.load(file, time.time(), mode) or (
        Progress(time.time()),
        ReferenceSet(memory_mb * 1024 * 1024, os.urandom(32)),
    )
    async with open_stores(settings, ["records"]) as stores, reported(stores.notes, "blobs sweep") as report:
        keeper = Keeper(file, references, mode, rows_per_second, report)
        sweeper = Sweeper(
            stores.blob_collection,
            stores.pages,
            references,
            progress,
            keeper.report,
            grace_seconds=grace_seconds,
            delete=delete,
        )
        try:
            counts = await sweeper.run(await asyncio.to_thread(referenced_by_dead_letters, settings))
        except BaseException:
            saved_progress.save(file, progress, references, mode)
            raise
    file.unlink(missing_ok=True)
    _show(counts, references, delete=delete, grace_days=grace_seconds / DAY, as_json=as_json)


class Keeper:
    """The observer of a sweep: it slows the sweep down to its rate, prints its progress, and saves it."""

    def __init__(self, file: Path, references: ReferenceSet, mode: str, rows_per_second: int, say: Report) -> None:
        self._file, self._references, self._mode = file, references, mode
        self._rows_per_second, self._say = rows_per_second, say
        self._saved_at = time.monotonic()
        self._next_at = 0.0

    async def report(self, progress: Progress, rows: int) -> None:
        now = time.monotonic()
        found = f"{progress.counts.references:,} references, {progress.counts.blobs:,} blobs read"
        sentence = f"{progress.phase}: {progress.share:.0%} ({found})"
        self._say(sentence, progress.share)
        if now - self._saved_at >= SAVE_SECONDS:
            self._saved_at = now
            saved_progress.save(self._file, progress, self._references, self._mode)
            err.print(sentence)
        self._next_at = max(self._next_at, now) + rows / self._rows_per_second
        await asyncio.sleep(max(0.0, self._next_at - now))


def _show(counts: Counts, references: ReferenceSet, *, delete: bool, grace_days: float, as_json: bool) -> None:
    figures: dict[str, Any] = {**asdict(counts), "fill": round(references.fill, 3), "deletes": delete}
    if as_json:
        print_json(figures)
        return
    verb, emptied = ("Deleted", "Took") if delete else ("Would delete", "Would take")
    size = f"{counts.deleted_bytes / 1e6:,.1f} MB"
    out.print(f"{emptied} the text out of the records of {counts.left:,} pages that left the index.")
    out.print(f"{counts.blobs:,} blobs, {counts.references:,} references read.")
    out.print(f"{verb} {counts.deleted:,} blobs ({size}).")
    out.print(
        f"{counts.noted:,} were found unreferenced for the first time, {counts.waiting:,} are within the grace of "
        f"{grace_days:g} days, {counts.young:,} were stored in the last days.",
    )
    if references.fill > 0.5:
        out.print("Many unreferenced blobs were missed: repeat it with more --memory-mb.")
    if not delete:
        out.advise("Nothing was changed. `riffle blobs sweep --delete` notes and deletes.")


def referenced_by_dead_letters(settings: Settings) -> list[bytes]:
    """Return the references in the records of all dead-letter topics, which may be replayed for 90 days."""
    records = (record for stage in STAGES for record in read_topic(settings, stage.dead_topic))
    parts = (part for record in records for part in (record.value, *(value for _, value in record.headers)))
    return [ref for part in parts if part for ref in references_in(part)]
