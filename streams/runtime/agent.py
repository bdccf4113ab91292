"""The interface between a stage's code and the runtime: deliveries in, events out. It doesn't depend on Kafka."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    note_part: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)
    """Says that a part of the event is done: the deadline of the event counts from there. The work must be bounded."""

    @property
    def at(self) -> int:
        """The event's time in microseconds since 1970 UTC: the write time of all records that it leads to."""
        return micros_from_utc(self.envelope.time)

    @property
    def time(self) -> datetime:
        return self.envelope.time


class Agent:
    """A stage's code. Subclasses override `handle`. Stages that also act without an event override other methods.

    `handle` stores first (blob, then record) and returns the events to send. The runtime sends them, waits for
    their delivery, and only then acknowledges the input. It may be called for several events at once, but never
    for two that the stage's order keeps apart. Raise TransientError to be tried again, PoisonError to dead-letter
    the event.
    """

    steps: int = 0
    """Number of finished parts of events. A stage with events of several minutes counts their parts here, so that its
    worker counts as making progress."""

    partition_count: int = 1
    """Number of partitions of each of the stage's inputs. The worker sets it before the start."""
    later_stage_behind: Callable[[], str] = staticmethod(lambda: "")
    """Function that returns why sources of events pause (a later stage is too far behind, the disk is nearly full), or
    "". An agent that is a source of events pauses
    meanwhile. The runtime sets it before `start`."""

    async def start(self, emit: Emit) -> None:
        """Begin: called before the first event. Keep `emit` to send events without an input. Must return soon."""

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        raise NotImplementedError

    def delivered(self, delivery: Delivery, outputs: Sequence[Event]) -> None:
        """Note that Kafka has all outputs of an event: called before the event is acknowledged. Must not fail."""

    def measurements(self) -> Mapping[str, float]:
        """Return the agent's own numbers, for the metrics and the health page: `riffle_NAME`, by stage."""
        return {}

    def hurry(self, *, is_on: bool) -> None:
        """Let no event wait to be written with later ones, until `is_on` is False: this worker is about to end, or to
        lose partitions. For stages that write the effects of many events together."""

    async def assigned(self, partitions: frozenset[int]) -> None:
        """Take over these partitions of the stage's inputs, and no others: called when this worker gets them."""

    async def revoked(self) -> None:
        """Release the partitions: called before the next assignment. Until then, only react to events."""

    async def stop(self) -> None:
        """End: called after the last event."""
