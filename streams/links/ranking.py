"""The ranks of all hosts, from the rows of the links stage to the rows that the gateway reads.

The nodes of the graph are registrable domains: one owner may have any number of hosts, and they count as one. A name
below a domain has a rank by the links to itself: on a platform other people have the other names, and their links.

The graph is read by token, so no host is read twice, and held in memory: about 40 bytes for each link, and 250 for
each host. A run that is stopped has changed nothing, or has written some of the ranks; the next run writes the others.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np

from streams.crawl.domains import is_below, owner_of, surely_one_owner
from streams.links.page_links import witnesses_of
from streams.links.pagerank import DAMPING, GraphBuilder, HostGraph, Ranks, start_ranks, update_ranks
from streams.stores.protocols import HostLinks

FIRST_TOKEN, LAST_TOKEN = -(2**63), 2**63 - 1
SCANNED_HOSTS = 500
"""Maximum number of hosts in one request of the scan, and in one write."""
SHOWN = 10
MIN_CHANGE = 0.001
"""Minimum relative change of a rank that is written."""

Progress = Callable[[str, int], None]
"""Called with a step's name and the number of hosts that are done."""
ComputeThere = Callable[[HostGraph], Awaitable[Ranks]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of a run."""

    hosts: int
    links: int
    written: int
    """Ranks that were written, since they changed."""
    first: tuple[tuple[str, float, int], ...]
    """The hosts with the highest ranks, each with its rank and its in-links."""


async def rank_hosts(
    store: HostLinks,
    *,
    anew: bool,
    private: Sequence[str],
    progress: Progress,
    compute_there: ComputeThere | None = None,
) -> Ranked:
    """Compute the rank of each host and write the changed ranks. `anew`: without the former ranks.

    `private`: domains whose links don't count: those that were stored before their site was private.
    `compute_there`: computes all ranks of a graph elsewhere, such as on a cluster.
    """
    graph, below, hosts = await read_graph(store, private, progress)
    former = await _former_ranks(store, hosts, progress)
    progress("Computing ranks", len(graph.hosts))
    of_domains = {owner_of(host): rank for host, rank in former.items() if _site_of(host) == owner_of(host)}
    if compute_there:
        ranks = await compute_there(graph)
    else:
        ranks = update_ranks(graph, start_ranks(graph, {} if anew else of_domains))
    of_sites = dict(zip(graph.hosts, ranks.tolist(), strict=True)) | _ranks_below(graph, ranks, below)
    changed = _changed_ranks(of_sites, hosts, former)
    for start in range(0, len(changed), SCANNED_HOSTS):
        await store.put_ranks(dict(islice(changed.items(), start, start + SCANNED_HOSTS)))
        progress("Writing ranks", min(start + SCANNED_HOSTS, len(changed)))
    return Ranked(len(graph.hosts), len(graph.targets), len(changed), _highest_ranks(graph, ranks, SHOWN))


async def read_graph(
    store: HostLinks, private: Sequence[str], progress: Progress
) -> tuple[HostGraph, HostGraph, list[str]]:
    """Return the graph of domains, the links to names below them, and all hosts that have or give a link.

    A blog on a platform has links of its own, and gives them as the platform does: all blogs together have one voice.
    """
    builder, below, after, count = GraphBuilder(), GraphBuilder(), FIRST_TOKEN, 0
    hosts: dict[str, None] = {}
    is_private = cache(lambda host: is_below(host, private))
    while rows := await store.scan(after, LAST_TOKEN, SCANNED_HOSTS):
        for _, host, sources in rows:
            witnesses = witnesses_of(host, [source for source in sources if not is_private(source)])
            builder.add(owner_of(host), witnesses)
            if _site_of(host) != owner_of(host):
                below.add(_site_of(host), witnesses)
            hosts |= dict.fromkeys((host, *sources))
        after, count = rows[-1][0], count + len(rows)
        progress("Reading links", count)
    return builder.graph(), below.graph(), list(hosts)


def _site_of(host: str) -> str:
    """Return the host without `www.`, if that is surely the same site."""
    bare = host.removeprefix("www.")
    return bare if surely_one_owner(bare, host) else host


def _ranks_below(graph: HostGraph, ranks: Ranks, below: HostGraph) -> dict[str, float]:
    """Return the ranks of the names below domains: each domain that links to one passes on what it passes to others."""
    places = {host: place for place, host in enumerate(graph.hosts)}
    passed = DAMPING * ranks / np.maximum(graph.out_links, 1)
    found: dict[str, float] = {}
    for source, site in below.edges():
        found[site] = found.get(site, 1.0) + float(passed[places[source]])
    return found


async def _former_ranks(store: HostLinks, hosts: Sequence[str], progress: Progress) -> dict[str, float]:
    found: dict[str, float] = {}
    for start in range(0, len(hosts), SCANNED_HOSTS):
        known = await store.ranks(hosts[start : start + SCANNED_HOSTS])
        found |= {host: one.rank for host, one in known.items() if one.rank is not None}
        progress("Reading former ranks", min(start + SCANNED_HOSTS, len(hosts)))
    return found


def _changed_ranks(
    of_sites: Mapping[str, float], hosts: Sequence[str], former: Mapping[str, float]
) -> dict[str, float]:
    """Return the ranks that differ from the former ones. A host without in-links has rank 1, which needs no row."""
    return {
        host: rank
        for host in hosts
        for rank in (of_sites.get(_site_of(host), 1.0),)
        if abs(rank - former.get(host, 1.0)) > MIN_CHANGE * former.get(host, 1.0)
    }


def _highest_ranks(graph: HostGraph, ranks: Ranks, count: int) -> tuple[tuple[str, float, int], ...]:
    in_links = graph.in_links
    order = np.lexsort((np.array(graph.hosts, dtype=object), -ranks))[:count] if len(ranks) else []
    return tuple((graph.hosts[place], float(ranks[place]), int(in_links[place])) for place in order)
