"""The local stack's own Qdrant by size: searches, recall, builds, memory, a start, and what an answer waits meanwhile.

    python -m benchmarks index --local --statements 10000 --statements 100000
    nice python -m benchmarks index --local --statements 1000000 --kill-builds 2

A server of its own is started for each size. Statements are written as fast as it takes them, while a search is asked
again and again; then the graph is waited for, and the server is killed and started again. CPU and memory are counted
for the server and all of its processes; the peaks of the processes that build graphs are told apart. Vectors of
statements may be given; where there are fewer than points, the others are copies that are moved in a random direction,
so that nothing is found twice. Texts and words are generated.

With `--kill-builds`, the whole server is killed that many times while it builds a graph. After each start, the number
of points and the exact answers are compared with what was written.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import httpx2
import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.machine import Latency, table
from streams.commands.console import err, out
from streams.errors import UsageError
from streams.local.ports import free_ports
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings
from streams.stores.protocols import Point, SparseVector
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload

NEAREST = 200
QUERIES = 200
MOVED = 0.35
"""Length of the random vector that is added to the vector of a copy, whose own length is 1."""
BATCH = 64
"""Points of one write: a page with many statements."""
TERMS, VOCABULARY = 25, 200_000
START_SECONDS, BUILD_SECONDS = 300.0, 3 * 3600.0
CHECKED = 8
"""Number of vectors whose exact answers are compared with what was written."""
LOOK_SECONDS = 0.5
PAUSE_SECONDS = 0.01
"""Time between two searches while points are written."""
COLUMNS = {
    "statements": "statements",
    "p50_ms": "p50 ms",
    "p95_ms": "p95 ms",
    "exact_p50_ms": "exact p50 ms",
    "recall_at_200": "recall@200",
    "write_seconds": "write s",
    "build_seconds": "build s",
    "cpu_seconds": "CPU s",
    "memory_mb": "MB",
    "builder_peak_mb": "builder's peak MB",
    "start_seconds": "start s",
    "longest_wait_ms": "longest wait ms",
}

Floats = NDArray[np.float32]


class LocalServer:
    """A server of the local stack, with its data in a folder."""

    def __init__(self, data: Path) -> None:
        (self._port,) = free_ports(1)
        self.url, self._data = f"http://127.0.0.1:{self._port}", data
        self._process: psutil.Popen | None = None

    def start(self) -> float:
        """Start the server. Return the seconds until it answers."""
        started = time.perf_counter()
        command = [sys.executable, "-m", "streams.local.qdrant_server", "--port", str(self._port), "--data"]
        with self._data.with_suffix(".log").open("ab") as log:
            self._process = psutil.Popen([*command, str(self._data)], stdout=log, stderr=subprocess.STDOUT)
        while time.perf_counter() < started + START_SECONDS:
            try:
                if httpx2.get(f"{self.url}/readyz").is_success:
                    return time.perf_counter() - started
            except httpx2.TransportError:
                time.sleep(0.02)
        raise UsageError(f"the server was not ready after {START_SECONDS:.0f} s: {self._data.with_suffix('.log')}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def process(self) -> psutil.Process | None:
        return self._process

    @property
    def data(self) -> Path:
        return self._data

    def used(self) -> tuple[float, float]:
        """Return the CPU time (seconds) and the memory (MB) of all its processes, shared pages divided among them."""
        assert self._process is not None
        family = [self._process, *self._process.children(recursive=True)]
        times = [process.cpu_times() for process in family]
        cpu = sum(one.user + one.system + one.children_user + one.children_system for one in times)
        return cpu, sum(process.memory_full_info().pss for process in family) / 1e6


class BuilderPeak:
    """The highest memory of a process that builds a graph (MB), without the pages of files, which the kernel takes back
    when it likes. Such a process has more niceness than the server."""

    def __init__(self, server: LocalServer) -> None:
        self.megabytes = 0.0
        self._server, self._is_over = server, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                server = self._server.process
                for child in server.children(recursive=True) if server else ():
                    with suppress(psutil.NoSuchProcess):
                        if child.nice() > os.nice(0):
                            self.megabytes = max(self.megabytes, anonymous_bytes(child.pid) / 1e6)


def anonymous_bytes(pid: int) -> int:
    """Return the memory of a process that is in no file; 0 on systems other than Linux, or if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) * 1024
    return 0


