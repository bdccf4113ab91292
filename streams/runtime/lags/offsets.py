"""The offsets of partitions and of consumer groups, as the brokers know them."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.runtime.connection import (
    TIMEOUT_SECONDS,
    answer_of,
    client_config,
    retry_while_moving,
    unreachable_error,
)
from streams.settings import KafkaSettings, Settings
from streams.topology import Stage


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """The offsets of one partition for one consumer group."""

    committed: int | None
    """None if nothing was committed yet."""
    start: int
    """Offset of the first record that Kafka still holds."""
    end: int
    """Offset after the last record."""

    @property
    def waiting(self) -> int:
        """Number of records that wait."""
        return max(self.end - max(self.committed or 0, self.start), 0)

    @property
    def lost(self) -> int:
        """Number of records that retention deleted before they were handled."""
        return max(self.start - self.committed, 0) if self.committed is not None else 0


def active_groups(settings: Settings) -> set[str]:
    """Return the consumer groups that have members. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    try:
        listed = answer_of(admin.list_consumer_groups(request_timeout=TIMEOUT_SECONDS))
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error
    return {group.group_id for group in listed.valid if group.state.name not in ("EMPTY", "DEAD")}


def topic_sizes(settings: Settings, partitions: dict[str, int]) -> dict[str, int]:
    """Return the number of records in each topic, computed from its first and next offsets. Raises StoreUnavailable."""
    tops = end_offsets(settings, partitions)
    bottoms = start_offsets(settings, partitions)
    sizes: dict[str, int] = {}
    for place, top in tops.items():
        sizes[place[0]] = sizes.get(place[0], 0) + top - bottoms[place]
    return sizes


Place = tuple[str, int]


def end_offsets(settings: Settings, partitions: dict[str, int]) -> dict[Place, int]:
    """Return the offset after the last record of each partition. Raises StoreUnavailable."""
    return _all_offsets(settings, partitions, OffsetSpec.latest())


def start_offsets(settings: Settings, partitions: dict[str, int]) -> dict[Place, int]:
    """Return the offset of the first record of each partition. Raises StoreUnavailable."""
    return _all_offsets(settings, partitions, OffsetSpec.earliest())


def _all_offsets(settings: Settings, partitions: Mapping[str, int], spec: OffsetSpec) -> dict[Place, int]:
    places = [(topic, number) for topic, count in partitions.items() for number in range(count)]
    try:
        return list_offsets(AdminClient(client_config(settings.kafka)), places, spec)
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def list_offsets(admin: AdminClient, places: list[Place], spec: OffsetSpec) -> dict[Place, int]:
    """Return the offset of each place that `spec` names: the first one, or the one after the last. Raises
    KafkaException."""
    if not places:
        return {}
    # The stubs know neither the default isolation level nor the result's offset.
    ask_admin: Any = admin.list_offsets

    def ask() -> dict[Place, int]:
        futures = ask_admin({TopicPartition(topic, number): spec for topic, number in places})
        return {(p.topic, p.partition): answer_of(f).offset for p, f in futures.items()}

    return retry_while_moving(ask)


class CommittedOffsets:
    """Reads the committed offsets of consumer groups. It keeps one client for each group: no look opens connections.

    A consumer asks, without joining the group. The same request of an AdminClient crashes the process while the
    group's coordinator is unknown (librdkafka 2.16), as on a broker that has just started.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._consumers: dict[str, Consumer] = {}

    def read(self, group: str, places: Sequence[Place]) -> dict[Place, int]:
        """Return the group's committed offset of each partition that has one. Raises KafkaException."""
        if not places:
            return {}
        if group not in self._consumers:
            config = {**client_config(self._settings), "group.id": group, "enable.auto.commit": False}
            self._consumers[group] = Consumer(config)
        consumer = self._consumers[group]
        asked = [TopicPartition(*place) for place in places]
        partitions = retry_while_moving(lambda: consumer.committed(asked, timeout=TIMEOUT_SECONDS))
        return {(p.topic, p.partition): p.offset for p in partitions if p.offset >= 0}

    def close(self) -> None:
        """Close all clients. The next look opens them again."""
        consumers, self._consumers = list(self._consumers.values()), {}
        for consumer in consumers:
            consumer.close()


def committed_offsets(settings: Settings, stage: Stage, places: Sequence[Place]) -> dict[Place, int]:
    """Return a stage's committed offset of each partition that has one. Raises KafkaException."""
    with closing(CommittedOffsets(settings.kafka)) as offsets:
        return offsets.read(stage.group, places)


def find_places(admin: AdminClient, topics: Collection[str]) -> list[Place]:
    """Return the partitions of the topics. Missing topics have none."""
    metadata = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    return [(topic, number) for topic in topics if topic in metadata for number in metadata[topic].partitions]
