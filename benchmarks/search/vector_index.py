"""Recall and latency of the approximate index beside exact search, on a real Qdrant with Riffle's own client.

    python -m benchmarks index --statements 20000 --qdrant PATH

PATH is Qdrant's program; it is started on free ports in a temporary folder. Without it, the server of the settings is
used, in a collection of its own that is removed. Vectors are generated in clusters, as real ones lie: for each of a
thousand centres some hundred points around it. Recall is the share of the exact 100 nearest that are found; `hnsw_ef` 0
is Qdrant's own choice.

With `--local`, the local stack's own server is measured by size instead (`local_index.py`).
"""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

import httpx2
import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.machine import Latency, machine, table
from benchmarks.search import local_index
from streams.commands.console import AsJson, command, err, load_settings, out, print_json
from streams.errors import UsageError
from streams.local.ports import free_ports
from streams.models.protocols import ModelInfo
from streams.settings import QdrantSettings, Settings
from streams.stores.protocols import Point, SparseVector
from streams.stores.qdrant.index import QdrantIndex
from streams.stores.statement_payload import StatementPayload

DIMENSIONS = 384
NEAREST = 100
QUERIES = 100
CENTRES = 1_000
SPREAD = 0.6
READY_SECONDS = 60.0
OPTIMIZED_SECONDS = 900.0
EFS = (0, 128, 256, 512)

Floats = NDArray[np.float32]


@command
async def run(
    statements: Annotated[list[int] | None, typer.Option(min=1_000, help="Number of vectors. May be repeated.")] = None,
    qdrant: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Qdrant's program. Default: the server that runs.")
    ] = None,
    quantization: Annotated[str, typer.Option(help="`int8`, `binary` or `none`.")] = "int8",
    local: Annotated[bool, typer.Option("--local", help="Measure the local stack's own server by size.")] = False,
    vectors: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Vectors of statements (.npy), with --local.")
    ] = None,
    kill_builds: Annotated[
        int, typer.Option(min=0, help="Kill the server that many times while it builds a graph, with --local.")
    ] = 0,
    as_json: AsJson = False,
) -> int:
    """Measure recall and latency of the search by meaning beside exact search, for several values of `hnsw_ef`.

    Example:  python -m benchmarks index --statements 20000 --qdrant /usr/bin/qdrant
    """
    if quantization not in ("int8", "binary", "none"):
        raise UsageError(f"{quantization!r}: the quantization is int8, binary or none")
    rows: list[dict[str, Any]] = []
    if local:
        conditions, given = machine(), np.load(vectors) if vectors else _generated(max(statements or [20_000]))
        for count in statements or [20_000]:
            rows.append(await local_index.measure(count, given, quantization, kill_builds))
        result = {"machine": conditions, "quantization": quantization, "rows": rows}
        if as_json:
            print_json(result)
        else:
            local_index.show(rows)
        return 0
    with server(load_settings(), qdrant) as url:
        for count in statements or [20_000]:
            rows += await measure(QdrantSettings(url=url, timeout_seconds=120, quantization=quantization), count)
    result = {"machine": machine(), "quantization": quantization, "rows": rows}
    if as_json:
        print_json(result)
    else:
        show(result)
    return 0


