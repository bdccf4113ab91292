"""A stage without Kafka: its feeders read events from lists, and the agent is a function of the test."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

from opentelemetry.sdk.trace import TracerProvider

from schemas import Event
from streams.runtime.agent import Agent, Delivery
from streams.runtime.faust_app import MAX_WAITING_EVENTS, StageApp
from streams.runtime.observer import Metrics, StageObserver
from streams.runtime.processing import Processor, Retries
from streams.runtime.records import FailureInfo, Incoming, Record, encode
from streams.settings import RuntimeSettings, Settings
from streams.topology import Stage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Asked(Event):
    topic: ClassVar[str] = "tests.asked"
    key_field: ClassVar[str] = "name"
    name: str
    number: int = 0


class Answered(Event):
    topic: ClassVar[str] = "tests.answered"
    key_field: ClassVar[str] = "name"
    name: str


STAGE = Stage("answer", "answers", (Asked,), (Answered,), "tests:none", concurrency=4, urgent=(Asked,))


def asked(name: str, number: int = 0, *, offset: int | None = None, partition: int = 0) -> Incoming:
    """A record of the stage's input."""
    record = encode(Asked(name=name, number=number), cause=f"{name}/{number}", source="test", time=NOW)
    place = number if offset is None else offset
    return Incoming(record.topic, partition, place, record.key, record.value, record.headers)


def retried(
    original: Incoming, offset: int = 0, not_before: datetime | None = None, topic: str = STAGE.retry_topic
) -> Incoming:
    """The record of a retry topic for an input that failed."""
    failure = FailureInfo(
        original.topic, original.partition, original.offset, STAGE.name, 1, "TransientError", "x", NOW, not_before
    )
    headers = failure.headers(original.headers)
    return Incoming(topic, original.partition, offset, original.key, original.value, headers)


class FunctionAgent(Agent):
    """An agent whose `handle` is a function."""

    def __init__(self, handle: Callable[[Delivery], Awaitable[Sequence[Event]]]) -> None:
        self._handle = handle

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        return await self._handle(delivery)


@dataclass
class _Message:
    record: Incoming
    generation_id: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)

    timestamp = 1.0


@dataclass
class _StreamEvent:
    message: _Message


@dataclass
class FakeStream:
    """A Faust stream of some records. It stays open after the last one."""

    records: list[Incoming]
    generation: int = 0
    acknowledged: list[tuple[str, int, int]] = field(default_factory=list)
    delivered: int = 0

    def noack(self) -> "FakeStream":
        return self

    async def events(self) -> AsyncIterator[_StreamEvent]:
        for record in self.records:
            self.delivered += 1
            yield _StreamEvent(_Message(record, self.generation))
        await asyncio.Event().wait()

    async def ack(self, event: _StreamEvent) -> None:
        record = event.message.record
        self.acknowledged.append((record.topic, record.partition, record.offset))


class _Signal:
    def connect(self, receiver: Any) -> None: ...


class _FakeFaust:
    """The part of a Faust app that StageApp uses before it starts: it keeps the feeders by name."""

    started = False
    consumer_generation_id = 0

    def __init__(self) -> None:
        self.feeders: dict[str, Callable[[FakeStream], AsyncIterator[None]]] = {}
        self.on_partitions_assigned = self.on_partitions_revoked = _Signal()

    def topic(self, *_: str, **__: Any) -> None:
        return None

    def agent(self, _channel: None, name: str) -> Callable[[Any], Any]:
        def register(feeder: Any) -> Any:
            self.feeders[name] = feeder
            return feeder

        return register


class RunningStage:
    """A stage with all its feeders. `sent` holds the records that it sent."""

    def __init__(
        self,
        handle: Callable[[Delivery], Awaitable[Sequence[Event]]],
        *,
        stage: Stage = STAGE,
        max_waiting_events: int = MAX_WAITING_EVENTS,
        **runtime: object,
    ) -> None:
        self.sent: list[Record] = []
        self.metrics = Metrics()
        self.tracing = TracerProvider()
        self.settings = Settings(runtime=RuntimeSettings.model_validate(runtime))
        self.observer = StageObserver(stage.name, stage.group, self.metrics, self.tracing)
        self.app = StageApp(stage, self.settings, self._assigned, max_waiting_events=max_waiting_events)
        self.faust = _FakeFaust()
        self.app.app = self.faust  # type: ignore[assignment]  # what is used of an app
        self.processor = Processor(
            stage, FunctionAgent(handle), self._send, self.observer, self.settings.runtime, Retries(backoff_seconds=0.0)
        )
        self.app.connect(self.processor, self.observer)
        self._feeding: list[asyncio.Task[None]] = []

    async def _assigned(self, _: frozenset[int]) -> None: ...

    async def _send(self, records: Sequence[Record]) -> None:
        self.sent.extend(records)

    def feed(self, *records: Incoming, kind: str = "main") -> FakeStream:
        """Deliver records of the main topics, or of the topics of a kind: retry, retry-long or replay."""
        stream = FakeStream(list(records), self.faust.consumer_generation_id)
        feeder = self.faust.feeders[f"{self.app.stage.name}-{kind}"]

        async def consume() -> None:
            async for _ in feeder(stream):
                pass

        self._feeding.append(asyncio.create_task(consume()))
        return stream

    async def stop(self) -> None:
        for task in self._feeding:
            task.cancel()
        await asyncio.gather(*self._feeding, return_exceptions=True)


async def settle(rounds: int = 60) -> None:
    """Let all tasks run that can."""
    for _ in range(rounds):
        await asyncio.sleep(0)
