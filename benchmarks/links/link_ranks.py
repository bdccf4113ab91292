"""Ranks of a generated graph: by the batch job in this process and on a local Dask cluster, and by one process.

    python -m benchmarks link-ranks --edges 1000000

The graph has a fifth as many domains as edges, and a few domains have most links. `one process` does what
`riffle links rank` does once the links are read: it computes from former ranks, here the ranks of nine tenths of the
edges. Each way runs in a process of its own, so that its peak of memory is its own.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import psutil
import typer

from benchmarks.machine import machine
from streams.commands.cluster import DaskEngine
from streams.commands.console import AsJson, command, print_figures
from streams.links.batch import Here, compute
from streams.links.pagerank import GraphBuilder, start_ranks, update_ranks

MODULE = "benchmarks.links.link_ranks"
TOLERANCE = 1e-8
PARTS = 8
WAYS = ("one process, from former ranks", "one process, anew", "batch, in this process", "batch, 2 Dask workers")


@command
def run(
    edges: Annotated[int, typer.Option(min=100, help="Number of edges of the generated graph.")] = 1_000_000,
    as_json: AsJson = False,
) -> None:
    """Measure ranks by the batch job, also on a local Dask cluster, beside one process.

    Example:  python -m benchmarks link-ranks --edges 1000000
    """
    print_figures("Ranks by links", compare(edges), as_json)


def compare(edges: int) -> dict[str, Any]:
    """Return time, memory and the largest difference of each way."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edges.tsv"
        write_graph(file, edges)
        found = {}
        for number, way in enumerate(WAYS):
            part = [sys.executable, "-m", MODULE, str(file), str(number), f"{file}.{number}.npy"]
            done = subprocess.run(part, capture_output=True, text=True, check=True)
            found[way] = json.loads(done.stdout.splitlines()[-1])
        values = [np.load(f"{file}.{number}.npy") for number in range(len(WAYS))]
        for way, one in zip(WAYS, values, strict=True):
            difference = np.abs(one - values[1]) / np.maximum(values[1], 1)
            found[way]["largest difference"] = float(np.max(difference))
    return {"machine": machine(), "edges": edges, "parts": PARTS, "ways": found}


def write_graph(file: Path, edges: int) -> None:
    chance = np.random.default_rng(7)
    domains = max(edges // 5, 10)
    sources, targets = chance.integers(domains, size=edges), chance.zipf(1.5, size=edges) % domains
    with file.open("w") as lines:
        lines.writelines(
            f"d{one}.example\td{other}.example\n" for one, other in zip(sources, targets, strict=True) if one != other
        )


def measure(file: Path, number: int, target: Path) -> dict[str, Any]:
    """Run one way in this process. Its values go to a file, in the order of names."""
    begin, cpu = time.monotonic(), time.process_time()
    names, ranks, workers = (_one_process if number < 2 else _batch)(file, number)
    np.save(target, ranks[np.argsort(np.array(names))])
    peak = max(psutil.Process().memory_info().rss, _peak())
    return {
        "seconds": round(time.monotonic() - begin, 1),
        "cpu_seconds": round(time.process_time() - cpu + sum(one["cpu"] for one in workers), 1),
        "peak_mb": round(peak / 1e6),
        "peak_mb_of_a_worker": round(max((one["rss"] for one in workers), default=0) / 1e6),
    }


def _one_process(file: Path, number: int) -> tuple[list[str], Any, list[dict[str, float]]]:
    builder, former = GraphBuilder(), GraphBuilder()
    lines = file.read_text().splitlines()
    for place, line in enumerate(lines):
        one, _, other = line.partition("\t")
        builder.add(other, [one])
        if number == 0 and place % 10:
            former.add(other, [one])
    graph = builder.graph()
    if number == 1:
        return list(graph.hosts), update_ranks(graph, start_ranks(graph, {}), tolerance=TOLERANCE), []
    of_former = former.graph()
    ranks = update_ranks(of_former, start_ranks(of_former, {}), tolerance=TOLERANCE)
    known = dict(zip(of_former.hosts, ranks.tolist(), strict=True))
    return list(graph.hosts), update_ranks(graph, start_ranks(graph, known), tolerance=TOLERANCE), []


def _batch(file: Path, number: int) -> tuple[list[str], Any, list[dict[str, float]]]:
    if number == 2:
        return (*_computed(Here(), file), [])
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]  # it has types in part
        Client(cluster) as client,  # type: ignore[no-untyped-call]  # it has types in part
    ):
        found = _computed(DaskEngine(client), file)
        workers = list(client.run(_usage).values())
    return (*found, workers)


def _usage() -> dict[str, float]:
    return {"cpu": time.process_time(), "rss": _peak()}


def _peak() -> float:
    import resource

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _computed(engine: Any, file: Path) -> tuple[list[str], Any]:
    result = compute(engine, file, parts=PARTS, report=lambda _, __: None, tolerance=TOLERANCE)
    rows = list(result.rows(engine))
    return [name for name, _ in rows], np.array([rank for _, rank in rows])


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