class Written:
    """The points that were written: their number, and the nearest of them to some vectors, found without the server."""

    def __init__(self, asked: Floats) -> None:
        self.points = 0
        self._asked = asked / np.linalg.norm(asked, axis=1, keepdims=True)
        self._best = np.full((len(asked), NEAREST), -2.0, np.float32)

    def add(self, vectors: Floats) -> None:
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        together = np.concatenate([self._best, self._asked @ unit.T], axis=1)
        self._best = -np.sort(-together, axis=1)[:, :NEAREST]
        self.points += len(vectors)

    async def check(self, index: QdrantIndex, collection: str) -> None:
        """Raise AssertionError if a point is missing, or if an exact search finds others than the nearest."""
        assert await index.count(collection) == self.points
        for vector, best in zip(self._asked, self._best, strict=True):
            hits = await index.nearest(collection, vector.tolist(), NEAREST, exact=True)
            assert np.allclose([hit.score for hit in hits], best[: self.points], atol=1e-4)


@contextmanager
def local_server() -> Iterator[LocalServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = LocalServer(Path(folder) / "data")
        try:
            yield server
        finally:
            server.kill()


async def measure(count: int, vectors: Floats, quantization: str, kills: int = 0) -> dict[str, Any]:
    """Return the row of one size. `vectors` are repeated, moved, until there are enough."""
    with local_server() as server, BuilderPeak(server) as peak:
        server.start()
        given = {"url": server.url, "timeout_seconds": 120, "quantization": quantization}
        settings = QdrantSettings.model_validate(given)
        index = client_of(settings)
        collection = await index.ensure(ModelInfo("generated", "1", vectors.shape[1]))
        generator = np.random.default_rng(count)
        asked = moved(vectors[generator.integers(len(vectors), size=QUERIES)], generator)
        expected = Written(asked[:CHECKED])
        written, waits = await write(index, collection, vectors, count, asked, expected)
        started = time.perf_counter()
        for _ in range(kills):
            await index.close()
            seconds = await kill_while_building(server)
            index = client_of(settings)
            await expected.check(index, collection)
            err.print(
                f"Killed while it built: answers are as written, {seconds:.1f} s after the kill.", highlight=False
            )
        await built(server.url, collection)
        build_seconds = time.perf_counter() - started
        await expected.check(index, collection)
        answers, times = await ask(index, collection, asked, exact=False)
        exact, exact_times = await ask(index, collection, asked[: QUERIES // 4], exact=True)
        recall = np.mean([len(one & other) / NEAREST for one, other in zip(answers, exact, strict=False)])
        cpu, memory = server.used()
        await index.close()
        server.kill()
        start_seconds = server.start()
        index = client_of(settings)
        assert await index.count(collection) == count
        await index.close()
    latency = Latency.of(times)
    return {
        "statements": count,
        "p50_ms": latency.p50,
        "p95_ms": latency.p95,
        "exact_p50_ms": Latency.of(exact_times).p50,
        "recall_at_200": round(float(recall), 4),
        "write_seconds": round(written, 1),
        "build_seconds": round(build_seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "memory_mb": round(memory),
        "builder_peak_mb": round(peak.megabytes),
        "start_seconds": round(start_seconds, 1),
        "longest_wait_ms": round(max(waits) * 1000),
    }


def client_of(settings: QdrantSettings) -> QdrantIndex:
    return QdrantIndex(settings, production=False, alias="bench")


async def kill_while_building(server: LocalServer) -> float:
    """Kill the server in the next build of a graph, and start it again. Return the seconds of the start. Raises
    UsageError if there is no build."""
    end = time.monotonic() + START_SECONDS
    while not list(server.data.glob("collections/*/runs/*.parts")):
        if time.monotonic() > end:
            raise UsageError("no graph was built that could be killed: give more statements")
        await asyncio.sleep(PAUSE_SECONDS)
    server.kill()
    return server.start()


async def write(
    index: QdrantIndex, collection: str, vectors: Floats, count: int, asked: Floats, expected: Written
) -> tuple[float, list[float]]:
    """Write points while searches are asked. Return the seconds that it took, and the seconds of each search."""
    generator, waits, started = np.random.default_rng(1), [0.0], time.perf_counter()
    writing = asyncio.create_task(_write_all(index, collection, vectors, count, generator, expected))
    number = 0
    while not writing.done():
        begun = time.perf_counter()
        await index.nearest(collection, asked[number % len(asked)].tolist(), NEAREST)
        waits.append(time.perf_counter() - begun)
        number += 1
        await asyncio.sleep(PAUSE_SECONDS)
    await writing
    return time.perf_counter() - started, waits


async def _write_all(
    index: QdrantIndex, collection: str, vectors: Floats, count: int, generator: Any, expected: Written
) -> None:
    with err.status("Writing") as status:
        for first in range(0, count, BATCH):
            numbers = range(first, min(count, first + BATCH))
            own = vectors[[number % len(vectors) for number in numbers]]
            own = own if first + BATCH <= len(vectors) else moved(own, generator)
            await index.upsert(collection, [point(*one, generator) for one in zip(numbers, own, strict=True)])
            expected.add(own)
            status.update(f"Writing: {first + len(numbers)} of {count}")


def point(number: int, vector: Floats, generator: Any) -> Point:
    terms = tuple(sorted({int(term) for term in generator.zipf(1.3, TERMS) % VOCABULARY}))
    text = " ".join(f"w{term}" for term in terms)
    page, host = number // 40, f"h{number % 500}.example"
    row = {
        "page_id": str(UUID(int=page + 1)),
        "url": f"https://{host}/{page}",
        "host": host,
        "sites": [host],
        "title": text[:40],
        "text": text,
        "context": text[:60],
        "ordinal": number % 40,
        "language": "en",
        "generation": 1,
        "day": number % 3_000,
    }
    words = SparseVector(terms, tuple(1.0 + term % 5 / 5 for term in terms))
    return Point(UUID(int=number + 1), vector.tolist(), words, StatementPayload.of_row(row))


async def built(url: str, collection: str) -> None:
    """Wait until no graph is being built."""
    end, green = time.monotonic() + BUILD_SECONDS, 0
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=120) as client:
        while time.monotonic() < end and green < 3:
            info = (await client.get(f"/collections/{collection}")).json()["result"]
            green = green + 1 if info["status"] == "green" else 0
            await asyncio.sleep(0.5)


async def ask(
    index: QdrantIndex, collection: str, asked: Floats, *, exact: bool
) -> tuple[list[set[UUID]], list[float]]:
    found, times = [], []
    await index.nearest(collection, asked[0].tolist(), NEAREST, exact=exact)
    for vector in asked:
        started = time.perf_counter()
        hits = await index.nearest(collection, vector.tolist(), NEAREST, exact=exact)
        times.append(time.perf_counter() - started)
        found.append({hit.id for hit in hits})
    return found, times


def moved(vectors: Floats, generator: Any) -> Floats:
    noise = generator.standard_normal(vectors.shape)
    sums = vectors + MOVED * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    found: Floats = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)
    return found


def show(rows: list[dict[str, Any]]) -> None:
    shown = table("The local stack's Qdrant", *COLUMNS.values())
    for one in rows:
        shown.add_row(*(str(one[name]) for name in COLUMNS))
    out.print(shown)
