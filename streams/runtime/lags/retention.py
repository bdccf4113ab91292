"""The check for events that retention deleted before a stage handled them."""

import time
from collections.abc import Mapping, Sequence

import structlog
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.errors import UsageError
from streams.runtime.connection import AGAIN_SECONDS, answer_of, client_config, unreachable_error
from streams.runtime.lags.offsets import Place, committed_offsets, find_places, list_offsets
from streams.runtime.lags.stage_lags import input_topics
from streams.settings import Settings
from streams.topology import Stage

log = structlog.get_logger()

SESSION_ENDS = 2.0
"""Number of session timeouts until a killed worker is surely no member of its group any more."""


def check_retention(settings: Settings, stages: Sequence[Stage], *, accept_loss: bool = False) -> None:
    """Raise UsageError if Kafka deleted events that a stage had not handled.

    With `accept_loss` the stages continue at the first events that Kafka still holds.
    """
    admin = AdminClient(client_config(settings.kafka))
    try:
        # Only partitions with committed offsets: the other partitions have lost nothing, and their topics may be so new
        # that no broker answers for them yet.
        committed = {
            stage: committed_offsets(settings, stage, find_places(admin, input_topics(stage))) for stage in stages
        }
        for stage, offsets in committed.items():
            _commit_starts(settings, stage, offsets)
        starts = list_offsets(
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
        places = [place for place in find_places(admin, input_topics(stage)) if place not in committed]
        if places:
            starts = list_offsets(admin, places, OffsetSpec.earliest())
            consumer.commit(offsets=[TopicPartition(*place, starts[place]) for place in places], asynchronous=False)
    except KafkaException as error:
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
            answer_of(admin.alter_consumer_group_offsets([request])[stage.group])
            return
        except KafkaException as error:
            if time.monotonic() >= end:
                # Other workers of the stage run. They continue at the first events by themselves.
                log.warning("offsets can't be moved past the lost events", stage=stage.name, error=str(error))
                return
            time.sleep(AGAIN_SECONDS)
