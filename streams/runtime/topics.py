"""Creation of the topics of the topology, and a description of the existing topics.

Faust ignores a topic that doesn't exist when it starts, so every worker calls `create_topics` first.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from streams.errors import StoreUnavailable, UsageError
from streams.runtime.connection import TIMEOUT_SECONDS, answer_of, client_config, unreachable_error
from streams.runtime.lags.offsets import topic_sizes
from streams.runtime.lags.stage_lags import input_topics
from streams.settings import Settings
from streams.topology import TOPICS, Stage, Topic

HOUR_MS = 3_600_000
IN_SYNC_REPLICAS = 2
"""Minimum number of replicas with a record before it counts as delivered, in topics with more replicas."""
RECORD_TIMES = {"message.timestamp.type": "LogAppendTime"}
"""Kafka's clock gives each record its time, so that retention counts from the record's arrival. By the senders' clocks,
the events of a restored backup would be deleted at once, and one record dated years ahead would keep its whole segment.
An event's own time is in its headers (`ce_time`)."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic of the topology as it is in the cluster. `partitions` is 0 if it doesn't exist."""

    topic: Topic
    partitions: int
    messages: int = 0
    """Number of records in it, computed from its offsets."""


def topic_config(topic: Topic, replication: int = 1) -> dict[str, str]:
    """Return Kafka's configuration of a topic. With three replicas, a write must reach at least two."""
    safety = {"min.insync.replicas": str(IN_SYNC_REPLICAS)} if replication > IN_SYNC_REPLICAS else {}
    shared = {**safety, **RECORD_TIMES}
    if topic.compacted:
        return {**shared, "cleanup.policy": "compact"}
    segments = {"segment.ms": str(topic.segment_hours * HOUR_MS)} if topic.segment_hours else {}
    return {**shared, "cleanup.policy": "delete", "retention.ms": str(topic.retention_hours * HOUR_MS), **segments}


def create_topics(settings: Settings, topics: tuple[Topic, ...] = TOPICS) -> list[str]:
    """Create the topics that are missing, and return their names. Safe to run from many processes at once.

    A new topic gets as many partitions as the others have: the settings may have changed since those were made, and the
    topics of a stage must have the same number.
    """
    admin = AdminClient(client_config(settings.kafka))
    existing = _metadata(admin, settings)
    counts = [existing[topic.name] for topic in topics if not topic.partitions and topic.name in existing]
    partitions = max(counts, default=settings.kafka.partitions)
    wanted = [
        NewTopic(
            topic.name,
            num_partitions=topic.partitions or partitions,
            replication_factor=settings.kafka.replication,
            config=topic_config(topic, settings.kafka.replication),
        )
        for topic in topics
        if topic.name not in existing
    ]
    return _wait_for_changes(settings, "create", admin.create_topics, wanted)


def _wait_for_changes(
    settings: Settings, what: str, change: Callable[..., Mapping[str, Future[None]]], wanted: Sequence[Any]
) -> list[str]:
    """Have Kafka change topics. Returns the names of those that this process changed. Raises StoreUnavailable."""
    changed: list[str] = []
    for name, future in change(wanted, operation_timeout=TIMEOUT_SECONDS).items() if wanted else ():
        try:
            answer_of(future)
            changed.append(name)
        except KafkaException as error:
            reason = error.args[0]
            if not isinstance(reason, KafkaError) or reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise StoreUnavailable(f"Kafka at {settings.kafka.bootstrap}: can't {what} {name}: {error}") from error
    return changed


def set_record_times(settings: Settings, topics: Sequence[Topic] = TOPICS) -> list[str]:
    """Let Kafka's clock give the records of existing topics their times. Returns the names of the changed topics.

    Records that are there keep their times. A topic whose configuration may not be read belongs to somebody else (on a
    cluster to its KafkaTopic), and is left as it is: `riffle doctor` names it. Raises StoreUnavailable.
    """
    admin = AdminClient(client_config(settings.kafka))
    existing = _metadata(admin, settings)
    places = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics if topic.name in existing]
    try:
        answers = admin.describe_configs(places, request_timeout=TIMEOUT_SECONDS) if places else {}
        different = [place for place, answer in answers.items() if _has_other_times(answer)]
        for answer in admin.incremental_alter_configs([*map(_record_times, different)]).values() if different else ():
            answer_of(answer)
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error
    return sorted(place.name for place in different)


