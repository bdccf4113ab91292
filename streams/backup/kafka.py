"""Kafka's part of a backup: the events that are still to be handled, and the events that no other store keeps.

An event that every stage has handled is not kept: its effects are in Cassandra. Kept are

- events that some stage has not handled, and all later events of their partitions
- the whole of compacted topics (the last state of each key), of dead letters, and of topics that no stage reads

Personal topics (queries, clicks) are left out: a backup lives longer than a day.

A restored record has the same partition, key, value and headers as before, and another offset. So instead of offsets, a
backup holds the number of its records that a stage has handled, by partition. Its time in Kafka is the time of the
restore: retention counts from then on. The event's own time is in its headers.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams.backup.manifest import ItemWriter, Manifest, Part, Progress, read_items
from streams.errors import StoreUnavailable, UsageError
from streams.runtime.connection import COMPRESSION, MAX_RECORD_BYTES, TIMEOUT_SECONDS, client_config, unreachable_error
from streams.runtime.lags.offsets import committed_offsets, end_offsets, start_offsets, topic_sizes
from streams.runtime.lags.stage_lags import input_topics
from streams.runtime.readers.topic_reader import read_topic
from streams.runtime.records import Incoming
from streams.runtime.topics import create_topics, set_record_times, topic_config
from streams.settings import Settings
from streams.topology import STAGES, TOPICS, Topic, in_regions
from streams.topology import stage as stage_called

REPLACE_ADVICE = (
    "Restore into an empty installation, or use --replace, which removes everything that this installation holds"
)
Place = tuple[str, int]
Offsets = dict[str, dict[Place, int]]
"""Stage -> (topic, partition) -> committed offset."""
FLUSH_RECORDS = 5_000
"""Number of records after which the producer waits until all are delivered."""
GONE_SECONDS = 30.0
"""Maximum time until a deleted topic is gone and a new topic answers (seconds)."""
_LOOK_SECONDS = 0.2


def partitions_of(settings: Settings) -> dict[str, int]:
    """Return the number of partitions of each topic of the topology that exists. Raises StoreUnavailable."""
    try:
        metadata = AdminClient(client_config(settings.kafka)).list_topics(timeout=TIMEOUT_SECONDS).topics
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error
    return {topic.name: len(metadata[topic.name].partitions) for topic in TOPICS if topic.name in metadata}


def read_committed(settings: Settings, partitions: Mapping[str, int]) -> Offsets:
    """Return the committed offsets of all stages. Raises StoreUnavailable."""
    try:
        return {
            stage.label: committed_offsets(
                settings,
                stage,
                [(topic, number) for topic in input_topics(stage) for number in range(partitions.get(topic, 0))],
            )
            for stage in in_regions(STAGES, settings.crawl.regions)
        }
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def find_first_kept(topic: Topic, number: int, offsets: Offsets) -> int:
    """Return the offset of the first record of a partition that a backup keeps. Retention may have deleted it."""
    # A stage in a region is called STAGE-REGION.
    readers = [name for name in offsets if topic.name in input_topics(stage_called(name.partition("-")[0]))]
    if topic.compacted or not readers:
        return 0
    return min(offsets[name].get((topic.name, number), 0) for name in readers)


def kept_topics(existing: Container[str], topics: Iterable[Topic] = TOPICS) -> list[Topic]:
    """Return the topics whose records a backup keeps. `existing`: names of the topics that exist."""
    return [topic for topic in topics if topic.name in existing and not topic.personal]


def refuse_events(settings: Settings) -> None:
    """Raise UsageError if a topic holds records."""
    if full := sorted(name for name, count in topic_sizes(settings, partitions_of(settings)).items() if count):
        raise UsageError(f"Kafka holds events in {', '.join(full)}. {REPLACE_ADVICE}")


def write_records(settings: Settings, folder: Path, manifest: Manifest, offsets: Offsets, progress: Progress) -> None:
    """Write the records to keep to files, and note in the manifest how many of them each stage has handled."""
    total = 0
    handled: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for topic in kept_topics(manifest.partitions):
        starts = {number: find_first_kept(topic, number, offsets) for number in range(manifest.partitions[topic.name])}
        with ItemWriter(folder, f"kafka/{topic.name}.msgpack.zst") as writer:
            for record in read_topic(settings, topic.name, starts=starts):
                writer.write(_item(record))
                total += 1
                progress("Events", total)
                for stage, of_stage in offsets.items():
                    if record.offset < of_stage.get((record.topic, record.partition), 0):
                        handled[stage][record.topic][str(record.partition)] += 1
        manifest.topics[topic.name] = writer.part
    manifest.committed = {
        stage: {topic: dict(parts) for topic, parts in topics.items()} for stage, topics in handled.items()
    }


def _item(record: Incoming) -> list[object]:
    milliseconds = round(record.time * 1_000)
    return [record.partition, milliseconds, record.key, record.value, [list(header) for header in record.headers]]


def empty_topics(settings: Settings, manifest: Manifest) -> None:
    """Make every topic empty, with the number of partitions that it had. Raises StoreUnavailable."""
    present = partitions_of(settings)
    wrong = {name for name, count in present.items() if manifest.partitions.get(name, count) != count}
    admin = AdminClient(client_config(settings.kafka))
    # A topic that retention has emptied is created again, too, so that its offsets begin with 0.
    used = {topic for (topic, _), end in end_offsets(settings, present).items() if end}
    _delete(admin, sorted(used | wrong))
    for topic in (topic for topic in TOPICS if topic.name in manifest.partitions):
        _create(admin, settings, topic, manifest.partitions[topic.name])
    create_topics(settings)
    set_record_times(settings)


def _delete(admin: AdminClient, names: list[str]) -> None:
    for deleted in admin.delete_topics(names, operation_timeout=TIMEOUT_SECONDS).values() if names else ():
        deleted.result(timeout=TIMEOUT_SECONDS)
    end = time.monotonic() + GONE_SECONDS
    while set(names) & admin.list_topics(timeout=TIMEOUT_SECONDS).topics.keys():
        if time.monotonic() > end:
            raise StoreUnavailable(f"Kafka did not delete {', '.join(names)} within {GONE_SECONDS:.0f} s")
        time.sleep(_LOOK_SECONDS)


def _create(admin: AdminClient, settings: Settings, topic: Topic, partitions: int) -> None:
    replication = settings.kafka.replication
    wanted = NewTopic(
        topic.name, num_partitions=partitions, replication_factor=replication, config=topic_config(topic, replication)
    )
    try:
        admin.create_topics([wanted], operation_timeout=TIMEOUT_SECONDS)[topic.name].result(timeout=TIMEOUT_SECONDS)
    except KafkaException as error:
        reason = error.args[0]
        if not isinstance(reason, KafkaError) or reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def restore_records(settings: Settings, folder: Path, manifest: Manifest, progress: Progress) -> None:
    """Send all records of a backup again, in their order. Raises StoreUnavailable."""
    producer = Producer(
        {
            **client_config(settings.kafka),
            "acks": "all",
            "enable.idempotence": True,
            "message.max.bytes": MAX_RECORD_BYTES,
            "compression.type": COMPRESSION,
        }
    )
    sending, total = _Sending(producer), 0
    for topic, part in manifest.topics.items():
        for record in _records(folder, part):
            sending.send(topic, record)
            total += 1
            if not total % FLUSH_RECORDS:
                sending.flush()
            progress("Events", total)
    sending.flush()


def verify_records(settings: Settings, manifest: Manifest) -> None:
    """Raise StoreUnavailable if Kafka does not hold each record that was sent, naming the topics that lack records."""
    starts, ends = start_offsets(settings, manifest.partitions), end_offsets(settings, manifest.partitions)
    if problems := missing_records(manifest, starts, ends):
        raise StoreUnavailable(
            f"Kafka does not hold all events of the backup: {'; '.join(problems)}. "
            "Check its disk and the retention of its topics, then restore again with --replace"
        )


def missing_records(manifest: Manifest, starts: Mapping[Place, int], ends: Mapping[Place, int]) -> list[str]:
    """Return a line for each topic that holds fewer records than the backup. The topics were empty before.

    Others may write to a topic during a restore (a gateway its queries), but the restored records come first: none is
    deleted only if each partition still begins with offset 0.
    """
    held = {
        topic: sum(ends.get((topic, number), 0) for number in range(count))
        for topic, count in manifest.partitions.items()
    }
    deleted = Counter(dict.fromkeys(manifest.topics, 0))
    for (topic, _), start in starts.items():
        deleted[topic] += start
    return [
        f"{topic}: " + (f"{deleted[topic]:,} were deleted" if deleted[topic] else f"{held[topic]:,} of {part.items:,}")
        for topic, part in manifest.topics.items()
        if deleted[topic] or held[topic] < part.items
    ]


def _records(folder: Path, part: Part) -> Iterator[Incoming]:
    for partition, milliseconds, key, value, headers in read_items(folder, part):
        pairs = [(str(name), None if content is None else bytes(content)) for name, content in headers]
        yield Incoming("", partition, 0, key, value, pairs, milliseconds / 1_000)


def _headers(record: Incoming) -> Any:
    """Return a record's headers for the client. It takes null values, which its annotations leave out."""
    return record.headers


