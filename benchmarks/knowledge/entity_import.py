"""A dump on real servers, from `riffle import` to the last panel: is each entity there once, at which rate and cost?

    python -m benchmarks entity-import --items 20000
    python -m benchmarks entity-import --items 20000 --kind wikidata --kill-worker

Kafka, Cassandra and Qdrant's engine are started for the run, with a worker of the stage `knowledge`. The dump is the
generated one of `entity_dump`. The import is killed by SIGKILL behind the middle and started again; with
`--kill-worker`, the worker is, too. When the stage has no lag, all that is stored is compared with what the same pure
code makes of the same items: records, names and points, none missing and none too many.
"""

import asyncio
import json
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.knowledge.entity_dump import generate, numbered, templates_of
from benchmarks.machine import machine
from benchmarks.own_servers import LOOK_SECONDS, RIFFLE, environment_of, server_pids, wait_until
from benchmarks.stack.pipeline import thread_seconds
from streams.commands.console import AsJson, command, err, load_settings, print_figures
from streams.commands.stack.status import usage
from streams.errors import UsageError
from streams.knowledge.dumps.importer import source_of
from streams.knowledge.dumps.tasks import ITEMS, Row, pack_items, read_answer, read_items, read_pages
from streams.knowledge.entity import Entity, Part
from streams.knowledge.merging import merge_parts
from streams.knowledge.names import name_keys
from streams.knowledge.points import point_id, point_of, read_record
from streams.local.ports import free_ports
from streams.local.probing import answers
from streams.local.server_set import running_servers
from streams.runtime.lags.stage_lags import LagReader
from streams.settings import Settings
from streams.settings.servers import IN_PROCESS
from streams.stores.opener import Stores, open_stores
from streams.stores.qdrant.rest import QdrantRest
from streams.topology import stage

SERVERS = ("kafka", "cassandra", "qdrant")
LAG_SECONDS = 1.0
IDLE_SECONDS = 180.0
KILL_AT = 0.5
"""Share of the items behind which the import is killed: its notes say how far it is."""
KILL_WORKER_AT = 0.3
CHECKED_AT_ONCE = 600
"""Number of items whose entities are compared at once: a redirect is in the same part as its article."""
CHECKED_VECTORS = 64
MIN_COSINE = 0.999


@dataclass(slots=True)
class Process:
    """Memory and CPU time of one program: of its processes with their children, one after the other."""

    pid: int = 0
    peak_bytes: int = 0
    cpu_seconds: float = 0.0
    model_seconds: float = 0.0
    """CPU seconds of the threads that run models."""
    _now: tuple[float, float] = (0.0, 0.0)

    def watch(self, pid: int) -> None:
        """Look at another process from now on."""
        self.settle()
        self.pid = pid

    def look(self) -> None:
        memory_bytes, seconds = usage(self.pid)
        self.peak_bytes = max(self.peak_bytes, memory_bytes)
        self._now = max(self._now[0], seconds), max(self._now[1], thread_seconds(self.pid))

    def settle(self) -> None:
        """Add the CPU time of the present process."""
        self.cpu_seconds += self._now[0]
        self.model_seconds += self._now[1]
        self._now = (0.0, 0.0)


@dataclass(slots=True)
class Watch:
    """The programs of a run, and how far the stage is."""

    lags: LagReader
    processes: dict[str, Process]
    handled: list[tuple[float, int, int]] = field(default_factory=list)
    """Time, events that the stage has handled, and events that wait."""

    def look(self) -> None:
        """Note memory, CPU time and, once a second, the lag."""
        for process in self.processes.values():
            process.look()
        now = time.monotonic()
        if not self.handled or now - self.handled[-1][0] >= LAG_SECONDS:
            lags = self.lags.read()
            self.handled.append((now, sum(lag.handled for lag in lags), sum(lag.events for lag in lags)))

    @property
    def done(self) -> int:
        return self.handled[-1][1] if self.handled else 0


@command
async def run(
    items: Annotated[int, typer.Option(min=600, help="Number of items of the generated dump.")] = 20_000,
    kind: Annotated[str, typer.Option(help="wikidata or wikipedia.")] = "wikipedia",
    kill_worker: Annotated[bool, typer.Option("--kill-worker", help="Also kill the worker of the stage once.")] = False,
    as_json: AsJson = False,
) -> int:
    """Import a generated dump on real servers, kill the import on its way, and compare all that is stored.

    Exit status 1: something is missing, wrong or too much.

    Example:  python -m benchmarks entity-import --items 20000 --kill-worker
    """
    settings = load_settings()
    conditions = machine()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        dump = home / f"{kind}.dump"
        err.print(f"Generating {items:,} items ...", highlight=False)
        generate(dump, kind, count=items)
        with running_servers(home / "stack", SERVERS, base=settings) as local:
            local = local.model_copy(update={"triton": local.triton.model_copy(update={"url": IN_PROCESS})})
            with closing(LagReader(local, [stage("knowledge")])) as lags:
                measured = await asyncio.to_thread(measure, local, lags, dump, kind, items, kill_worker)
            async with open_stores(local, ["records", "vectors", "models"]) as stores:
                compared = await compare(local, stores, kind, items)
    is_right = not compared.pop("faults")
    print_figures(
        "Import of a generated dump on real servers", {"machine": conditions, **measured, **compared}, as_json
    )
    return 0 if is_right else 1


