"""The lag of each stage by the broker's offsets: for people, for health, and for autoscaling."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.errors import UsageError
from streams.runtime.connection import (
    AGAIN_SECONDS,
    TIMEOUT_SECONDS,
    client_config,
    retry_while_moving,
    unreachable_error,
)
from streams.settings import Settings
from streams.topology import STAGES, Stage, in_regions

log = structlog.get_logger()


SESSION_ENDS = 2.0
"""Number of session timeouts until a killed worker is surely no member of its group any more."""


@dataclass(frozen=True, slots=True)
class Lag:
    """The events of one topic that a stage has not acknowledged yet."""

    stage: str
    topic: str
    events: int
    lost: int = 0
    """Number of events that retention deleted before the stage handled them."""


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


def input_topics(stage: Stage) -> list[str]:
    """Return the topics that a stage reads: its inputs, then its topics of retries and replays."""
    return [*(event.topic for event in stage.inputs), *stage.own_topics]


def stage_lags(settings: Settings, stages: tuple[Stage, ...] = STAGES) -> list[Lag]:
    """Return the lag of every input of the stages, in each region. Raises StoreUnavailable."""
    if not stages:
        return []
    stages = in_regions(stages, settings.crawl.regions)
    admin = AdminClient(client_config(settings.kafka))
    try:
        topics = {topic for stage in stages for topic in input_topics(stage)}
        ends = _offsets(admin, _places(admin, topics), OffsetSpec.latest())
        starts = _offsets(admin, list(ends), OffsetSpec.earliest())
        lags = []
        for stage in stages:
            committed = committed_offsets(settings, stage, [place for place in ends if place[0] in input_topics(stage)])
            for topic in input_topics(stage):
                parts = [PartitionOffsets(committed.get(p), starts[p], ends[p]) for p in ends if p[0] == topic]
                waiting, lost = sum(part.waiting for part in parts), sum(part.lost for part in parts)
                lags.append(Lag(stage.label, topic, waiting, lost))
        return lags
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def active_groups(settings: Settings) -> set[str]:
    """Return the consumer groups that have members. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    try:
        listed = admin.list_consumer_groups(request_timeout=TIMEOUT_SECONDS).result(timeout=TIMEOUT_SECONDS)
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
        return _offsets(AdminClient(client_config(settings.kafka)), places, spec)
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def _offsets(admin: AdminClient, places: list[Place], spec: OffsetSpec) -> dict[Place, int]:
    if not places:
        return {}
    # The stubs know neither the default isolation level nor the result's offset.
    list_offsets: Any = admin.list_offsets

    def ask() -> dict[Place, int]:
        futures = list_offsets({TopicPartition(topic, number): spec for topic, number in places})
        return {(p.topic, p.partition): f.result(timeout=TIMEOUT_SECONDS).offset for p, f in futures.items()}

    return retry_while_moving(ask)


def committed_offsets(settings: Settings, stage: Stage, places: list[Place]) -> dict[Place, int]:
    """Return a stage's committed offset of each partition that has one.

    A consumer asks for them, without joining the group. The same request of an AdminClient crashes the process while
    the group's coordinator is unknown (librdkafka 2.16), as on a broker that has just started.
    """
    if not places:
        return {}
    consumer = Consumer({**client_config(settings.kafka), "group.id": stage.group, "enable.auto.commit": False})
    try:
        asked = [TopicPartition(*place) for place in places]
        partitions = retry_while_moving(lambda: consumer.committed(asked, timeout=TIMEOUT_SECONDS))
    finally:
        consumer.close()
    return {(p.topic, p.partition): p.offset for p in partitions if p.offset >= 0}


def _places(admin: AdminClient, topics: Collection[str]) -> list[Place]:
    """Return the partitions of the topics. Missing topics have none."""
    metadata = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    return [(topic, number) for topic in topics if topic in metadata for number in metadata[topic].partitions]


def check_retention(settings: Settings, stages: Sequence[Stage], *, accept_loss: bool = False) -> None:
    """Raise UsageError if Kafka deleted events that a stage had not handled.

    With `accept_loss` the stages continue at the first events that Kafka still holds.
    """
    admin = AdminClient(client_config(settings.kafka))
    try:
        # Only partitions with committed offsets: the other partitions have lost nothing, and their topics may be so new
        # that no broker answers for them yet.
        committed = {stage: committed_offsets(settings, stage, _places(admin, input_topics(stage))) for stage in stages}
        for stage, offsets in committed.items():
            _commit_starts(settings, stage, offsets)
        starts = _offsets(
            admin, list({place for places in committed.values() for place in places}), OffsetSpec.earliest()
        )
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error
    lost = {
        stage: {place: starts[place] for place, offset in places.items() if offset < starts[place]}
        for stage, places in committed.items()
    }
    if accept_loss:
        for stage, places in lost.items():
            _skip_lost(admin, stage, places, settings.runtime.session_timeout_seconds)
    elif listed := [text for stage in stages if (text := _lost_text(stage, committed[stage], lost[stage]))]:
        raise UsageError(
            f"Kafka deleted events before they were handled ({', '.join(listed)}): the stage was behind for longer "
            "than the topic's retention. Find out why. To go on without them, start the worker once with --accept-loss"
        )


def _commit_starts(settings: Settings, stage: Stage, committed: Mapping[Place, int]) -> None:
    """Commit the first offset of each partition without a committed offset, so that a later loss is noticed."""
    admin = AdminClient(client_config(settings.kafka))
    consumer = Consumer({**client_config(settings.kafka), "group.id": stage.group, "enable.auto.commit": False})
    try:
        places = [place for place in _places(admin, input_topics(stage)) if place not in committed]
        if places:
            starts = _offsets(admin, places, OffsetSpec.earliest())
            consumer.commit(offsets=[TopicPartition(*place, starts[place]) for place in places], asynchronous=False)
    except (KafkaException, TimeoutError) as error:
        # Other workers of the stage run, and commit by themselves. Or the topics are so new that no broker answers.
        log.debug("first offsets are not committed", stage=stage.name, error=str(error))
    finally:
        consumer.close()


def _lost_text(stage: Stage, committed: Mapping[Place, int], starts: Mapping[Place, int]) -> str:
    """Return the number of lost events of each topic, in words."""
    counts: dict[str, int] = {}
    for place, start in starts.items():
        counts[place[0]] = counts.get(place[0], 0) + start - committed[place]
    return ", ".join(f"{count} of {topic} for stage {stage.name}" for topic, count in sorted(counts.items()))


def _skip_lost(admin: AdminClient, stage: Stage, starts: Mapping[Place, int], session_seconds: float) -> None:
    """Commit the first offset of each of these partitions.

    Kafka refuses the commit while the stage's group has members. A killed worker is a member until its session ends.
    """
    if not starts:
        return
    request = ConsumerGroupTopicPartitions(
        stage.group, [TopicPartition(*place, offset) for place, offset in starts.items()]
    )
    end = time.monotonic() + SESSION_ENDS * session_seconds
    while True:
        try:
            admin.alter_consumer_group_offsets([request])[stage.group].result(timeout=TIMEOUT_SECONDS)
            return
        except KafkaException as error:
            if time.monotonic() > end:
                # Other workers of the stage run. They continue at the first events by themselves.
                log.warning("offsets can't be moved past the lost events", stage=stage.name, error=str(error))
                return
            time.sleep(AGAIN_SECONDS)
