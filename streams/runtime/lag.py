"""The lag of each stage by the broker's offsets: for people, for health, and for autoscaling."""

from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.runtime.connection import TIMEOUT_SECONDS, client_config, unreachable
from streams.settings import Settings
from streams.topology import STAGES, Stage


@dataclass(frozen=True, slots=True)
class Lag:
    """The number of events of one topic that a stage has not acknowledged yet."""

    stage: str
    topic: str
    events: int


def input_topics(stage: Stage) -> list[str]:
    """The topics that a stage reads: its inputs, then its retry topic."""
    return [*(event.topic for event in stage.inputs), stage.retry_topic]


def stage_lags(settings: Settings, stages: tuple[Stage, ...] = STAGES) -> list[Lag]:
    """The lag of every input of the stages. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    try:
        metadata = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
        wanted = {topic for stage in stages for topic in input_topics(stage) if topic in metadata}
        tops = _offsets(admin, [(t, p) for t in wanted for p in metadata[t].partitions], OffsetSpec.latest())
        bottoms = _offsets(admin, list(tops), OffsetSpec.earliest())
        lags = []
        for stage in stages:
            committed = _committed(admin, stage.group)
            for topic in input_topics(stage):
                places = [place for place in tops if place[0] == topic]
                behind = sum(tops[p] - max(committed.get(p, 0), bottoms[p]) for p in places)
                lags.append(Lag(stage.name, topic, max(behind, 0)))
        return lags
    except KafkaException as error:
        raise unreachable(settings.kafka, error) from error


def topic_sizes(settings: Settings, partitions: dict[str, int]) -> dict[str, int]:
    """The number of records that each topic holds, computed from its first and next offsets."""
    admin = AdminClient(client_config(settings.kafka))
    places = [(topic, number) for topic, count in partitions.items() for number in range(count)]
    tops, bottoms = _offsets(admin, places, OffsetSpec.latest()), _offsets(admin, places, OffsetSpec.earliest())
    sizes: dict[str, int] = {}
    for place, top in tops.items():
        sizes[place[0]] = sizes.get(place[0], 0) + top - bottoms[place]
    return sizes


Place = tuple[str, int]


def _offsets(admin: AdminClient, places: list[Place], spec: OffsetSpec) -> dict[Place, int]:
    if not places:
        return {}
    # The stubs know neither the default isolation level nor the result's offset.
    list_offsets: Any = admin.list_offsets
    futures = list_offsets({TopicPartition(topic, number): spec for topic, number in places})
    return {(p.topic, p.partition): f.result(timeout=TIMEOUT_SECONDS).offset for p, f in futures.items()}


def _committed(admin: AdminClient, group: str) -> dict[Place, int]:
    future = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group]
    try:
        partitions = future.result(timeout=TIMEOUT_SECONDS).topic_partitions or []
    except KafkaException:
        return {}  # The group has never committed anything.
    return {(p.topic, p.partition): p.offset for p in partitions if p.offset >= 0}
