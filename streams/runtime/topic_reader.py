"""A reader of a topic from its start, or from a given time, to its present end. It joins no consumer group."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from streams.errors import StoreUnavailable
from streams.runtime.connection import TIMEOUT_SECONDS, reader_config, retry_while_moving
from streams.runtime.records import Incoming
from streams.settings import Settings
from streams.topology import READER_GROUP

BATCH_MESSAGES = 500
WAIT_MS = 10
"""Maximum time that a broker holds a request for records until there are some (milliseconds).

librdkafka has one request to a broker at a time. With its default, half a second, the request behind the last record of
a partition would delay the first record of each next partition. A follower asks for all partitions with one request.
"""
POLL_SECONDS = 1.0


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
        batch = consumer.consume(min(BATCH_MESSAGES, top - position), timeout=POLL_SECONDS)
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