@contextmanager
def server(settings: Settings, binary: Path | None) -> Iterator[str]:
    """The address of a server: one that is started and ended, or the settings' server."""
    if binary is None:
        yield settings.qdrant.url
        return
    http, grpc = free_ports(2)
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "QDRANT__SERVICE__HTTP_PORT": str(http),
            "QDRANT__SERVICE__GRPC_PORT": str(grpc),
            "QDRANT__STORAGE__STORAGE_PATH": f"{folder}/storage",
            "QDRANT__STORAGE__SNAPSHOTS_PATH": f"{folder}/snapshots",
            "QDRANT__TELEMETRY_DISABLED": "true",
        }
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([str(binary.resolve())], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            wait_ready(process, f"http://127.0.0.1:{http}")
            yield f"http://127.0.0.1:{http}"
        finally:
            process.kill()
            process.wait()


def wait_ready(process: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise UsageError(f"{process.args!r} ended with exit code {process.returncode}: is it Qdrant's program?")
        try:
            if httpx2.get(f"{url}/readyz").is_success:
                return
        except httpx2.TransportError:
            time.sleep(0.2)
    raise UsageError(f"Qdrant at {url} wasn't ready after {READY_SECONDS:.0f} s")


async def measure(settings: QdrantSettings, count: int) -> list[dict[str, Any]]:
    generator = np.random.default_rng(count)
    centres = unit(generator.standard_normal((CENTRES, DIMENSIONS)))
    alias = f"bench{uuid4().hex[:8]}"
    index = QdrantIndex(settings, production=False, alias=alias)
    collection = await index.ensure(ModelInfo("generated", "1", DIMENSIONS))
    try:
        seconds = await fill(index, collection, generator, centres, count)
        await wait_until_optimized(settings.url, collection)
        queries = around(generator, centres, QUERIES)
        exact = [await ids(index, collection, query, exact=True) for query in queries]
        return [
            {"statements": count, "insert_per_second": round(count / seconds), **one}
            for one in [await approximate(settings, alias, collection, queries, exact, ef) for ef in EFS]
        ]
    finally:
        await index.activate(collection)
        await index._client.delete_collection(collection)
        await index.close()


async def fill(index: QdrantIndex, collection: str, generator: Any, centres: Floats, count: int) -> float:
    started = time.perf_counter()
    status = err.status("Filling")
    status.start()
    for first in range(0, count, 1_024):
        vectors = around(generator, centres, min(1_024, count - first))
        points = [
            Point(
                UUID(int=first + number + 1),
                vector,
                SparseVector((int(generator.integers(5_000)),), (1.0,)),
                StatementPayload.of_row(
                    {"page_id": str(UUID(int=(first + number) // 40 + 1)), "generation": 1, "host": "a.example"}
                ),
            )
            for number, vector in enumerate(vectors)
        ]
        await index.upsert(collection, points)
        status.update(f"{first + len(points)} of {count}")
    status.stop()
    return time.perf_counter() - started


async def wait_until_optimized(url: str, collection: str) -> None:
    """Wait until the graph is built: until then a part is searched exactly."""
    end = time.monotonic() + OPTIMIZED_SECONDS
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
        green = 0
        while time.monotonic() < end and green < 3:
            info = (await client.get(f"/collections/{collection}")).json()["result"]
            green = green + 1 if info["status"] == "green" else 0
            await asyncio.sleep(0.5)


async def approximate(
    settings: QdrantSettings, alias: str, collection: str, queries: Floats, exact: Sequence[set[UUID]], ef: int
) -> dict[str, Any]:
    index = QdrantIndex(settings.model_copy(update={"hnsw_ef": ef}), production=False, alias=alias)
    times, found = [], 0
    await ids(index, collection, queries[0])
    for query, expected in zip(queries, exact, strict=True):
        started = time.perf_counter()
        found += len(expected & await ids(index, collection, query))
        times.append(time.perf_counter() - started)
    await index.close()
    latency = Latency.of(times)
    return {
        "hnsw_ef": ef,
        "recall_at_100": round(found / (len(queries) * NEAREST), 4),
        "p50_ms": latency.p50,
        "p95_ms": latency.p95,
    }


async def ids(index: QdrantIndex, collection: str, query: Floats, *, exact: bool = False) -> set[UUID]:
    return {hit.id for hit in await index.nearest(collection, query.tolist(), NEAREST, exact=exact)}


def _generated(count: int) -> Floats:
    generator = np.random.default_rng(count)
    return around(generator, unit(generator.standard_normal((CENTRES, DIMENSIONS))), min(count, 100_000))


def around(generator: Any, centres: Floats, count: int) -> Floats:
    """Points around random centres."""
    noise = unit(generator.standard_normal((count, DIMENSIONS)))
    return unit(centres[generator.integers(len(centres), size=count)] + SPREAD * noise)


def unit(rows: Any) -> Floats:
    scaled: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def show(result: dict[str, Any]) -> None:
    conditions = result["machine"]
    out.print(f"{conditions['cores']} cores, {conditions['processor']}, load {conditions['load_before']}")
    rows = table(
        f"Vectors of {DIMENSIONS} dimensions, quantization {result['quantization']}",
        "statements",
        "hnsw_ef",
        "recall@100",
        "p50 ms",
        "p95 ms",
    )
    for one in result["rows"]:
        rows.add_row(*(str(one[name]) for name in ("statements", "hnsw_ef", "recall_at_100", "p50_ms", "p95_ms")))
    out.print(rows)
