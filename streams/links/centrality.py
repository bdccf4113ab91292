"""Harmonic centrality of the graph of domains: how near all others are, over links (Boldi and Vigna, 2014). Pure.

The centrality of a domain is the sum of 1 / distance over all domains that can reach it. It is computed from a sample
of start domains (Eppstein and Wang, 2004): exact if the sample is the whole graph.
"""

import numpy as np
from numpy.typing import NDArray

from streams.links.pagerank import HostGraph

MAX_DISTANCE = 30
"""Maximum length of a path that counts."""


def harmonic_centrality(graph: HostGraph, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the centrality of each domain, by the paths from these start domains, scaled to the whole graph."""
    count = len(graph.hosts)
    found = np.zeros(count)
    for start in starts.tolist():
        found += _from(graph, start)
    return found * (count / len(starts)) if len(starts) else found


def _from(graph: HostGraph, start: int) -> NDArray[np.float64]:
    """Return 1 / distance from one start to each domain; 0 for itself and for domains out of reach."""
    nearness = np.zeros(len(graph.hosts))
    seen = np.zeros(len(graph.hosts), dtype=bool)
    seen[start] = True
    front = np.array([start], dtype=np.int64)
    for distance in range(1, MAX_DISTANCE + 1):
        spans = [graph.targets[graph.starts[node] : graph.starts[node + 1]] for node in front.tolist()]
        reached = np.unique(np.concatenate(spans)) if spans else front[:0]
        front = reached[~seen[reached]]
        if not len(front):
            break
        seen[front] = True
        nearness[front] = 1 / distance
    return nearness


def most_central(graph: HostGraph, sample: int, shown: int = 10) -> list[tuple[str, float]]:
    """Return the domains with the highest centrality. The start domains are spread evenly, without chance."""
    count = len(graph.hosts)
    starts = np.unique(np.linspace(0, max(count - 1, 0), min(sample, count)).astype(np.int64))
    found = harmonic_centrality(graph, starts)
    order = np.lexsort((np.array(graph.hosts, dtype=object), -found))[:shown] if count else []
    return [(graph.hosts[place], float(found[place])) for place in order]
