"""The interface between a stage's code and the runtime: deliveries in, events out. It doesn't depend on Kafka."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from schemas import Envelope, Event
from schemas.envelope import micros_from_utc

Emit = Callable[[Event, str], Awaitable[None]]
"""Sends an event and waits for its delivery. The string names the cause: the same event and cause give the same id."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event as it arrived. After a crash or a rebalance the same event may be delivered again."""

    event: Event
    envelope: Envelope
    topic: str
    partition: int
    offset: int
    attempt: int = 1

    @property
    def at(self) -> int:
        """The event's time in microseconds since 1970 UTC: the write time of all records that it leads to."""
        return micros_from_utc(self.envelope.time)

    @property
    def time(self) -> datetime:
        return self.envelope.time


class Agent:
    """A stage's code. Subclasses override `handle`. The other methods are for stages that also act on their own.

    `handle` stores first (blob, then record) and returns the events to send. The runtime sends them, waits for
    their delivery, and only then acknowledges the input. It may be called for several events at once, but never
    for two that the stage's order keeps apart. Raise TransientError to be tried again, PoisonError to dead-letter
    the event.
    """

    steps: int = 0
    """Number of parts of events that are done. A stage whose events may take minutes counts parts here, so that its
    worker counts as making progress."""

    partition_count: int = 1
    """Number of partitions of each of the stage's inputs. The worker sets it before the start."""
    later_stage_behind: Callable[[], str] = staticmethod(lambda: "")
    """Returns the later stage that is behind by more than the bound, or "". An agent that is a source of events pauses
    meanwhile. The runtime sets it before `start`."""

    async def start(self, emit: Emit) -> None:
        """Called before the first event. Keep `emit` to send events without an input. It must return soon."""

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        """Handle one event and return the events that follow."""
        raise NotImplementedError

    def delivered(self, delivery: Delivery, outputs: Sequence[Event]) -> None:
        """Called when Kafka has all outputs of an event, before the event is acknowledged. It must not fail."""

    def measurements(self) -> Mapping[str, float]:
        """Return the agent's own numbers, for the metrics and the health page: `riffle_NAME`, by stage."""
        return {}

    async def assigned(self, partitions: frozenset[int]) -> None:
        """Called when this worker gets its partitions of the stage's inputs: these, and no others."""

    async def revoked(self) -> None:
        """Called when this worker's partitions are taken away, before the next assignment. Act on events alone."""

    async def stop(self) -> None:
        """Called after the last event."""
