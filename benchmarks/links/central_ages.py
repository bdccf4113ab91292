"""The age that harmonic centralities may have: how much they change while a graph of domains grows.

    python -m benchmarks central-ages --edges 1000000

The graph is generated: in-links and out-links follow power laws (rank-size exponents .9 and .6). The centralities of
the whole graph, from a sample of starts, are compared with the centralities of the graph before its last edges, from
the same starts, and with centralities from other starts: the error of the sample itself.
"""

import time
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.machine import machine
from streams.commands.console import AsJson, command, print_figures
from streams.links.centrality import harmonic_centrality
from streams.links.pagerank import GraphBuilder, HostGraph

SEED = 7
IN_LINKS, OUT_LINKS = 0.9, 0.6
"""Exponents of the number of links by the rank of a domain."""
YOUNGER = (0.1, 0.01)
"""Shares of the edges that are younger than the former centralities."""
FIRST = 100, 1_000
"""Numbers of first domains that are compared."""


@command
def run(
    edges: Annotated[int, typer.Option(min=1_000, help="Number of edges of the generated graph.")] = 1_000_000,
    starts: Annotated[int, typer.Option(min=1, help="Number of start domains.")] = 1_024,
    as_json: AsJson = False,
) -> None:
    """Measure how much harmonic centralities change while a graph grows, beside the error of their sample.

    Example:  python -m benchmarks central-ages --edges 100000 --starts 128
    """
    print_figures("Ages of centralities", measure(edges, starts), as_json)


def measure(edges: int, starts: int) -> dict[str, Any]:
    """Return the cost of the centralities, and their distance from former ones and from another sample."""
    chance = np.random.default_rng(SEED)
    domains = edges // 5
    order = chance.permutation(domains)
    sources, targets = order[_draw(chance, edges, domains, OUT_LINKS)], _draw(chance, edges, domains, IN_LINKS)
    whole = _graph(sources, targets)
    sample = chance.choice(len(whole.hosts), min(starts, len(whole.hosts)), replace=False)
    begin = time.process_time()
    now = _by_name(whole, harmonic_centrality(whole, sample))
    seconds = time.process_time() - begin
    other = chance.choice(len(whole.hosts), len(sample), replace=False)
    found = {"other starts": _compare(now, _by_name(whole, harmonic_centrality(whole, other)))}
    for share in YOUNGER:
        former = _graph(*(part[: round(edges * (1 - share))] for part in (sources, targets)))
        places = {host: place for place, host in enumerate(former.hosts)}
        same = [places[host] for host in (whole.hosts[place] for place in sample) if host in places]
        values = _by_name(former, harmonic_centrality(former, np.array(same)))
        found[f"{share:.0%} of the edges earlier"] = _compare(now, values)
    return {
        "machine": machine(),
        "domains": len(whole.hosts),
        "edges": len(whole.targets),
        "cpu_ms_per_start": round(1_000 * seconds / len(sample), 1),
        "differences": found,
    }


def _draw(chance: np.random.Generator, count: int, domains: int, exponent: float) -> NDArray[np.int64]:
    summed = np.cumsum(np.arange(1, domains + 1) ** -exponent)
    drawn: NDArray[np.int64] = np.searchsorted(summed, chance.random(count) * summed[-1])
    return drawn


def _graph(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> HostGraph:
    linking: dict[int, dict[str, None]] = {}
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        if source != target:
            linking.setdefault(target, {})[f"d{source}"] = None
    builder = GraphBuilder()
    for target, hosts in linking.items():
        builder.add(f"d{target}", list(hosts))
    return builder.graph()


def _by_name(graph: HostGraph, values: NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(graph.hosts, values.tolist(), strict=True))


def _first(values: dict[str, float], count: int) -> Sequence[str]:
    return sorted(values, key=lambda name: (-values[name], name))[:count]


def _compare(now: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    """Return the share of common first domains, and the median relative difference of their values."""
    found: dict[str, float] = {}
    for count in FIRST:
        first = _first(now, count)
        found[f"common of the first {count}"] = round(len(set(first) & set(_first(other, count))) / len(first), 3)
        differences = [abs(other.get(name, 0.0) - now[name]) / max(now[name], 1e-9) for name in first]
        found[f"difference of the first {count}"] = round(float(np.median(differences)), 4)
    return found
