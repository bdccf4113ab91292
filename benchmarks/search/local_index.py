"""The local stack's own Qdrant by size: searches, recall, builds, memory, a start, and what an answer waits meanwhile.

    python -m benchmarks index --local --statements 10000 --statements 100000

A server of its own is started for each size. Statements are written as fast as it takes them, while a search is asked
again and again; then the graph is waited for, and the server is killed and started again. CPU and memory are counted
for the server and all of its processes. Vectors of statements may be given; where there are fewer than points, the
others are copies that are moved in a random direction, so that nothing is found twice.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
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

    def used(self) -> tuple[float, float]:
        """Return the CPU time (seconds) and the memory (MB) of all its processes, shared pages divided among them."""
        assert self._process is not None
        family = [self._process, *self._process.children(recursive=True)]
        times = [process.cpu_times() for process in family]
        cpu = sum(one.user + one.system + one.children_user + one.children_system for one in times)
        return cpu, sum(process.memory_full_info().pss for process in family) / 1e6


@contextmanager
def local_server() -> Iterator[LocalServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = LocalServer(Path(folder) / "data")
        try:
            yield server
        finally:
            server.kill()


async def measure(count: int, vectors: Floats, quantization: str) -> dict[str, Any]:
    """Return the row of one size. `vectors` are repeated, moved, until there are enough."""
    with local_server() as server:
        server.start()
        given = {"url": server.url, "timeout_seconds": 120, "quantization": quantization}
        settings = QdrantSettings.model_validate(given)
        index = QdrantIndex(settings, production=False, alias="bench")
        collection = await index.ensure(ModelInfo("generated", "1", vectors.shape[1]))
        generator = np.random.default_rng(count)
        asked = moved(vectors[generator.integers(len(vectors), size=QUERIES)], generator)
        written, waits = await write(index, collection, vectors, count, asked)
        started = time.perf_counter()
        await built(server.url, collection)
        build_seconds = time.perf_counter() - started
        answers, times = await ask(index, collection, asked, exact=False)
        exact, exact_times = await ask(index, collection, asked[: QUERIES // 4], exact=True)
        recall = np.mean([len(one & other) / NEAREST for one, other in zip(answers, exact, strict=False)])
        cpu, memory = server.used()
        server.kill()
        start_seconds = server.start()
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
        "start_seconds": round(start_seconds, 1),
        "longest_wait_ms": round(max(waits) * 1000),
    }


async def write(
    index: QdrantIndex, collection: str, vectors: Floats, count: int, asked: Floats
) -> tuple[float, list[float]]:
    """Write points while searches are asked. Return the seconds that it took, and the seconds of each search."""
    generator, waits, started = np.random.default_rng(1), [0.0], time.perf_counter()
    writing = asyncio.create_task(_write_all(index, collection, vectors, count, generator))
    number = 0
    while not writing.done():
        begun = time.perf_counter()
        await index.nearest(collection, asked[number % len(asked)].tolist(), NEAREST)
        waits.append(time.perf_counter() - begun)
        number += 1
        await asyncio.sleep(PAUSE_SECONDS)
    await writing
    return time.perf_counter() - started, waits


async def _write_all(index: QdrantIndex, collection: str, vectors: Floats, count: int, generator: Any) -> None:
    with err.status("Writing") as status:
        for first in range(0, count, BATCH):
            numbers = range(first, min(count, first + BATCH))
            own = vectors[[number % len(vectors) for number in numbers]]
            own = own if first + BATCH <= len(vectors) else moved(own, generator)
            await index.upsert(collection, [point(*one, generator) for one in zip(numbers, own, strict=True)])
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