class _Sending:
    """Sends records, and remembers the first record that was not delivered."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._failed: KafkaError | None = None

    def send(self, topic: str, record: Incoming) -> None:
        while True:
            try:
                self._producer.produce(
                    topic,
                    value=record.value,
                    key=record.key,
                    partition=record.partition,
                    headers=_headers(record),
                    on_delivery=self._delivered,
                )
                return
            except BufferError:  # the client's queue is full
                self._producer.poll(1.0)

    def flush(self) -> None:
        if self._producer.flush(TIMEOUT_SECONDS) or self._failed:
            raise StoreUnavailable(f"Kafka did not take the events: {self._failed or 'no answer'}")

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        self._failed = self._failed or error


def restore_offsets(settings: Settings, manifest: Manifest) -> None:
    """Let each stage begin with the first restored event that it has not handled. Raises StoreUnavailable."""
    for stage in in_regions(STAGES, settings.crawl.regions):
        handled = manifest.committed.get(stage.label, {})
        places = [
            TopicPartition(topic, number, handled.get(topic, {}).get(str(number), 0))
            for topic in input_topics(stage)
            for number in range(manifest.partitions.get(topic, 0))
        ]
        if places:
            _commit(settings, stage.group, places)


def _commit(settings: Settings, group: str, places: Iterable[TopicPartition]) -> None:
    """Commit offsets for a group without members, as a consumer that joins no group."""
    consumer = Consumer({**client_config(settings.kafka), "group.id": group, "enable.auto.commit": False})
    end = time.monotonic() + TIMEOUT_SECONDS
    try:
        while True:
            try:
                consumer.commit(offsets=list(places), asynchronous=False)
                return
            except KafkaException as error:
                if time.monotonic() > end:
                    raise unreachable_error(settings.kafka, error) from error
                time.sleep(_LOOK_SECONDS)  # the group's coordinator starts
    finally:
        consumer.close()
