"""A reader of the events that arrive from now on, for programs that watch the journey. It joins no consumer group."""

import time
from collections.abc import Iterator
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition

from schemas import Event, InvalidEvent
from streams.errors import UsageError
from streams.runtime.connection import (
    AGAIN_SECONDS,
    TIMEOUT_SECONDS,
    reader_config,
    retry_while_moving,
    unreachable_error,
)
from streams.runtime.records import event_of
from streams.runtime.topic_reader import incoming_from
from streams.settings import Settings

BATCH_MESSAGES = 1_000
NEW_TOPIC_SECONDS = 3.0
"""Maximum time that a topic may be missing (seconds): brokers learn of a new topic after its creation was confirmed."""
PARTITIONS_SECONDS = 10.0
"""Time between two searches for new partitions (seconds)."""


class Follower:
    """Reads events of some types that arrive after its creation."""

    def __init__(self, settings: Settings, events: tuple[type[Event], ...]) -> None:
        self._models = {event.topic: event for event in events}
        self._settings = settings
        self._consumer = Consumer(reader_config(settings.kafka, f"riffle-follower-{uuid4().hex}", "latest"))
        self._next: dict[tuple[str, int], int] = {}
        """The offset after the last event of each partition."""
        try:
            self._next = self._ends()
            self._assign()
        except KafkaException as error:
            raise unreachable_error(settings.kafka, error) from error
        self._looked_at = time.monotonic()

    def _partitions(self) -> set[tuple[str, int]]:
        topics = self._consumer.list_topics(timeout=TIMEOUT_SECONDS).topics
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
        if time.monotonic() - self._looked_at > PARTITIONS_SECONDS:
            self._looked_at = time.monotonic()
            self._add_partitions()
        for message in self._consumer.consume(BATCH_MESSAGES, timeout=timeout_seconds):
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
            if new := sorted(self._partitions() - self._next.keys()):
                self._next |= dict.fromkeys(new, 0)
                self._assign()
        except KafkaException:
            return  # the cluster doesn't answer: the next search finds them

    def close(self) -> None:
        self._consumer.close()
