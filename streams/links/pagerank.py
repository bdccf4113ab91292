"""PageRank over the graph of hosts, computed from the former ranks, or anew: then each host begins with rank 1. Pure.

A host's rank is its PageRank divided by the PageRank of a host without in-links. So such a host has rank 1, however
many hosts there are, and a new host changes only the ranks of the hosts that it links to. The ranks are the solution
of

    rank = 1 + DAMPING * (sum over the linking hosts: rank / number of hosts that they link to)

PageRank with random jumps to all hosts (hosts without outgoing links jump too) is proportional to this rank (Page,
Brin, Motwani and Winograd, 1999; Del Corso, Gulli and Romani, 2005). The update pushes residuals (the differences
between both sides of this equation) along the links until none is large (McSherry, "A Uniform Approach to Accelerated
PageRank Computation", 2005).

The graph has registrable domains as its nodes (`ranking`): all hosts of one domain count as one.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DAMPING = 0.85
"""Share of a host's rank that its links pass on."""
TOLERANCE = 1e-6
"""Maximum residual of a host at the end."""
MAX_ROUNDS = 1_000
"""Maximum rounds. 120 are enough for a residual of 1e-8 of the first one."""

Ranks = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HostGraph:
    """Hosts and their links, ordered by the linking host."""

    hosts: tuple[str, ...]
    starts: NDArray[np.int64]
    """The links of host n are those from starts[n] to starts[n + 1]. One entry more than hosts."""
    targets: NDArray[np.int64]
    """The linked host of each link, as its place in `hosts`."""

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield each link as the linking host and the linked one."""
        for place, host in enumerate(self.hosts):
            for target in self.targets[self.starts[place] : self.starts[place + 1]].tolist():
                yield host, self.hosts[target]

    @property
    def out_links(self) -> NDArray[np.int64]:
        """Number of hosts that each host links to."""
        return np.diff(self.starts)

    @property
    def in_links(self) -> NDArray[np.int64]:
        """Number of hosts that link to each host."""
        return np.bincount(self.targets, minlength=len(self.hosts))


class GraphBuilder:
    """Collects the links of a graph: 8 bytes for each."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._sources, self._targets = array("i"), array("i")

    def add(self, host: str, sources: Iterable[str]) -> None:
        """Add the links to a host. Links of a host to itself are left out."""
        target = self._place(host)
        for source in sources:
            if source != host:
                self._sources.append(self._place(source))
                self._targets.append(target)

    def graph(self) -> HostGraph:
        """Return the graph so far. Each link counts once, however often it was added."""
        count = len(self._places)
        sources = np.array(self._sources, dtype=np.int64)
        links = np.unique(sources * count + np.array(self._targets, dtype=np.int64))
        starts = np.searchsorted(links, np.arange(count + 1, dtype=np.int64) * count)
        return HostGraph(tuple(self._places), starts, links % max(count, 1))

    def _place(self, host: str) -> int:
        return self._places.setdefault(host, len(self._places))


def update_ranks(graph: HostGraph, ranks: Ranks, tolerance: float = TOLERANCE) -> Ranks:
    """Return the rank of each host, computed from former ranks: only changes since then are passed on."""
    current = ranks.astype(np.float64).copy()
    residuals = residuals_of(graph, current)
    for _ in range(MAX_ROUNDS):
        active = np.flatnonzero(np.abs(residuals) > tolerance)
        if not len(active):
            break
        pushed = residuals[active]
        current[active] += pushed
        residuals[active] = 0.0
        _pass_on(graph, active, DAMPING * pushed, residuals)
    return current


def residuals_of(graph: HostGraph, ranks: Ranks) -> Ranks:
    """Return each host's residual: the difference between both sides of the equation. All are 0 for the solution."""
    residuals = 1.0 - ranks
    _pass_on(graph, np.arange(len(graph.hosts)), DAMPING * ranks, residuals)
    return residuals


def start_ranks(graph: HostGraph, former: Mapping[str, float]) -> Ranks:
    """Return the former rank of each host of a graph; 1 for a host without a former rank."""
    return np.array([former.get(host, 1.0) for host in graph.hosts], dtype=np.float64)


def _pass_on(graph: HostGraph, hosts: NDArray[np.int64], amounts: Ranks, into: Ranks) -> None:
    """Divide the amount of each host among the hosts that it links to."""
    counts = graph.out_links[hosts]
    total = int(counts.sum())
    if not total:
        return
    firsts = np.repeat(graph.starts[hosts] - (np.cumsum(counts) - counts), counts)
    links = firsts + np.arange(total)
    np.add.at(into, graph.targets[links], np.repeat(amounts / np.maximum(counts, 1), counts))
