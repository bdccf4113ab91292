"""The processing of one event: decode, handle, retry, dead-letter. It depends on neither Faust nor a clock.

    handled             its outputs were sent, and their delivery was awaited
    TransientError      tried again in place, with backoff; then it goes to the stage's retry topic, and after the last
                        attempt there to the dead-letter topic
    PoisonError         dead-letter topic at once
    InvalidEvent        dead-letter topic at once
    any other Exception tried again in place once, then dead-lettered: one event that hits a bug must not stop all
                        others (docs/decisions/0003-unforeseen-errors.md)
    a failed send       `process` raises, and the worker ends before any offset is committed, so that the event is
                        delivered again

`process` returns only when the event may be acknowledged. A record of the retry topic is processed after its delay
(`delay_seconds`), for which the caller waits, so that it holds neither a slot nor its key meanwhile.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from schemas import Envelope, Event, InvalidEvent
from streams.errors import PoisonError, TransientError
from streams.runtime.agent import Agent, Delivery
from streams.runtime.failure_headers import FailureInfo, original_headers, read_failure
from streams.runtime.records import Record, decode, encode
from streams.settings import RuntimeSettings
from streams.topology import Stage

Result = Literal["handled", "retried", "dead"]
UNFORESEEN_RETRIES_IN_PLACE = 1
MAX_BACKOFF_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Incoming:
    """A record as received from Kafka."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]]


class Sender(Protocol):
    """Sends records and returns when all are delivered. Raises if one is not."""

    async def __call__(self, records: Sequence[Record]) -> None: ...


class Observer(Protocol):
    """Receives a call for each step of an event, for metrics, traces and logs."""

    def started(self, incoming: Incoming, delivery: Delivery) -> str:
        """Returns the traceparent for the events that follow."""

    def sent(self, records: Sequence[Record]) -> None: ...

    def failed(self, incoming: Incoming, error: Exception, attempt: int) -> None: ...

    def finished(self, incoming: Incoming, result: Result) -> None: ...


@dataclass(slots=True)
class Processor:
    """Processes the events of one stage with its agent."""

    stage: Stage
    agent: Agent
    send: Sender
    observer: Observer
    settings: RuntimeSettings
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    async def process(self, incoming: Incoming) -> Result:
        """Process one event to its end. Raises only when a record could not be sent."""
        result: Result
        try:
            failure = read_failure(dict(incoming.headers))
            origin = incoming if failure is None else _original(incoming, failure)
            attempts = failure.attempts if failure else 0
            event, envelope = decode(self._model(origin.topic), origin.value, origin.headers)
        except (InvalidEvent, ValueError) as error:
            self.observer.failed(incoming, error, 1)
            await self._send_to_dead_topic(incoming, error, 1)
            result = "dead"
        else:
            result = await self._handle(incoming, origin, event, envelope, attempts)
        self.observer.finished(incoming, result)
        return result

    def delay_seconds(self, incoming: Incoming) -> float:
        """Seconds until a record of the retry topic may be processed. 0 for all other records."""
        try:
            failure = read_failure(dict(incoming.headers))
        except ValueError:
            return 0.0
        if failure is None or failure.not_before is None:
            return 0.0
        return max((failure.not_before - self.now()).total_seconds(), 0.0)

    async def _handle(
        self, incoming: Incoming, origin: Incoming, event: Event, envelope: Envelope, attempts: int
    ) -> Result:
        delivery = Delivery(event, envelope, origin.topic, origin.partition, origin.offset, attempts + 1)
        traceparent = self.observer.started(incoming, delivery)
        tries = 0
        while True:
            tries += 1
            try:
                outputs = await self.agent.handle(replace(delivery, attempt=attempts + tries))
                records = self._encode(outputs, str(envelope.id), traceparent)
            except Exception as error:
                self.observer.failed(origin, error, attempts + tries)
                if tries <= self._retries_in_place(error):
                    await self.sleep(backoff_seconds(self.settings.retry_backoff_seconds, tries, self.jitter()))
                    continue
                return await self._give_up(origin, error, attempts + tries)
            await self.send(records)
            self.observer.sent(records)
            return "handled"

    def _model(self, topic: str) -> type[Event]:
        for event in self.stage.inputs:
            if event.topic == topic:
                return event
        raise InvalidEvent(f"stage {self.stage.name} has no input {topic!r}")

    def _encode(self, outputs: Sequence[Event], cause: str, traceparent: str) -> list[Record]:
        now = self.now()
        for event in outputs:
            if type(event) not in self.stage.outputs:
                raise PoisonError(f"stage {self.stage.name} has no output {type(event).__name__} in the topology")
        return [
            encode(event, cause=cause, ordinal=n, source=self.stage.name, time=now, traceparent=traceparent)
            for n, event in enumerate(outputs)
        ]

    def _retries_in_place(self, error: Exception) -> int:
        if isinstance(error, TransientError):
            return self.settings.retries_in_place
        return 0 if isinstance(error, PoisonError | InvalidEvent) else UNFORESEEN_RETRIES_IN_PLACE

    async def _give_up(self, origin: Incoming, error: Exception, attempts: int) -> Result:
        rounds = attempts // (self.settings.retries_in_place + 1)
        if not isinstance(error, TransientError) or rounds > self.settings.retry_topic_attempts:
            await self._send_to_dead_topic(origin, error, attempts)
            return "dead"
        delay = timedelta(seconds=self.settings.retry_topic_delay_seconds * 2 ** (rounds - 1))
        failure = self._failure(origin, error, attempts, not_before=self.now() + delay)
        await self._send_failed(self.stage.retry_topic, origin, failure)
        return "retried"

    async def _send_to_dead_topic(self, incoming: Incoming, error: Exception, attempts: int) -> None:
        failure = self._failure(incoming, error, attempts)
        await self._send_failed(self.stage.dead_topic, incoming, failure)

    def _failure(
        self, incoming: Incoming, error: Exception, attempts: int, not_before: datetime | None = None
    ) -> FailureInfo:
        return FailureInfo(
            topic=incoming.topic,
            partition=incoming.partition,
            offset=incoming.offset,
            stage=self.stage.name,
            attempts=attempts,
            error_type=type(error).__name__,
            error=str(error),
            failed_at=self.now(),
            not_before=not_before,
        )

    async def _send_failed(self, topic: str, incoming: Incoming, failure: FailureInfo) -> None:
        record = Record(topic, incoming.key, incoming.value or b"", failure.headers(incoming.headers))
        await self.send([record])


def backoff_seconds(base_seconds: float, attempt: int, jitter: float) -> float:
    """Exponential backoff with jitter: between half and all of base * 2^(attempt-1), at most MAX_BACKOFF_SECONDS."""
    full = min(base_seconds * 2.0 ** (attempt - 1), MAX_BACKOFF_SECONDS)
    return full * (0.5 + jitter / 2)


def _original(incoming: Incoming, failure: FailureInfo) -> Incoming:
    """The original of a record in the retry topic."""
    return replace(
        incoming,
        topic=failure.topic,
        partition=failure.partition,
        offset=failure.offset,
        headers=original_headers(incoming.headers),
    )
