"""Creation of the topics of the topology, and a description of those that exist.

Faust ignores a topic that doesn't exist when it starts, so every worker calls `create_topics` first.
"""

from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from streams.errors import StoreUnavailable
from streams.runtime.connection import TIMEOUT_SECONDS, client_config, unreachable
from streams.runtime.lag import topic_sizes
from streams.settings import Settings
from streams.topology import TOPICS, Topic

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic of the topology as it is in the cluster. `partitions` is 0 if it doesn't exist."""

    topic: Topic
    partitions: int
    messages: int = 0
    """Number of records in it, computed from its offsets."""


def topic_config(topic: Topic) -> dict[str, str]:
    """Kafka's configuration of a topic."""
    if topic.compacted:
        return {"cleanup.policy": "compact"}
    return {"cleanup.policy": "delete", "retention.ms": str(topic.retention_hours * HOUR_MS)}


def create_topics(settings: Settings, topics: tuple[Topic, ...] = TOPICS) -> list[str]:
    """Create the topics that are missing, and return their names. Safe to run from many processes at once."""
    admin = AdminClient(client_config(settings.kafka))
    existing = _metadata(admin, settings)
    wanted = [
        NewTopic(
            topic.name,
            num_partitions=topic.partitions or settings.kafka.partitions,
            replication_factor=settings.kafka.replication,
            config=topic_config(topic),
        )
        for topic in topics
        if topic.name not in existing
    ]
    created: list[str] = []
    if wanted:
        for name, future in admin.create_topics(wanted, operation_timeout=TIMEOUT_SECONDS).items():
            try:
                future.result(timeout=TIMEOUT_SECONDS)
                created.append(name)
            except KafkaException as error:
                reason = error.args[0]
                if not isinstance(reason, KafkaError) or reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise StoreUnavailable(
                        f"Kafka at {settings.kafka.bootstrap}: can't create {name}: {error}"
                    ) from error
    return created


def describe_topics(settings: Settings) -> list[TopicState]:
    """All topics of the topology with their partitions and records in the cluster."""
    admin = AdminClient(client_config(settings.kafka))
    existing = _metadata(admin, settings)
    sizes = topic_sizes(settings, {topic.name: existing.get(topic.name, 0) for topic in TOPICS})
    return [TopicState(topic, existing.get(topic.name, 0), sizes.get(topic.name, 0)) for topic in TOPICS]


def _metadata(admin: AdminClient, settings: Settings) -> dict[str, int]:
    try:
        metadata = admin.list_topics(timeout=TIMEOUT_SECONDS)
    except KafkaException as error:
        raise unreachable(settings.kafka, error) from error
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}
