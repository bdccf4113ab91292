"""A record of what happened during one search: for `explain`, the reasons of a partial answer, and the metrics."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal, get_args
from uuid import UUID

from streams.models.protocols import ModelInfo
from streams.plain_text import message
from streams.search.deadline import IN_WORDS, Reason

OrderingPart = Literal["dense", "rerank", "authority", "clicks"]
"""The optional parts that give scores: without one of them, the order of results is another."""
ORDERING_PARTS: frozenset[OrderingPart] = frozenset(get_args(OrderingPart))
Part = OrderingPart | Literal["sparse", "index", "copies", "similar"]
State = Literal["ok", "cached", "empty", "failed"]

_LEFT_OUT: dict[OrderingPart, str] = {
    "dense": message("Meaning could not be searched for the first page of results, so it is left out of all pages."),
    "rerank": message("The cross-encoder failed on the first page of results, so it is left out of all pages."),
    "clicks": message("Clicks could not be read for the first page of results, so they are left out of all pages."),
    "authority": message(
        "The ranks of hosts were missing on the first page of results, so they are left out of all pages."
    ),
}


@dataclass(slots=True)
class Trace:
    """The state of each part of a search, its time, and the reason why it failed or was empty."""

    left_out: frozenset[OrderingPart] = frozenset()
    """The parts that failed on the first page of results. They are not asked for later pages."""
    states: dict[Part, State] = field(default_factory=dict)
    reasons: dict[Part, str] = field(default_factory=dict)
    """Sentences for people: the reason why a part failed or had nothing to do."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    model: ModelInfo | None = None
    meaning: float | None = None
    """The weight of meaning, once both lists are there."""
    similarities: Mapping[UUID, float] = field(default_factory=dict)
    """The closeness (`ModelInfo.closeness`) of the query and the statements of the dense list, by their ids."""

    @property
    def failed(self) -> tuple[Part, ...]:
        return tuple(part for part, state in self.states.items() if state == "failed")

    def fail(self, part: Part, reason: str) -> None:
        self.states[part], self.reasons[part] = "failed", reason

    def missing(self, part: Part, pattern: str) -> Callable[[Reason], None]:
        """Return a function that records why a part is missing. `pattern` has the reason as `%(why)s`."""
        return lambda why: self.fail(part, message(pattern, why=IN_WORDS[why]))

    def leave_out(self, part: OrderingPart) -> bool:
        """Return True if the part failed on the first page of results. Then it counts as failed here, too."""
        if part not in self.left_out:
            return False
        self.fail(part, message("%(reason)s Search again to include it.", reason=_LEFT_OUT[part]))
        return True

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
