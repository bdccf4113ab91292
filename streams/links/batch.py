"""PageRank of an exported list of edges, in parts that the machines of a cluster compute.

    read      a part of the file          -> its edges, as hashes of names; its names
    divide    by the hash of the target   -> the edges that each range of hashes owns
    join      all that a range owns       -> its nodes, sorted by hash, and its edges, each once
    place     the nodes of all ranges     -> edges as places in the list of all nodes
    step      a vector of all nodes       -> the new values of the range's own nodes

A machine holds the edges of its ranges, and vectors of all nodes: 8 bytes for each node. Names stay where their range
is. The results are as by `pagerank`: the same equation, solved by rounds over all nodes (Jacobi).

A job sends these tasks to an engine, round by round: Dask's client, or `Here`, which runs each task at once in this
process. Data of a range stay on the machine that made them: tasks get handles of them. Only vectors of all nodes
travel, once in each round.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from streams.links.pagerank import DAMPING, MAX_ROUNDS, TOLERANCE

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]
Values = NDArray[np.float64]
Report = Callable[[str, int], None]
"""Called with a step's name and the number of rounds that are done."""


class Block(NamedTuple):
    """Edges and names that one range owns, from one part of the file."""

    sources: Hashes
    targets: Hashes
    names: dict[int, str]


@dataclass(frozen=True, slots=True)
class Range:
    """All that a range owns."""

    nodes: Hashes
    """Its nodes, sorted."""
    names: list[str]
    sources: Hashes
    targets: Hashes


@dataclass(frozen=True, slots=True)
class Local:
    """The edges to the nodes of a range, each once, ordered by target."""

    count: int
    """Number of nodes of the range."""
    sources: Places
    """Places in the list of all nodes."""
    targets: Places
    """Places among the nodes of the range."""


def spans_of(path: Path, parts: int) -> list[tuple[int, int]]:
    """Return the bytes of the file that each part reads."""
    bounds = np.linspace(0, path.stat().st_size, parts + 1).astype(int).tolist()
    return list(pairwise(bounds))


def read(path: str, start: int, end: int, ranges: int) -> list[Block]:
    """Read the lines that begin in these bytes, and divide them by the range of their target."""
    known: dict[str, int] = {}
    edges = [(hash_of(one, known), hash_of(other, known)) for one, other in _lines(path, start, end)]
    pairs = np.array(edges, dtype=np.uint64).reshape(-1, 2)
    owners = range_of(pairs[:, 1], ranges)
    names: list[dict[int, str]] = [{} for _ in range(ranges)]
    hashes = np.fromiter(known.values(), dtype=np.uint64, count=len(known))
    for owner, name, number in zip(range_of(hashes, ranges).tolist(), known, hashes.tolist(), strict=True):
        names[owner][number] = name
    return [Block(pairs[owners == one, 0], pairs[owners == one, 1], names[one]) for one in range(ranges)]


def _lines(path: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    with Path(path).open("rb") as file:
        if start:
            file.seek(start - 1)
            file.readline()  # the rest of a line that the part before reads
        while file.tell() < end and (line := file.readline()):
            one, _, other = line.decode().rstrip("\r\n").partition("\t")
            if one and other and one != other:
                yield one, other


def hash_of(name: str, known: dict[str, int]) -> int:
    if (found := known.get(name)) is None:
        found = known[name] = xxhash.xxh3_64_intdigest(name.encode())
    return found


def range_of(hashes: Hashes, ranges: int) -> Places:
    """Return the range that owns each hash: equal spans of all hashes, in their order."""
    return np.minimum((hashes >> np.uint64(32)).astype(np.int64) * ranges >> 32, ranges - 1)


def join(*blocks: Block) -> Range:
    """Return what a range owns, from all parts of the file."""
    names: dict[int, str] = {}
    for block in blocks:
        names.update(block.names)
    nodes = np.array(sorted(names), dtype=np.uint64)
    sources = np.concatenate([block.sources for block in blocks])
    targets = np.concatenate([block.targets for block in blocks])
    return Range(nodes, [names[node] for node in nodes.tolist()], sources, targets)


def place(owned: Range, nodes: Hashes) -> Local:
    """Return the edges of a range as places among all nodes, which are sorted."""
    sources = np.searchsorted(nodes, owned.sources).astype(np.int64)
    targets = np.searchsorted(owned.nodes, owned.targets).astype(np.int64)
    edges = np.unique(targets * len(nodes) + sources)
    return Local(len(owned.nodes), edges % max(len(nodes), 1), edges // max(len(nodes), 1))


def count_links(local: Local, count: int) -> Places:
    """Return how many nodes of the range each of all nodes links to."""
    return np.bincount(local.sources, minlength=count)


def step_ranks(local: Local, shares: Values) -> Values:
    """Return the ranks of the range's nodes. `shares`: what each of all nodes passes on by each of its links."""
    return 1.0 + DAMPING * np.bincount(local.targets, weights=shares[local.sources], minlength=local.count)


class Engine(Protocol):
    """An engine that runs tasks. A handle may be an argument of a further task, which then gets its value."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function, and return a handle of its result."""

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results."""

    def share(self, value: Any) -> Any:
        """Return a handle of a value that many tasks need."""


class Here:
    """An engine that runs each task at once, in this process."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def share(self, value: Any) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class Result:
    """The values of all nodes, by range."""

    count: int
    edges: int
    ranges: Sequence[Any]
    """Handles of the ranges."""
    sizes: Sequence[int]
    ranks: Values

    def rows(self, engine: Engine) -> Iterator[tuple[str, float]]:
        """Yield each name with its rank, one range after the other."""
        start = 0
        for owned, size in zip(self.ranges, self.sizes, strict=True):
            (names,) = engine.gather([engine.submit(getattr, owned, "names")])
            yield from zip(names, self.ranks[start : start + size].tolist(), strict=True)
            start += size


def compute(engine: Engine, path: Path, *, parts: int, report: Report, tolerance: float = TOLERANCE) -> Result:
    """Compute the ranks of all names in a list of edges."""
    report("Reading edges", 0)
    spans = spans_of(path, parts)
    parsed = [engine.submit(read, str(path), start, end, parts) for start, end in spans]
    ranges = [engine.submit(join, *(engine.submit(getitem, blocks, one) for blocks in parsed)) for one in range(parts)]
    found = engine.gather([engine.submit(getattr, owned, "nodes") for owned in ranges])
    nodes = np.concatenate(found)
    shared = engine.share(nodes)
    local = [engine.submit(place, owned, shared) for owned in ranges]
    links = sum(engine.gather([engine.submit(count_links, one, len(nodes)) for one in local]))
    ranks = _ranks(engine, local, links, tolerance, report)
    return Result(len(nodes), int(np.sum(links)), ranges, [len(one) for one in found], ranks)


def _ranks(engine: Engine, local: Sequence[Any], links: Places, tolerance: float, report: Report) -> Values:
    ranks = np.ones(len(links))
    for round_ in range(1, MAX_ROUNDS + 1):
        shares = engine.share(ranks / np.maximum(links, 1))
        following = np.concatenate(engine.gather([engine.submit(step_ranks, one, shares) for one in local]))
        change = float(np.abs(following - ranks).max(initial=0.0))
        ranks = following
        report("Ranks, round", round_)
        if change <= tolerance:
            break
    return ranks
