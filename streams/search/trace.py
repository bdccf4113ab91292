"""A record of what happened during one search: for `explain`, the reasons of a partial answer, and the metrics."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from streams.models.protocols import ModelInfo
from streams.search.ranking.weights import Weight

Part = Literal["dense", "sparse", "index", "rerank", "authority", "copies", "similar"]
State = Literal["ok", "cached", "empty", "failed"]


@dataclass(slots=True)
class Trace:
    """The state of each part of a search, its time, and the reason why it failed or was empty."""

    states: dict[Part, State] = field(default_factory=dict)
    reasons: dict[Part, str] = field(default_factory=dict)
    """Sentences for people: the reason why a part failed or had nothing to do."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    model: ModelInfo | None = None
    weight: Weight | None = None
    """The weight of meaning, once both lists are there."""

    @property
    def failed(self) -> tuple[Part, ...]:
        return tuple(part for part, state in self.states.items() if state == "failed")

    def fail(self, part: Part, reason: str) -> None:
        self.states[part], self.reasons[part] = "failed", reason

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Record the time of this part, also if the part fails."""
        started = perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = milliseconds_since(started)


def milliseconds_since(started: float) -> float:
    return round((perf_counter() - started) * 1_000, 3)