def measure(
    settings: Settings, lags: LagReader, dump: Path, kind: str, items: int, kill_worker: bool
) -> dict[str, Any]:
    """Import with a kill on the way, and wait for the stage. Returns the figures."""
    (port,) = free_ports(1)
    environment = _environment(settings, port)
    watch = Watch(lags, {name: Process(pid) for name, pid in server_pids().items()})
    watch.look()
    for process in watch.processes.values():
        process.cpu_seconds -= process._now[0]  # of the start
    with (settings.home / "bench.log").open("wb") as log:

        def begin(*arguments: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen([*RIFFLE, *arguments], env=environment, stdout=log, stderr=log)

        def begin_worker() -> subprocess.Popen[bytes]:
            worker = begin("worker", "knowledge")
            watch.processes["worker"].watch(worker.pid)
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "the worker")
            return worker

        watch.processes |= {"worker": Process(), "import": Process()}
        worker, importing = begin_worker(), None
        notes = settings.home / "imports" / f"{kind}-en.json"
        began, imported, kills, at_kill = time.monotonic(), 0.0, 0, 0
        try:
            while not imported:
                importing = begin("import", str(dump))
                watch.processes["import"].watch(importing.pid)
                while importing.poll() is None:
                    watch.look()
                    read = _items_read(notes)
                    if not kills and read >= items * KILL_AT:
                        importing.send_signal(signal.SIGKILL)
                        importing.wait()
                        kills, at_kill = 1, read
                    if kill_worker and watch.done >= items * KILL_WORKER_AT:
                        worker.send_signal(signal.SIGKILL)
                        worker.wait()
                        worker, kill_worker = begin_worker(), False
                    time.sleep(LOOK_SECONDS)
                if importing.returncode == 0:
                    imported = time.monotonic()
                elif importing.returncode != -signal.SIGKILL:
                    raise UsageError(f"the import failed: {(settings.home / 'bench.log').read_text()[-2_000:]}")
            _drain(watch, worker)
        finally:
            for running in (worker, importing):
                if running and running.poll() is None:
                    running.terminate()
                    running.wait()
    for process in watch.processes.values():
        process.settle()
    return _figures(watch, items, began, imported, at_kill)


def _drain(watch: Watch, worker: "subprocess.Popen[bytes]") -> None:
    """Wait until the stage has handled all events. Raises UsageError if it stops before."""
    last, moved = -1, time.monotonic()
    while not watch.handled or watch.handled[-1][2] or watch.done != last:
        if watch.done != last:
            last, moved = watch.done, time.monotonic()
        if worker.poll() is not None or time.monotonic() - moved > IDLE_SECONDS:
            raise UsageError(f"the stage stopped with {watch.handled[-1][2]} events before it")
        time.sleep(LAG_SECONDS)
        watch.look()


def _figures(watch: Watch, items: int, began: float, imported: float, at_kill: int) -> dict[str, Any]:
    finished = next(at for at, _, waiting in reversed(watch.handled[:-1]) if waiting) if watch.handled[1:] else began
    events = watch.done
    at_end = min(watch.handled, key=lambda one: abs(one[0] - imported))
    alone_seconds, alone = finished - imported, events - at_end[1]
    cpu = {name: process.cpu_seconds for name, process in watch.processes.items()}
    return {
        "items": items,
        "items_when_killed": at_kill,
        "import_seconds": round(imported - began),
        "items_per_second": round(items / (imported - began)),
        "events": events,
        "stage_seconds": round(finished - began),
        "events_per_second": round(events / (finished - began)),
        "events_per_second_without_the_import": round(alone / alone_seconds) if alone_seconds > 5 else None,
        "most_events_waiting": max(waiting for *_, waiting in watch.handled),
        "cpu_seconds": {name: round(seconds) for name, seconds in cpu.items()},
        "cpu_ms_per_event": {name: round(seconds * 1000 / events, 2) for name, seconds in cpu.items()},
        "cpu_ms_per_event_of_the_model": round(watch.processes["worker"].model_seconds * 1000 / events, 2),
        "peak_memory_mb": {name: process.peak_bytes >> 20 for name, process in watch.processes.items()},
    }


