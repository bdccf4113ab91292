"""The door of a stage: what an agent is given, and what it gives back. Knows nothing of Kafka."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from schemas import Envelope, Event
from schemas.envelope import micros_from_utc

Emit = Callable[[Event, str], Awaitable[None]]
"""Send an event and wait for its delivery. The string names its cause: the same event and cause have the same id."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event as it arrived. The same delivery may come again: after a crash, or a rebalance."""

    event: Event
    envelope: Envelope
    topic: str
    partition: int
    offset: int
    attempt: int = 1

    @property
    def at(self) -> int:
        """The event's time in microseconds since 1970 UTC: the write time for what it leads to."""
        return micros_from_utc(self.envelope.time)

    @property
    def time(self) -> datetime:
        return self.envelope.time


class Agent:
    """A stage's code. Subclasses override `handle`; the rest is for stages that also act on their own.

    `handle` stores first (blob, then record) and returns the events to send. The runtime sends them, waits for
    their delivery, and only then acknowledges the input. It may be called for several events at once, but never
    for two with the same key. Raise TransientError to be tried again, PoisonError to dead-letter the event.
    """

    steps: int = 0
    """How many parts of events are done, in all. A stage whose events may take minutes counts them here, so that its
    worker is seen to get on."""

    async def start(self, emit: Emit) -> None:
        """Before the first event. Keep `emit` to send events that no input leads to; wait for nothing long here."""

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        raise NotImplementedError

    async def assigned(self, partitions: frozenset[int]) -> None:
        """This worker owns these partitions of the stage's inputs from now on, and no others."""

    async def stop(self) -> None:
        """After the last event."""