def grow_topics(settings: Settings, partitions: int) -> list[str]:
    """Give all topics of the topology this number of partitions. Returns the names of the topics that had fewer.

    Raises UsageError if a topic has more: Kafka can't take partitions away.
    """
    admin = AdminClient(client_config(settings.kafka))
    counts = {topic.name: count for topic in TOPICS if (count := _metadata(admin, settings).get(topic.name))}
    if larger := sorted(name for name, count in counts.items() if count > partitions):
        raise UsageError(
            f"{larger[0]} has {counts[larger[0]]} partitions, and Kafka can't take any away. "
            f"Choose at least {max(counts.values())}"
        )
    wanted = [NewPartitions(name, partitions) for name, count in counts.items() if count < partitions]
    return sorted(_wait_for_changes(settings, "add partitions to", admin.create_partitions, wanted))


def check_partitions(settings: Settings, stages: Sequence[Stage]) -> dict[str, int]:
    """Return the number of partitions of each stage's topics. Raises UsageError if they differ within a stage.

    Events with the same key are handled in order only if one worker owns their partitions. Kafka assigns partition N of
    all topics to one worker only if the topics have the same number of partitions. Raises StoreUnavailable while the
    broker does not show one of the topics.
    """
    existing = _metadata(AdminClient(client_config(settings.kafka)), settings)
    for stage in stages:
        if unseen := [topic for topic in input_topics(stage) if topic not in existing]:
            raise StoreUnavailable(
                f"Kafka at {settings.kafka.bootstrap} does not show {unseen[0]} yet: a busy broker learns of a new "
                "topic a moment after it was made. If this stays, `riffle migrate --only topics` makes it"
            )
        if problem := partitions_problem(stage, existing):
            raise UsageError(problem)
    return {stage.name: existing[stage.inputs[0].topic] for stage in stages}


def partitions_problem(stage: Stage, existing: Mapping[str, int]) -> str:
    """Return a sentence if the stage's topics have different numbers of partitions, else an empty string."""
    counts = {topic: existing.get(topic, 0) for topic in input_topics(stage)}
    if len(set(counts.values())) <= 1:
        return ""
    listed = ", ".join(f"{topic} {count}" for topic, count in counts.items())
    return (
        f"the topics of stage {stage.name} have different numbers of partitions ({listed}). "
        f"Give all topics the same number: riffle migrate --only topics --partitions {max(counts.values())}"
    )


def describe_topics(settings: Settings) -> list[TopicState]:
    """Return all topics of the topology with their partitions and records in the cluster. Raises StoreUnavailable."""
    admin = AdminClient(client_config(settings.kafka))
    existing = _metadata(admin, settings)
    sizes = topic_sizes(settings, {topic.name: existing.get(topic.name, 0) for topic in TOPICS})
    return [TopicState(topic, existing.get(topic.name, 0), sizes.get(topic.name, 0)) for topic in TOPICS]


def _metadata(admin: AdminClient, settings: Settings) -> dict[str, int]:
    try:
        metadata = admin.list_topics(timeout=TIMEOUT_SECONDS)
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def _has_other_times(answer: Any) -> bool:
    """Return whether a topic's records get their times in another way. False if its configuration may not be read."""
    try:
        config = answer_of(answer)
    except KafkaException as error:
        reason = error.args[0]
        if isinstance(reason, KafkaError) and reason.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return False
        raise
    return any(config[name].value != value for name, value in RECORD_TIMES.items())


def _record_times(place: ConfigResource) -> ConfigResource:
    """Return the change of a topic's configuration that sets the times of its records."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in RECORD_TIMES.items()
    ]
    return ConfigResource(ResourceType.TOPIC, place.name, incremental_configs=entries)
