"""From fetched to searchable, end to end on the running stack: pages/s, statements/s, and where the CPU seconds go.

    riffle up && python -m benchmarks pipeline DIR --pages 500

DIR holds HOST/path pages. They enter as `pages.fetched` all at once, so that every stage is busy; the clock runs from
the first to the last that is searchable or set aside. CPU seconds are counted for the processes themselves (and of
their children), as the kernel counts them. In the same run the same model embeds the same texts with nothing else going
on: the ceiling that the machine has for any pipeline around it.
"""

import asyncio
import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer

from benchmarks.machine import describe, machine, table
from schemas import Event, PageChunked, PageFetched, PageIndexed, PageRemoved
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.commands.stack.status import proportional_memory, usage
from streams.commands.watching import Seen
from streams.crawl.archives.file_importer import import_html
from streams.crawl.archives.sending import Sender
from streams.errors import UsageError
from streams.local.home import StackState, running_state
from streams.models.inprocess import THREAD_NAME
from streams.runtime.producer import EventProducer
from streams.runtime.readers.topic_reader import Follower
from streams.settings import Settings
from streams.statements.statement import decode_statements
from streams.stores.opener import Stores, open_stores
from streams.vectors.points import texts_of

LOOK_SECONDS = 0.25
MEMORY_SECONDS = 5.0
"""Seconds between two looks at the memory of all processes. A look takes some 0.15 s of CPU time."""
IDLE_SECONDS = 300.0
CEILING_TEXTS = 2_000
STATEMENTS_TARGET = 300
OTHERS_TARGET_MS = 2.4
MEMORY_TARGET_GB = 3.0
FOLLOWED = (PageFetched, PageChunked, PageIndexed, PageRemoved)


@dataclass(slots=True)
class Counted(Seen):
    """Also counts statements, and notes their blobs for the ceiling."""

    statements: int = 0
    chunked: list[str] = field(default_factory=list)
    first_at: float = 0.0

    def note(self, events: Any, now: float) -> None:
        listed: list[Event] = list(events)
        Seen.note(self, listed, now)
        for event in listed:
            if getattr(event, "crawl_id", "") != self.crawl_id:
                continue
            self.first_at = self.first_at or now
            if isinstance(event, PageIndexed):
                self.statements += event.statements
            elif isinstance(event, PageChunked):
                self.chunked.append(event.statements_ref)


@command
async def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="DIR")],
    pages: Annotated[int | None, typer.Option(min=1, help="Number of pages, spread evenly. Default: all.")] = None,
    as_json: AsJson = False,
) -> int:
    """Measure the running stack from fetched to searchable: pages/s, statements/s, CPU and memory by process.

    Example:  riffle up && python -m benchmarks pipeline mirror/ --pages 500
    """
    settings = load_settings()
    state = running_state(settings.home)
    if not state or state.servers_only:
        raise UsageError("the whole stack must be running: `riffle up`, best with empty data (`riffle down --clean`)")
    conditions = machine()
    with tempfile.TemporaryDirectory() as chosen:
        sample(folder, Path(chosen), pages)
        async with open_stores(settings, ["records", "models"]) as stores:
            measured = await measure(settings, stores, state, Path(chosen))
            measured |= await ceiling(stores, measured.pop("chunked"))
    result = {"machine": conditions, **measured}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


def sample(folder: Path, into: Path, pages: int | None) -> None:
    """Copy `pages` HTML files, spread evenly over the folder, so that the sample is the same each time."""
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in {".html", ".htm"} and p.is_file())
    if not files:
        raise UsageError(f"{folder} holds no HTML file: it must hold a folder for each host")
    step = max(1.0, len(files) / (pages or len(files)))
    for number in range(min(pages or len(files), len(files))):
        source = files[int(number * step)]
        target = into / source.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


