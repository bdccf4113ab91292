"""The processing of one event: decode, handle, retry, dead-letter. It depends on neither Faust nor a clock.

    handled             its outputs were sent, and their delivery was awaited
    an outage           (`errors.is_outage`: a store, the sandbox or the machine's memory is away) tried again in place;
                        then the breaker opens, and the stage's events wait until the outage ends (see `breaker`). An
                        event that fails while others are handled goes through the retry topic, for about a day at most
    TransientError      tried again in place, with backoff; then it goes to the stage's retry topics, first to the topic
                        with the short delay, and after the last attempt there to the dead-letter topic
    EventEarly          its times are in the future: retry topics at once, and it is handled if its time comes meanwhile
    NotHeard            the receiver of a webhook is away: the retry topics at once, for HOOK_ROUNDS passes
    EventOverdue        the attempt took longer than the event's deadline: retry topic at once, as above
    PoisonError         dead-letter topic at once
    RecordTooLarge      an output is too large for Kafka: dead-letter topic at once
    UsageError          a permission, table or setting is missing: `process` raises, and the worker stops
    InvalidEvent        the record can't be read (see `records`): dead-letter topic at once
    NewerEvent          only a newer release can read it: it goes through the long retry topic for about a day, so that
                        the worker can be upgraded, and then to the dead-letter topic
    any other Exception tried again in place once, then dead-lettered: one event that hits a bug must not stop all
                        others (docs/decisions/0003-unforeseen-errors.md)
    a failed send       `process` raises NotDelivered, and the worker ends before any offset is committed, so that the
                        event is delivered again

`process` returns only when the event may be acknowledged. A record of the retry topic is processed after its delay
(`delay_seconds`). The caller waits for the delay, so that the record holds neither a slot nor its key meanwhile.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Literal, Protocol

from schemas import Envelope, Event, InvalidEvent, NewerEvent
from streams.errors import (
    EventEarly,
    EventOverdue,
    MissingBlob,
    NotDelivered,
    NotHeard,
    PoisonError,
    RecordTooLarge,
    TransientError,
    UsageError,
    is_outage,
)
from streams.grouped_calls import is_cancelled
from streams.runtime.agent import Agent, Delivery
from streams.runtime.breaker import Breaker
from streams.runtime.records import (
    FailureInfo,
    Incoming,
    Record,
    encode,
    event_of,
    failure_of,
    original_of,
    require_past,
)
from streams.settings import RuntimeSettings
from streams.topology import Stage

Result = Literal["handled", "retried", "dead"]
UNFORESEEN_RETRIES_IN_PLACE = 1
MAX_BACKOFF_SECONDS = 10.0
OUTAGE_ROUNDS = 1_440
"""Maximum number of passes through the retry topics because of an outage or an upgrade: about a day with the default
delay."""
HOOK_ROUNDS = 300
"""Maximum number of passes through the retry topics for a webhook: about five hours with the default delay."""
SHORT_ROUNDS = 2
"""Number of passes through the retry topic with the short delay. All later ones are long."""
LONG_DELAY = 12
"""The delay of the second retry topic, as a multiple of the first topic's delay."""
MAX_KEY_BYTES = 1_024
"""Maximum length of a dead letter's key (bytes) if its headers are too large as well."""


@dataclass(frozen=True, slots=True)
class Retries:
    """Number and delay of further tries after a transient error. Only tests have other values."""

    in_place: int = 3
    """Maximum number of retries before the event goes to the retry topic: outages of two seconds move no event."""
    backoff_seconds: float = 0.2
    """Delay before the first retry. It doubles with each retry."""
    topic_attempts: int = 5
    """Maximum number of passes through the retry topics, before the event becomes a dead letter."""


class Sender(Protocol):
    """Sends records and returns when all are delivered. Raises if one is not."""

    async def __call__(self, records: Sequence[Record]) -> None: ...


class ValueBlobs(Protocol):
    """Blobs for values that are too large for a record (the blob store has this form)."""

    async def put(self, content: bytes) -> str: ...

    async def get(self, ref: str) -> bytes: ...


