"""A reader of some topics for one client that follows them: it goes on at the place that the client names.

A place is the next offset of each partition, as a text: `0.0.152-0.1.98-1.0.7` is offset 152 of the first topic's
partition 0, and so on. It joins no consumer group and commits nothing. The reader polls without waiting, since many of
them share one event loop: librdkafka fetches in threads of its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, TopicPartition

from schemas import Envelope, Event, InvalidEvent
from streams.errors import StoreUnavailable
from streams.runtime.connection import TIMEOUT_SECONDS, reader_config
from streams.runtime.readers.topic_reader import incoming_from
from streams.runtime.records import event_of
from streams.settings import Settings
from streams.topology import READER_GROUP

MAX_AT_ONCE = 200
MAX_PLACE_CHARS = 16_384
QUEUED_KIB = 4_096
"""Maximum size of records that a reader has fetched and not given on (KiB)."""
_PLACE = re.compile(r"([0-9]{1,3})\.([0-9]{1,5})\.([0-9]{1,18})", re.ASCII)
Place = Mapping[tuple[int, int], int]
"""The next offset by number of the topic and partition."""
Change = tuple[Event, Envelope, str]
"""An event, and the place behind it."""


def read_place(text: str) -> Place | None:
    """Return the place that a client names, or None if it is not one."""
    if len(text) > MAX_PLACE_CHARS:
        return None
    parts = [_PLACE.fullmatch(part) for part in text.split("-")]
    return None if None in parts else {(int(p[1]), int(p[2])): int(p[3]) for p in parts if p}


def write_place(place: Place) -> str:
    return "-".join(f"{topic}.{partition}.{offset}" for (topic, partition), offset in sorted(place.items()))


class ChangeReader:
    """Reads from a place, or from a time, or from now on. Raises StoreUnavailable. Call it in a thread, but `poll`."""

    def __init__(
        self,
        settings: Settings,
        events: Sequence[type[Event]],
        place: Place | None = None,
        since: datetime | None = None,
    ) -> None:
        self._settings, self._models = settings, list(events)
        self._numbers = {event.topic: number for number, event in enumerate(events)}
        options = reader_config(settings.kafka, f"{READER_GROUP}{uuid4().hex}", "earliest")
        self._consumer = Consumer({**options, "queued.max.messages.kbytes": QUEUED_KIB, "queued.min.messages": 200})
        try:
            partitions = self._partitions()
            # Kafka begins anew for offsets that it does not have.
            known = {where: offset for where, offset in (place or {}).items() if where in partitions}
            self._place = {**self._begin(partitions - known.keys(), since), **known}
            self._consumer.assign(
                [
                    TopicPartition(self._models[topic].topic, partition, offset)
                    for (topic, partition), offset in self._place.items()
                ]
            )
        except KafkaException as error:
            self._consumer.close()
            raise self._unavailable(error) from error

    def _partitions(self) -> set[tuple[int, int]]:
        """Return the number of the topic and of the partition, of each partition that there is."""
        topics = self._consumer.list_topics(timeout=TIMEOUT_SECONDS).topics
        return {
            (number, partition)
            for name, number in self._numbers.items()
            for partition in (topics[name].partitions if name in topics else ())
        }

    def _begin(self, partitions: Iterable[tuple[int, int]], since: datetime | None) -> dict[tuple[int, int], int]:
        """Return the offsets of a time, or of now."""
        found = {}
        for number, partition in partitions:
            name = self._models[number].topic
            _, end = self._consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=TIMEOUT_SECONDS)
            if since is not None:
                at = TopicPartition(name, partition, int(since.timestamp() * 1_000))
                (first,) = self._consumer.offsets_for_times([at], timeout=TIMEOUT_SECONDS)
                end = first.offset if first.offset >= 0 else end
            found[number, partition] = end
        return found

    @property
    def place(self) -> str:
        return write_place(self._place)

    def poll(self) -> list[Change]:
        """Return events that came, MAX_AT_ONCE at most, each with the place behind it. Never waits."""
        found = []
        try:
            for message in self._consumer.consume(MAX_AT_ONCE, timeout=0):
                incoming = incoming_from(message)
                self._place[self._numbers[incoming.topic], incoming.partition] = incoming.offset + 1
                try:
                    event, envelope = event_of(self._models, incoming)
                except InvalidEvent:
                    continue  # the stage that reads the topic dead-letters it
                found.append((event, envelope, self.place))
        except KafkaException as error:
            raise self._unavailable(error) from error
        return found

    def close(self) -> None:
        self._consumer.close()

    def _unavailable(self, error: KafkaException) -> StoreUnavailable:
        return StoreUnavailable(f"Kafka at {self._settings.kafka.bootstrap}: can't follow events: {error.args[0]}")