async def measure(settings: Settings, stores: Stores, state: StackState, folder: Path) -> dict[str, Any]:
    seen = Counted(uuid4().hex[:12])
    follower = await asyncio.to_thread(Follower, settings, FOLLOWED)
    before = {process.name: usage(process.pid)[1] for process in state.processes}
    models_before = model_seconds(state)
    peaks: dict[str, int] = {}
    at_once = 0
    started = looked_at = time.monotonic()
    async with EventProducer(settings, "bench") as producer:
        status = err.status("Reading")
        status.start()
        # As fast as they can be read, so that after a moment every stage has work.
        reading = asyncio.create_task(import_html(folder, Sender(stores.blobs, producer, crawl_id=seen.crawl_id)))
        seen.last_event_at = started
        while not reading.done() or len(seen.fetched) < reading.result().imported or seen.under_way:
            seen.note(await asyncio.to_thread(lambda: list(follower.poll(LOOK_SECONDS))), time.monotonic())
            if time.monotonic() - looked_at >= MEMORY_SECONDS:
                looked_at = time.monotonic()
                for process in state.processes:
                    peaks[process.name] = max(peaks.get(process.name, 0), usage(process.pid)[0])
                at_once = max(at_once, sum(proportional_memory(process.pid) for process in state.processes))
            status.update(f"{seen.settled} of {len(seen.fetched)} pages")
            if time.monotonic() - seen.last_event_at > IDLE_SECONDS:
                raise UsageError(f"nothing has happened for {IDLE_SECONDS:.0f} s: look at `riffle status`")
        status.stop()
    for process in state.processes:
        peaks[process.name] = max(peaks.get(process.name, 0), usage(process.pid)[0])
    seconds = seen.last_event_at - seen.first_at
    follower.close()
    cpu = {process.name: usage(process.pid)[1] - before[process.name] for process in state.processes}
    total, models = sum(cpu.values()), model_seconds(state) - models_before
    return {
        "pages": seen.settled,
        "searchable": seen.searchable,
        "statements": seen.statements,
        "seconds": round(seconds, 1),
        "pages_per_second": round(seen.settled / seconds, 2),
        "statements_per_second": round(seen.statements / seconds, 1),
        "models_cpu_ms_per_statement": _milliseconds(models, seen.statements),
        "others_cpu_ms_per_statement": _milliseconds(total - models, seen.statements),
        "cpu_seconds": {name: round(value, 1) for name, value in sorted(cpu.items(), key=lambda item: -item[1])},
        "cpu_seconds_total": round(total, 1),
        "peak_memory_mb": {name: round(value / 1e6) for name, value in peaks.items()},
        "peak_memory_total_gb": round(sum(peaks.values()) / 1e9, 2),
        "peak_memory_at_once_gb": round(at_once / 1e9, 2),
        "chunked": seen.chunked,
    }


def model_seconds(state: StackState) -> float:
    """CPU seconds of the models until now: of Triton, or of the threads that run models inside the processes."""
    return sum(
        usage(process.pid)[1] if process.name == "triton" else thread_seconds(process.pid)
        for process in state.processes
    )


def thread_seconds(pid: int) -> float:
    """CPU seconds of the threads of a process that run models."""
    ticks = 0
    for folder in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):  # it ended meanwhile
            name, _, fields = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            if name == THREAD_NAME:
                ticks += sum(map(int, fields.split()[11:13]))  # utime and stime: proc_pid_stat(5)
    return ticks / os.sysconf("SC_CLK_TCK")


def _milliseconds(seconds: float, statements: int) -> float:
    """Milliseconds for one statement."""
    return round(seconds * 1000 / max(statements, 1), 2)


async def ceiling(stores: Stores, chunked: list[str]) -> dict[str, Any]:
    """Only the model, on the same texts."""
    texts: list[str] = []
    for reference in chunked:
        texts += texts_of(decode_statements(await stores.blobs.get(reference)))
        if len(texts) >= CEILING_TEXTS:
            break
    texts = texts[:CEILING_TEXTS]
    await stores.embedder.embed(
        texts[:1], "passage", deadline_seconds=600
    )  # a model in this process is loaded by the first call
    started = time.monotonic()
    await stores.embedder.embed(texts, "passage", deadline_seconds=600)
    seconds = time.monotonic() - started
    return {"model_alone_statements_per_second": round(len(texts) / seconds, 1)}


def show(result: dict[str, Any]) -> None:
    out.print(describe(result["machine"]), highlight=False)
    rows = table("From fetched to searchable", "", "measured", "target")
    rows.add_row("pages", f"{result['pages']} ({result['searchable']} searchable)", "")
    rows.add_row("statements", str(result["statements"]), "")
    rows.add_row("pages/s", str(result["pages_per_second"]), "")
    rows.add_row("statements/s", str(result["statements_per_second"]), str(STATEMENTS_TARGET))
    rows.add_row("the model alone, statements/s", str(result["model_alone_statements_per_second"]), "")
    rows.add_row("CPU ms of the models for a statement", str(result["models_cpu_ms_per_statement"]), "")
    rows.add_row(
        "CPU ms of all others for a statement", str(result["others_cpu_ms_per_statement"]), f"{OTHERS_TARGET_MS}"
    )
    rows.add_row(
        "memory of the stack at its peak", f"{result['peak_memory_at_once_gb']} GB", f"< {MEMORY_TARGET_GB} GB"
    )
    rows.add_row("the sum of each process's peak, with all that is shared", f"{result['peak_memory_total_gb']} GB", "")
    out.print(rows)
    processes = table("\nBy process", "", "CPU seconds", "share", "peak memory")
    for name, seconds in result["cpu_seconds"].items():
        share = seconds / result["cpu_seconds_total"]
        processes.add_row(name, f"{seconds:.1f}", f"{share:.0%}", f"{result['peak_memory_mb'][name]} MB")
    out.print(processes)