class Observer(Protocol):
    """Receives a call for each step of an event, for metrics, traces and logs."""

    def started(self, incoming: Incoming, delivery: Delivery) -> str:
        """Note that an event is handled now. Returns the traceparent for the events that follow."""

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
    retries: Retries = field(default_factory=Retries)
    blobs: ValueBlobs | None = None
    breaker: Breaker = field(default_factory=Breaker)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random
    max_ahead_seconds: float = inf
    """Maximum time by which an event may be ahead of this machine's clock (seconds)."""

    async def process(self, incoming: Incoming) -> Result:
        """Process one event to its end. Raises UsageError, and NotDelivered if Kafka does not take a record."""
        try:
            result = await self._process(incoming)
        except (UsageError, NotDelivered):
            raise
        except Exception as error:
            # A mistake of the runtime itself that this record shows: it must not end each worker that gets the record.
            result = await self._set_aside(incoming, error)
        self.observer.finished(incoming, result)
        return result

    async def set_aside(self, incoming: Incoming, error: Exception) -> Result:
        """Send a record to the dead-letter topic without reading it. Raises NotDelivered."""
        result = await self._set_aside(incoming, error)
        self.observer.finished(incoming, result)
        return result

    async def _process(self, incoming: Incoming) -> Result:
        origin, attempts = incoming, 0
        try:
            if failure := failure_of(incoming):
                origin, attempts = await self._read_original(incoming, failure), failure.attempts
            event, envelope = event_of(self.stage.inputs, origin)
            require_past(event, envelope, self.now(), self.max_ahead_seconds)
        except (NewerEvent, EventEarly) as error:
            self.observer.failed(origin, error, attempts + 1)
            return await self._give_up(origin, error, attempts + 1)
        except (InvalidEvent, MissingBlob) as error:
            return await self._set_aside(incoming, error)
        return await self._handle(incoming, origin, event, envelope, attempts)

    async def _set_aside(self, incoming: Incoming, error: Exception) -> Result:
        """Send a record that can't be read to the dead-letter topic, as it came."""
        self.observer.failed(incoming, error, 1)
        await self._send_to_dead_topic(incoming, error, 1)
        return "dead"

    def delay_seconds(self, incoming: Incoming) -> float:
        """Return the time until a record of the retry topic may be processed (seconds). 0 for all other records.

        A record that asks for a longer delay than Riffle's own records waits as long as they do: it would keep its
        partition from a commit.
        """
        try:
            failure = failure_of(incoming)
        except InvalidEvent:
            return 0.0
        if failure is None or failure.not_before is None:
            return 0.0
        longest_seconds = self.settings.retry_topic_delay_seconds * LONG_DELAY
        return min(max((failure.not_before - self.now()).total_seconds(), 0.0), longest_seconds)

    async def _handle(
        self, incoming: Incoming, origin: Incoming, event: Event, envelope: Envelope, attempts: int
    ) -> Result:
        delivery = Delivery(event, envelope, origin.topic, origin.partition, origin.offset, attempts + 1)
        traceparent = self.observer.started(incoming, delivery)
        tries, passed = 0, self.breaker.passed
        while True:
            await self.breaker.wait_turn()
            tries += 1
            try:
                outputs = await self._handle_in_time(replace(delivery, attempt=attempts + tries))
                records = self._encode(outputs, str(envelope.id), traceparent)
            except UsageError:
                raise
            except Exception as error:
                self.observer.failed(origin, error, attempts + tries)
                if self._is_outage(error, tries, passed):
                    self.breaker.open(error)
                    tries, passed = 0, self.breaker.passed
                elif tries <= self._retries_in_place(error):
                    await self.sleep(backoff_seconds(self.retries.backoff_seconds, tries, self.jitter()))
                else:
                    return await self._give_up(origin, error, attempts + tries)
            else:
                result = await self._finish(origin, records, attempts + tries)
                if result == "handled":
                    self.agent.delivered(delivery, outputs)
                return result

    async def _handle_in_time(self, delivery: Delivery) -> Sequence[Event]:
        seconds = self.settings.event_deadline_seconds
        try:
            async with asyncio.timeout(seconds) as deadline:

                def note_part() -> None:
                    if not deadline.expired():
                        deadline.reschedule(asyncio.get_running_loop().time() + seconds)
                    self.agent.steps += 1

                return await self.agent.handle(replace(delivery, note_part=note_part))
        except TimeoutError:
            if deadline.expired():
                raise EventOverdue(f"the event was not handled within {seconds:.0f} s, nor a part of it") from None
            raise
        except asyncio.CancelledError as error:
            if is_cancelled(error):
                raise
            raise TransientError("what the event waited for was cancelled") from error

    def _is_outage(self, error: Exception, tries: int, passed: int) -> bool:
        """Return whether the whole stage must wait: it does, or no event was handled since this one's first try."""
        if not is_outage(error):
            return False
        return bool(self.breaker.reason) or (tries > self.retries.in_place and self.breaker.passed == passed)

    async def _finish(self, origin: Incoming, records: Sequence[Record], attempts: int) -> Result:
        try:
            await self._deliver(records)
        except RecordTooLarge as error:
            self.observer.failed(origin, error, attempts)
            await self._send_to_dead_topic(origin, error, attempts)
            return "dead"
        self.breaker.success()
        return "handled"

    async def _deliver(self, records: Sequence[Record]) -> None:
        """Send records and wait for their delivery. Raises RecordTooLarge, and NotDelivered for any other failure."""
        try:
            await self.send(records)
        except RecordTooLarge:
            raise
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled(error):
                raise
            raise NotDelivered(f"Kafka did not take a record: {type(error).__name__}: {error}") from error

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
        if isinstance(error, EventOverdue | NotHeard):
            return 0
        if isinstance(error, TransientError) or is_outage(error):
            return self.retries.in_place
        return 0 if isinstance(error, PoisonError | InvalidEvent) else UNFORESEEN_RETRIES_IN_PLACE

    async def _give_up(self, origin: Incoming, error: Exception, attempts: int) -> Result:
        # An attempt that was overdue counts as a whole round of tries in place.
        tries_a_round = self.retries.in_place + 1
        rounds = -(-attempts // tries_a_round)
        waits_for_better = is_outage(error) or isinstance(error, NewerEvent)
        limit = OUTAGE_ROUNDS if waits_for_better else self.retries.topic_attempts
        limit = HOOK_ROUNDS if isinstance(error, NotHeard) else limit
        if not (waits_for_better or isinstance(error, TransientError)) or rounds > limit:
            await self._send_to_dead_topic(origin, error, attempts)
            return "dead"
        attempts = rounds * tries_a_round
        is_short = rounds <= SHORT_ROUNDS and not isinstance(error, NewerEvent)
        await self._send_to_retry_topic(origin, error, attempts, is_short=is_short)
        return "retried"

    async def _send_to_retry_topic(self, origin: Incoming, error: Exception, attempts: int, *, is_short: bool) -> None:
        # One delay for each topic: its first record is always the first that is due.
        seconds = self.settings.retry_topic_delay_seconds * (1 if is_short else LONG_DELAY)
        failure = self._failure(origin, error, attempts, not_before=self.now() + timedelta(seconds=seconds))
        topic = self.stage.retry_topic if is_short else self.stage.long_retry_topic
        await self._send_failed(topic, origin, failure)

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
        value = incoming.value or b""
        try:
            await self._deliver([Record(topic, incoming.key, value, failure.headers(incoming.headers))])
        except RecordTooLarge:
            if self.blobs is None:
                raise
            failure = replace(failure, value_ref=await self._put_blob(value))
            try:
                await self._deliver([Record(topic, incoming.key, b"", failure.headers(incoming.headers))])
            except RecordTooLarge:  # because of its headers: the letter leaves them out
                await self._deliver([Record(topic, incoming.key[:MAX_KEY_BYTES], b"", failure.headers([]))])

    async def _put_blob(self, value: bytes) -> str:
        assert self.blobs
        while True:
            await self.breaker.wait_turn()
            try:
                return await self.blobs.put(value)
            except Exception as error:
                if not is_outage(error):
                    raise
                self.breaker.open(error)

    async def _get_blob(self, ref: str) -> bytes:
        assert self.blobs
        while True:
            await self.breaker.wait_turn()
            try:
                return await self.blobs.get(ref)
            except Exception as error:
                if not is_outage(error):
                    raise
                self.breaker.open(error)

    async def _read_original(self, incoming: Incoming, failure: FailureInfo) -> Incoming:
        """Return the original of a record in the retry topic, with its value from the blob. Raises MissingBlob."""
        value = await self._get_blob(failure.value_ref) if failure.value_ref and self.blobs else incoming.value
        return original_of(incoming, failure, value)


def backoff_seconds(base_seconds: float, attempt: int, jitter: float) -> float:
    """Return the time before the next attempt (seconds): exponential backoff with jitter.

    It is between half and all of base * 2^(attempt-1), and at most MAX_BACKOFF_SECONDS.
    """
    full = min(base_seconds * 2.0 ** (attempt - 1), MAX_BACKOFF_SECONDS)
    return full * (0.5 + jitter / 2)
