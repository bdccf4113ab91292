"""The import of entities for panels: from dumps and from own files (`riffle import`)."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn

from schemas import EntityChanged
from streams.commands.console import EXIT_NO, err, load_settings, need_kafka, out, print_json
from streams.commands.job_reports import reported
from streams.knowledge.dumps.importer import DumpImport, Importing, source_of
from streams.knowledge.dumps.progress import Saved
from streams.knowledge.dumps.reading import Dump
from streams.knowledge.dumps.tasks import TASKS
from streams.runtime.lags.backpressure import LagWatch, PausingSource
from streams.runtime.lags.stage_lags import LagReader
from streams.runtime.producer import EventProducer
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool
from streams.settings import Settings
from streams.stores.opener import open_stores
from streams.topology import stage

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
PROCESSES = 2
"""Number of processes that parse items."""
LIMITS = Limits(cpu_seconds=20.0, memory_bytes=400 * 1024 * 1024)
"""Limits of a process. A batch of 64 ordinary items takes about 0.1 s."""
SHOWN_TEMPLATES = 10
"""Maximum templates that are named at the end of an import."""
LAG_SHARE = 2
"""The import waits at this part of the lag at which the crawler waits: it must not make the crawler wait."""
Show = Callable[[Saved, Dump], None]
_COLUMNS = (
    SpinnerColumn(),
    TextColumn("{task.description}"),
    BarColumn(),
    DownloadColumn(),
    TextColumn("{task.fields[items]:,} items"),
    TimeRemainingColumn(elapsed_when_finished=True),
)


async def import_dump(file: Path, name: str, language: str, missing: bool | None, as_json: bool) -> int:
    """Import a dump or own entities (`name`: wikidata, wikipedia, own), and print the result."""
    settings = load_settings()
    need_kafka(settings)
    with Progress(*_COLUMNS, console=err, refresh_per_second=2) as bars:
        task = bars.add_task("Read", total=None, items=0)

        def show(saved: Saved, dump: Dump) -> None:
            described = "Read" if not saved.is_read else "Look for missing entities"
            bars.update(
                task, total=dump.size_bytes, completed=dump.read_bytes, items=saved.items, description=described
            )

        saved = await _run(file, name, language or "en", missing, settings, show, bars, task)
    print_saved(saved, as_json=as_json)
    return 0 if saved.sent + saved.unchanged + saved.removed else EXIT_NO


async def _run(
    file: Path,
    name: str,
    language: str,
    missing: bool | None,
    settings: Settings,
    show: Show,
    bars: Progress,
    task: TaskID,
) -> Saved:
    """Import with the stores, the producer and the parsing processes of the settings."""
    lag = settings.crawl.max_stage_lag_events // LAG_SHARE
    async with (
        open_stores(settings, ["records"]) as stores,
        EventProducer(settings, "import") as producer,
        SandboxPool(TASKS, processes=PROCESSES, limits=LIMITS, name="entities") as sandbox,
        reported(stores.notes, f"import {name}") as report,
    ):
        with closing(LagReader(settings, [stage("knowledge")])) as lags:
            source = PausingSource(LagWatch(lags.read, lag), lambda why: bars.update(task, description=f"Read{why}"))

            def show_and_report(saved: Saved, dump: Dump) -> None:
                show(saved, dump)
                report(f"{saved.items:,} items read", dump.read_bytes / max(dump.size_bytes, 1))

            async def send(events: Sequence[EntityChanged], cause: str) -> None:
                await producer.send_all(events, cause)

            importing = Importing(
                stores,
                sandbox,
                send,
                time.monotonic,
                settings.home / "imports",
                _boot_id(),
                language=language,
                remove_missing=missing is not False,
                is_confirmed=missing is True,
                progress=show_and_report,
                wait_for_room=source.wait,
            )
            job = DumpImport(file, source_of(name, language), importing, uuid4().hex)
            if job.is_continued:
                err.print(f"Going on behind {job.saved.items:,} items.")
            return await job.run()


def _report_lost(saved: Saved) -> None:
    """Print the templates by which most summaries lost a sentence."""
    for template, count in sorted(saved.lost.items(), key=lambda pair: (-pair[1], pair[0]))[:SHOWN_TEMPLATES]:
        out.print(
            f"  Riffle can't show {{{{{template}}}}}: summaries that lost a sentence by it: {count:,}", soft_wrap=True
        )
    if len(saved.lost) > SHOWN_TEMPLATES:
        out.print(f"  and {len(saved.lost) - SHOWN_TEMPLATES:,} further templates (--json)")


def _boot_id() -> str:
    """Return the id of the machine's start (Linux); empty where there is none."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def print_saved(saved: Saved, *, as_json: bool) -> None:
    """Print what an import of entities did."""
    if as_json:
        counts = {"items": saved.items, "sent": saved.sent, "unchanged": saved.unchanged, "removed": saved.removed}
        print_json({**counts, "skipped": dict(saved.skipped), "lost": dict(saved.lost)})
        return
    out.print(
        f"{saved.items:,} items read: {saved.sent:,} entities and names are new or changed, {saved.unchanged:,} are as "
        f"before, {saved.removed:,} are removed."
    )
    for reason, count in sorted(saved.skipped.items(), key=lambda pair: -pair[1])[:20]:
        out.print(f"  {count:,} skipped: {reason}")
    _report_lost(saved)
    out.advise("The stage `knowledge` makes their panels: `riffle status` shows how many are left.")
