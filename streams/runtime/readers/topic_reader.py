"""Readers of topics: up to the present end, and of the events that arrive from now on. They join no consumer group."""

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas import Event, InvalidEvent
from streams.errors import StoreUnavailable, UsageError
from streams.runtime.connection import (
    AGAIN_SECONDS,
    TIMEOUT_SECONDS,
    reader_config,
    retry_while_moving,
    unreachable_error,
)
from streams.runtime.records import Incoming, event_of
from streams.settings import Settings
from streams.topology import READER_GROUP

READ_AT_ONCE = 500
WAIT_MS = 10
"""Maximum time that a broker holds a request for records until there are some (milliseconds).

librdkafka has one request to a broker at a time. With its default, half a second, the request behind the last record of
a partition would delay the first record of each next partition. A follower asks for all partitions with one request.
"""
POLL_SECONDS = 1.0
FOLLOWED_AT_ONCE = 1_000
NEW_TOPIC_SECONDS = 3.0
"""Maximum time that a topic may be missing (seconds): brokers learn of a new topic after its creation was confirmed."""
PARTITIONS_SECONDS = 10.0
"""Time between two searches for new partitions (seconds)."""
AWAY_LOOK_SECONDS = 2.0
"""The same while the brokers don't answer (seconds)."""
SEARCH_SECONDS = 3.0
"""Maximum time of such a search (seconds)."""


def read_topic(
    settings: Settings, topic: str, since: datetime | None = None, starts: Mapping[int, int] | None = None
) -> Iterator[Incoming]:
    """Yield the records of a topic up to its present end, partition by partition. Raises StoreUnavailable.

    `starts`: the offset to begin with, by partition.
    """
    config = reader_config(settings.kafka, f"{READER_GROUP}{uuid4().hex}", "earliest")
    consumer = Consumer({**config, "fetch.wait.max.ms": WAIT_MS})
    try:
        known = consumer.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic]
        # A topic that may not be read has no partitions in this answer. A missing topic has none either, and no
        # records.
        if known.error is not None and known.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise KafkaException(known.error)
        for number in known.partitions:
            yield from _read_partition(consumer, topic, number, since, (starts or {}).get(number, 0))
    except KafkaException as error:
        raise StoreUnavailable(f"Kafka at {settings.kafka.bootstrap}: can't read {topic}: {error.args[0]}") from error
    finally:
        consumer.close()


def _read_partition(
    consumer: Consumer, topic: str, number: int, since: datetime | None, first: int
) -> Iterator[Incoming]:
    place = TopicPartition(topic, number)
    bottom, top = retry_while_moving(lambda: consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS))
    start = max(bottom, first) if since is None else _offset_at(consumer, topic, number, since, top)
    if start >= top:
        return
    consumer.assign([TopicPartition(topic, number, start)])
    position, waited_seconds = start, 0.0
    while position < top:
        # At most the rest: `consume` waits until it has the requested number of records.
        batch = consumer.consume(min(READ_AT_ONCE, top - position), timeout=POLL_SECONDS)
        for message in batch:
            incoming = incoming_from(message)
            position = incoming.offset + 1
            if incoming.offset < top:
                yield incoming
        # After a gap left by compaction, the consumer's position is beyond its last record.
        (place,) = consumer.position([TopicPartition(topic, number)])
        position = max(position, place.offset)
        waited_seconds = 0.0 if batch else waited_seconds + POLL_SECONDS
        if waited_seconds > TIMEOUT_SECONDS:
            raise StoreUnavailable(f"{topic}, partition {number}: no record came within {TIMEOUT_SECONDS:.0f} s")


def _offset_at(consumer: Consumer, topic: str, number: int, since: datetime, top: int) -> int:
    at_time = TopicPartition(topic, number, int(since.timestamp() * 1000))
    (first,) = consumer.offsets_for_times([at_time], timeout=TIMEOUT_SECONDS)
    return first.offset if first.offset >= 0 else top


def incoming_from(message: Message) -> Incoming:
    """Return the record of a librdkafka message. Raises KafkaException if the message is an error."""
    if problem := message.error():
        raise KafkaException(problem)
    return Incoming(
        topic=str(message.topic()),
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=_bytes(message.key()),
        value=None if message.value() is None else _bytes(message.value()),
        headers=[(name, None if value is None else _bytes(value)) for name, value in message.headers() or []],
        time=max(message.timestamp()[1], 0) / 1_000,
    )


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


class Follower:
    """Reads events of some types that arrive after its creation."""

    def __init__(self, settings: Settings, events: tuple[type[Event], ...]) -> None:
        self._models = {event.topic: event for event in events}
        self._settings = settings
        self._consumer = Consumer(reader_config(settings.kafka, f"riffle-follower-{uuid4().hex}", "latest"))
        self._next: dict[tuple[str, int], int] = {}
        """The offset after the last event of each partition."""
        self.away_since: float | None = None
        """Time since which the brokers don't answer (of the monotonic clock). None: they do."""
        try:
            self._next = self._ends()
            self._assign()
        except KafkaException as error:
            raise unreachable_error(settings.kafka, error) from error
        self._looked_at = time.monotonic()

    def _partitions(self, timeout_seconds: float = TIMEOUT_SECONDS) -> set[tuple[str, int]]:
        topics = self._consumer.list_topics(timeout=timeout_seconds).topics
        return {(name, number) for name in self._models if name in topics for number in topics[name].partitions}

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(*place, offset) for place, offset in self._next.items()])

    def _ends(self) -> dict[tuple[str, int], int]:
        places, deadline = self._partitions(), time.monotonic() + NEW_TOPIC_SECONDS
        while missing := sorted(self._models.keys() - {name for name, _ in places}):
            if time.monotonic() < deadline:
                time.sleep(AGAIN_SECONDS)
                places = self._partitions()
                continue
            raise UsageError(
                f"Kafka at {self._settings.kafka.bootstrap} has no {', '.join(missing)}. "
                "Create the topics: riffle migrate --only topics"
            )
        # Offsets rather than "the end": librdkafka looks "the end" up later, and events until then would be missed.
        return {place: self._end(TopicPartition(*place)) for place in sorted(places)}

    def _end(self, place: TopicPartition) -> int:
        """Return the end of a partition.

        One that was just added, or whose broker has changed, has no leader for a moment.
        """
        _, end = retry_while_moving(lambda: self._consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS))
        return end

    def poll(self, timeout_seconds: float) -> Iterator[Event]:
        """Yield the events since the last call. If there is none, wait for one up to the timeout."""
        wait = PARTITIONS_SECONDS if self.away_since is None else AWAY_LOOK_SECONDS
        if time.monotonic() - self._looked_at > wait:
            self._looked_at = time.monotonic()
            self._add_partitions()
        for message in self._consumer.consume(FOLLOWED_AT_ONCE, timeout=timeout_seconds):
            incoming = incoming_from(message)
            self._next[incoming.topic, incoming.partition] = incoming.offset + 1
            try:
                event, _ = event_of(self._models.values(), incoming)
            except InvalidEvent:
                continue  # the stage that reads the topic dead-letters it
            yield event

    def _add_partitions(self) -> None:
        """Read partitions that were added since the last search, from their beginning."""
        try:
            if new := sorted(self._partitions(SEARCH_SECONDS) - self._next.keys()):
                self._next |= dict.fromkeys(new, 0)
                self._assign()
        except KafkaException:  # the cluster doesn't answer: the next search finds them
            self.away_since = self.away_since or self._looked_at
        else:
            self.away_since = None

    def close(self) -> None:
        self._consumer.close()
