"""The batch job of ranks: it sends the tasks of `batch` to an engine, round by round.

The engine is Dask's client, or `Here`, which runs each task at once in this process. Data of a range stay on the
machine that made them: tasks get handles of them. Only vectors of all nodes travel, once in each round.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from streams.links import batch
from streams.links.batch import Places, Values
from streams.links.pagerank import MAX_ROUNDS, TOLERANCE

Report = Callable[[str, int], None]
"""Called with a step's name and the number of rounds that are done."""


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
    rounds: int

    def rows(self, engine: Engine) -> Iterator[tuple[str, float]]:
        """Yield each name with its rank, one range after the other."""
        start = 0
        for owned, size in zip(self.ranges, self.sizes, strict=True):
            (names,) = engine.gather([engine.submit(batch.names_of, owned)])
            yield from zip(names, self.ranks[start : start + size].tolist(), strict=True)
            start += size


def compute(engine: Engine, path: Path, *, parts: int, report: Report, tolerance: float = TOLERANCE) -> Result:
    """Compute the ranks of all names in a list of edges."""
    report("Reading edges", 0)
    spans = batch.spans_of(path, parts)
    read = [engine.submit(batch.read, str(path), start, end, parts) for start, end in spans]
    ranges = [
        engine.submit(batch.join, *(engine.submit(batch.pick, blocks, one) for blocks in read)) for one in range(parts)
    ]
    found = engine.gather([engine.submit(batch.nodes_of, owned) for owned in ranges])
    nodes = np.concatenate(found)
    shared = engine.share(nodes)
    local = [engine.submit(batch.place, owned, shared) for owned in ranges]
    links = sum(engine.gather([engine.submit(batch.count_links, one, len(nodes)) for one in local]))
    ranks, rounds = _ranks(engine, local, links, tolerance, report)
    return Result(len(nodes), int(np.sum(links)), ranges, [len(one) for one in found], ranks, rounds)


def _ranks(engine: Engine, local: Sequence[Any], links: Places, tolerance: float, report: Report) -> tuple[Values, int]:
    ranks = np.ones(len(links))
    for round_ in range(1, MAX_ROUNDS + 1):
        shares = engine.share(ranks / np.maximum(links, 1))
        following = np.concatenate(engine.gather([engine.submit(batch.step_ranks, one, shares) for one in local]))
        change = float(np.abs(following - ranks).max(initial=0.0))
        ranks = following
        report("Ranks, round", round_)
        if change <= tolerance:
            break
    return ranks, round_