def expected(kind: str, items: int) -> Iterator[dict[str, Entity]]:
    """Yield the records that a dump must lead to, some items at a time, without their collection.

    Each template is read once: the number of an item has the length of the number in its template.
    """
    source = source_of(kind, "en")
    read = read_items if source.task == ITEMS else read_pages
    rows = [read_answer(read(pack_items("en", [one]))).rows for one in templates_of(kind)]
    for first in range(1, items + 1, CHECKED_AT_ONCE):
        parts: dict[str, dict[str, Part]] = {}
        aliases: dict[str, list[str]] = {}
        for number in range(first, min(first + CHECKED_AT_ONCE, items + 1)):
            for row in rows[(number - 1) % len(rows)]:
                own = _numbered_row(row, number)
                parts.setdefault(own.entity_id, {})
                if own.part:
                    parts[own.entity_id][own.source] = Part.model_validate_json(own.part)
                else:
                    aliases.setdefault(own.entity_id, []).append(own.alias)
        yield {one: merge_parts(one, found, aliases.get(one, ())) for one, found in parts.items()}


def _numbered_row(row: Row, number: int) -> Row:
    def text(value: str) -> str:
        return numbered(value.encode(), number).decode()

    return Row(text(row.entity_id), text(row.source), part=numbered(row.part, number), alias=text(row.alias))


async def compare(settings: Settings, stores: Stores, kind: str, items: int) -> dict[str, Any]:
    """Compare all that is stored with what must be. Returns counts, and the number of faults by kind."""
    err.print("Comparing ...", highlight=False)
    collection = await stores.entity_vectors.ensure(await stores.embedder.info())
    points = await asyncio.to_thread(_points, settings, collection)
    faults, panels, known = Counter[str](), set[str](), set[str]()
    sample: list[Entity] = []
    for wanted in expected(kind, items):
        stored = await stores.entities.get(list(wanted))
        found = await stores.entities.find([key for one in wanted.values() for key in name_keys(one.names)], 20)
        articles = {record.article for record in wanted.values() if record.article}
        known |= wanted.keys() | articles
        for entity_id, entity in wanted.items():
            whole = entity.model_copy(update={"collection": collection}) if entity.kind == "entity" else entity
            if entity_id not in stored:
                faults["records that are missing"] += 1
                continue
            faults["records with another content"] += read_record(stored[entity_id].record) != whole
            keys = name_keys(entity.names) if entity.kind in ("entity", "choice") else ()
            faults["names that find another"] += sum(
                [one.entity_id for one in found.get(key, ())].count(entity_id) != 1 for key in keys
            )
            if entity.kind == "entity":
                panels.add(entity_id)
                identity = str(point_id(entity_id))
                faults["points that are missing"] += identity not in points
                faults["points with another content"] += points.get(identity, whole) != _payload(whole)
                sample = [*sample, whole] if len(sample) < CHECKED_VECTORS else sample
    faults["vectors of another text"] += await _wrong_vectors(stores, collection, sample)
    faults["points too many"] += len(points.keys() - {str(point_id(one)) for one in panels})
    faults["records too many"] += len(await _walked(stores) - known)
    right = {name: count for name, count in faults.items() if count}
    return {"panels": len(panels), "points": len(points), "wrong": right or "nothing", "faults": sum(right.values())}


def _payload(entity: Entity) -> Mapping[str, Any]:
    return point_of(entity, [0.0]).payload.row()


def _points(settings: Settings, collection: str) -> dict[str, Mapping[str, Any]]:
    """Return the payloads of all points of the collection by their ids."""
    with QdrantRest(settings.qdrant, 60.0) as qdrant:
        return {str(point["id"]): point["payload"] for batch in qdrant.points(collection) for point in batch}


async def _wrong_vectors(stores: Stores, collection: str, sample: Sequence[Entity]) -> int:
    """Return how many entities of the sample have a point with the vector of another text."""
    if not sample:
        return 0
    made = await stores.embedder.embed([one.text_to_embed() for one in sample], "passage")
    stored = await stores.entity_vectors.dense_vectors([point_id(one.entity_id) for one in sample], collection)
    if len(stored) != len(sample):
        return len(sample)
    left, right = np.asarray(made, np.float32), np.asarray(stored, np.float32)
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    return int((cosines < MIN_COSINE).sum())


async def _walked(stores: Stores) -> set[str]:
    """Return all entities that have a part."""
    found, position = set[str](), 0
    while True:
        rows, following = await stores.entities.walk(position, 1_000)
        found |= {row.entity_id for row in rows}
        if following is None:
            return found
        position = following


def _items_read(notes: Path) -> int:
    """Return how far the import is, as it notes it each five seconds."""
    try:
        return int(json.loads(notes.read_text())["items"])
    except OSError:
        return 0


def _environment(settings: Settings, port: int) -> dict[str, str]:
    return {
        **environment_of(settings, settings.home),
        "RIFFLE_QDRANT__URL": settings.qdrant.url,
        "RIFFLE_TRITON__URL": IN_PROCESS,
        "RIFFLE_RUNTIME__HEALTH_PORT": str(port),
    }
