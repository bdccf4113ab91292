"""The batch job of ranks: its results are those of the one process that computes them from a store."""

from pathlib import Path

import numpy as np
import pytest

from streams.commands.cluster import DaskEngine
from streams.links.batch import Here, Result, compute
from streams.links.pagerank import GraphBuilder, HostGraph, start_ranks, update_ranks

TOLERANCE = 1e-9


GRAPH = "".join(f"d{n % 23}.example\td{n * n % 19}.example\n" for n in range(200))


def quiet(_: str, __: int) -> None: ...


def run(file: Path, parts: int) -> tuple[Result, dict[str, float]]:
    result = compute(Here(), file, parts=parts, report=quiet, tolerance=TOLERANCE)
    return result, dict(result.rows(Here()))


def random_graph(seed: int, nodes: int, edges: int) -> HostGraph:
    """Return a graph in which a few domains have most links, as in the web."""
    chance, builder = np.random.default_rng(seed), GraphBuilder()
    for one, other in zip(chance.integers(nodes, size=edges), chance.zipf(1.6, size=edges) % nodes, strict=True):
        builder.add(f"d{other}.example", [f"d{one}.example"])
    return builder.graph()


@pytest.mark.parametrize(("seed", "nodes", "edges", "parts"), [(1, 50, 200, 1), (2, 50, 30, 3), (3, 400, 2_000, 8)])
def test_ranks_are_those_of_one_process(tmp_path: Path, seed: int, nodes: int, edges: int, parts: int) -> None:
    graph, file = random_graph(seed, nodes, edges), tmp_path / "edges.tsv"
    lines = [f"{one}\t{other}\n" for one, other in graph.edges()]
    file.write_text("".join([*lines, *lines[:9]]))  # each link counts once
    result, found = run(file, parts)
    assert (result.count, result.edges) == (len(graph.hosts), len(graph.targets))
    ranks = np.array([found[host] for host in graph.hosts])
    for former in ({}, {graph.hosts[0]: 9.0}):
        computed = update_ranks(graph, start_ranks(graph, former), tolerance=TOLERANCE)
        np.testing.assert_allclose(ranks, computed, rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("\n\n", set()),
        ("a.example\ta.example\n", set()),  # to itself
        ("only one column\n", set()),
        ("a.example\tb.example", {"a.example", "b.example"}),  # the last line has no end
        ("a.example\tb.example\r\nb.example\ta.example\r\n", {"a.example", "b.example"}),
        ("münchen.example\tb.example\n", {"münchen.example", "b.example"}),
    ],
)
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_lines_that_are_cut_or_no_edges(tmp_path: Path, text: str, names: set[str], parts: int) -> None:
    file = tmp_path / "edges.tsv"
    file.write_bytes(text.encode())
    _, found = run(file, parts)
    assert set(found) == names
    assert all(rank >= 1 for rank in found.values())


def test_each_line_is_read_by_one_part(tmp_path: Path) -> None:
    file = tmp_path / "edges.tsv"
    file.write_text("".join(f"d{n}.example\td{n + 1}.example\n" for n in range(97)))
    assert {run(file, parts)[0].edges for parts in range(1, 40)} == {97}


def test_a_dask_cluster_computes_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    file = tmp_path / "edges.tsv"
    file.write_text(GRAPH)
    options = {"n_workers": 1, "processes": False, "dashboard_address": None, "protocol": "inproc://"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        engine = DaskEngine(client)
        result = compute(engine, file, parts=3, report=quiet, tolerance=TOLERANCE)
        rows = dict(result.rows(engine))
    assert rows == run(file, 3)[1]
