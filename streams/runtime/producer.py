"""A producer for events without a stage: of the gateway, `riffle crawl`, imports and replays."""

from collections.abc import Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from schemas import Event
from streams.errors import RecordTooLarge, StoreUnavailable
from streams.runtime.connection import COMPRESSION, MAX_RECORD_BYTES, client_options, no_answer
from streams.runtime.records import Record, copies_ahead, encode
from streams.settings import KafkaSettings, Settings
from streams.tracing import send_span, traceparent

LINGER_MS = 5


class EventProducer:
    """An async context manager that sends events and waits for their delivery."""

    def __init__(self, settings: Settings, source: str) -> None:
        self._kafka = settings.kafka
        self._source = source
        self._producer: AIOKafkaProducer | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Connect. Raises StoreUnavailable."""
        producer = AIOKafkaProducer(**_options(self._kafka))
        try:
            await producer.start()
        except BaseException as error:  # also where the caller is cancelled: what started half is closed
            await producer.stop()
            if not isinstance(error, (KafkaError, OSError)):
                raise
            raise no_answer(self._kafka, error) from error
        self._producer = producer

    async def stop(self) -> None:
        if self._producer:
            await self._producer.stop()
            self._producer = None

    async def __call__(self, event: Event, cause: str | None = None, *, ordinal: int = 0) -> None:
        """Send one event. Without a cause it gets a random id, and a second call sends another event."""
        await self.send_all([event], cause, first=ordinal)

    async def send_all(self, events: Iterable[Event], cause: str | None = None, *, first: int = 0) -> None:
        """Send several events in order, and wait until all are delivered."""
        cause = cause or str(uuid4())
        now = datetime.now(UTC)
        records = [
            encode(event, cause=cause, ordinal=first + n, source=self._source, time=now, traceparent=traceparent())
            for n, event in enumerate(events)
        ]
        await self.send_records(records)

    async def send_ahead(self, events: Iterable[Event], cause: str | None = None) -> None:
        """Send several events, and copies that their stages handle before all other events. Wait until all are
        delivered: the copies first, so that no event is skipped whose copy Kafka does not have."""
        cause, now = cause or str(uuid4()), datetime.now(UTC)
        copies: list[Record] = []
        marked: list[Record] = []
        for n, event in enumerate(events):
            record = encode(event, cause=cause, ordinal=n, source=self._source, time=now)
            ahead, one = copies_ahead(type(event), record)
            copies += ahead
            marked.append(one)
        await self.send_records(copies)
        await self.send_records(marked)

    async def send_records(self, records: Iterable[Record]) -> None:
        """Send records unchanged. Raises StoreUnavailable or RecordTooLarge."""
        assert self._producer, "the producer is not started: use `async with`"
        try:
            sent = list(records)
            with send_span([record.topic for record in sent]):
                deliveries = [
                    await self._producer.send(r.topic, key=r.key, value=r.value, headers=r.headers) for r in sent
                ]
                for delivery in deliveries:
                    await delivery
        except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
            raise RecordTooLarge(f"a record is too large for Kafka: {error}") from error
        except KafkaError as error:
            raise StoreUnavailable(f"Kafka at {self._kafka.bootstrap}: an event could not be sent: {error}") from error


def _options(kafka: KafkaSettings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap,
        "acks": "all",
        "enable_idempotence": True,
        "linger_ms": LINGER_MS,
        "max_request_size": MAX_RECORD_BYTES,
        "compression_type": COMPRESSION,
        **client_options(kafka),
    }
    return options
