"""Kafka: brokers, topics against the topology, lag, and dead letters."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from streams.credentials import TlsFiles
from streams.doctor.findings import Finding, failure, ok, warning
from streams.doctor.servers import Endpoint, judge_version, refused
from streams.errors import KafkaAway
from streams.runtime.connection import MAX_RECORD_BYTES, client_config, unreachable_error
from streams.runtime.dead_letters import DeadLetter, DeadLetters
from streams.runtime.lags.offsets import active_groups, topic_sizes
from streams.runtime.lags.stage_lags import Lag, input_topics, stage_lags, waiting_by_stage
from streams.runtime.sign_in import explain_refusal
from streams.runtime.topics import partitions_problem, topic_config
from streams.settings import Settings
from streams.topology import STAGES, TOPICS, Topic

REQUEST_SECONDS = 8.0
ANSWER_SECONDS, ANSWER_TRIES = 1.5, 4
"""Time until brokers that accept a connection must answer, and how often that is tried: shorter than the deadline of
all checks."""
RESTORE_ADVICE = "A restore is not finished, and workers wait for it. What to do: riffle doctor --only cassandra"
"""The advice of all findings about lag during an unfinished restore."""
MANY_DEAD_LETTERS = 20_000
"""Number of dead letters above which they are counted, not read."""
SHOWN = 8
"""Maximum number of lines of details."""


@dataclass(frozen=True, slots=True)
class ActualTopic:
    """A topic as the cluster has it."""

    partitions: int
    replicas: int
    """Number of replicas of the partition that has the fewest."""
    in_sync: int
    """Number of in-sync replicas of the partition that has the fewest."""
    config: Mapping[str, str]


def check_brokers(settings: Settings) -> Iterator[Finding]:
    """Check that the brokers answer and are new enough."""
    problem = refused(settings.kafka.bootstrap)
    if problem:
        yield failure(
            "kafka",
            f"{settings.kafka.bootstrap} can't be reached ({problem})",
            "Start it (`riffle up`), or set RIFFLE_KAFKA__BOOTSTRAP to brokers that run.",
        )
        return
    errors: list[str] = []
    try:
        config = client_config(settings.kafka)
    except KafkaAway as error:
        yield failure("kafka", *explain_refusal(settings.kafka, [f"SASL OAUTHBEARER token: {error.__cause__}"]))
        return
    admin = AdminClient(config, error_cb=lambda error: errors.append(error.str()))
    brokers = _brokers(admin, errors)
    if not brokers:
        yield failure("kafka", *explain_refusal(settings.kafka, errors))
        return
    try:
        where = f"{settings.kafka.bootstrap} ({len(brokers)} broker{'' if len(brokers) == 1 else 's'})"
        yield judge_version("kafka", where, _version(admin, min(brokers)))
        if len(brokers) < settings.kafka.replication:
            yield failure(
                "kafka",
                f"{len(brokers)} brokers can't hold {settings.kafka.replication} replicas",
                "Start the missing brokers, or set RIFFLE_KAFKA__REPLICATION to what the cluster has.",
            )
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error


def _brokers(admin: AdminClient, errors: Sequence[str]) -> Mapping[int, Any]:
    """Return the brokers, or nothing if they close the connections. Then `errors` has librdkafka's reasons, if any."""
    for _ in range(ANSWER_TRIES):
        try:
            return admin.list_topics(timeout=ANSWER_SECONDS).brokers
        except KafkaException:
            admin.poll(0)  # it passes on the errors
        if any("SASL" in text or "SSL" in text for text in errors):
            break
    return {}


def endpoint(settings: Settings) -> Endpoint | None:
    """Return the first of the brokers, if the connections are encrypted."""
    if not settings.kafka.is_encrypted:
        return None
    host, _, port = settings.kafka.bootstrap.split(",")[0].strip().rpartition(":")
    return Endpoint("Kafka", host, int(port), TlsFiles.of(settings.kafka))


def _version(admin: AdminClient, broker: int) -> str:
    """Return the protocol version of a broker; unknown for Kafka 4, which lacks the option, or without the right."""
    resource = ConfigResource(ResourceType.BROKER, str(broker))
    try:
        (answer,) = admin.describe_configs([resource], request_timeout=REQUEST_SECONDS).values()
        entry = answer.result(timeout=REQUEST_SECONDS).get("inter.broker.protocol.version")
    except KafkaException:
        return ""
    return str(entry.value) if entry else ""


def check_topics(settings: Settings) -> Iterator[Finding]:
    """Check that each topic of the topology exists with its settings."""
    if not refused(settings.kafka.bootstrap):
        yield from judge_topics(read_topics(settings), settings)


def read_topics(settings: Settings, topics: Sequence[Topic] = TOPICS) -> dict[str, ActualTopic]:
    """Return the topics that exist, by name. Raises StoreUnavailable."""
    try:
        admin = AdminClient(client_config(settings.kafka))
        metadata = admin.list_topics(timeout=REQUEST_SECONDS).topics
        names = [topic.name for topic in topics if topic.name in metadata]
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        answers = admin.describe_configs(resources, request_timeout=REQUEST_SECONDS) if resources else {}
        configs = {resource.name: _config(answer) for resource, answer in answers.items()}
    except KafkaException as error:
        raise unreachable_error(settings.kafka, error) from error
    return {name: _to_actual_topic(metadata[name], configs[name]) for name in names}


def _config(answer: Any) -> dict[str, str]:
    return {name: str(entry.value) for name, entry in answer.result(timeout=REQUEST_SECONDS).items()}


def _to_actual_topic(metadata: Any, config: dict[str, str]) -> ActualTopic:
    parts = metadata.partitions.values()
    replicas = min((len(part.replicas) for part in parts), default=0)
    return ActualTopic(len(parts), replicas, min((len(part.isrs) for part in parts), default=0), config)


def judge_topics(
    actual: Mapping[str, ActualTopic], settings: Settings, topics: Sequence[Topic] = TOPICS
) -> Iterator[Finding]:
    """Compare the topics of the cluster with the topics of the topology."""
    missing = [topic.name for topic in topics if topic.name not in actual]
    if missing:
        yield failure("topics", f"Missing: {', '.join(missing)}", "Create them: riffle migrate")
    counts = {name: topic.partitions for name, topic in actual.items()}
    for stage in STAGES:
        existing = set(input_topics(stage))
        if existing <= counts.keys() and (problem := partitions_problem(stage, counts)):
            yield failure(
                "topics",
                f"{problem[0].upper()}{problem[1:].partition('. ')[0]}",
                "Its workers refuse to start. Give all the same number: riffle migrate --only topics --partitions N",
            )
    different = [
        f"{topic.name}: {text}"
        for topic in topics
        if topic.name in actual
        for text in _differences(topic, actual[topic.name], settings)
    ]
    if different:
        yield warning(
            "topics",
            f"{len(different)} settings differ from the topology",
            "Set them with kafka-configs.sh --alter (or in the KafkaTopic). Only message.timestamp.type is set by "
            "`riffle migrate --only topics`.",
            *_shorten_list(different),
        )
    lagging = [name for name, topic in actual.items() if topic.in_sync < topic.replicas]
    if lagging:
        yield warning(
            "topics",
            f"{len(lagging)} topics have replicas that are not in sync",
            "Check the brokers' logs.",
            *_shorten_list(lagging),
        )
    if not missing and not different:
        yield ok("topics", f"All {len(topics)} exist as the topology has them")


def _differences(topic: Topic, actual: ActualTopic, settings: Settings) -> Iterator[str]:
    wanted = topic_config(topic, settings.kafka.replication)
    for name, value in wanted.items():
        if actual.config.get(name, value) != value:
            yield f"{name} is {actual.config[name]} instead of {value}"
    if actual.replicas < settings.kafka.replication:
        yield f"{actual.replicas} replicas instead of {settings.kafka.replication}"
    limit = int(actual.config.get("max.message.bytes", MAX_RECORD_BYTES))
    if limit < MAX_RECORD_BYTES:
        yield f"max.message.bytes is {limit}: records have up to {MAX_RECORD_BYTES}"


def check_lag(settings: Settings, is_restoring: Callable[[Settings], bool]) -> Iterator[Finding]:
    """Check that each stage has a worker and keeps up. `is_restoring`: whether a restore is not finished."""
    if not refused(settings.kafka.bootstrap):
        findings = list(judge_lag(stage_lags(settings), active_groups(settings), settings.crawl.max_stage_lag_events))
        if any(finding.advice for finding in findings) and is_restoring(settings):
            findings = [advise_to_restore(finding) for finding in findings]
        yield from findings


def advise_to_restore(finding: Finding) -> Finding:
    """Return the finding for the time of an unfinished restore. Until its end workers wait: no other advice helps."""
    return replace(finding, advice=RESTORE_ADVICE) if finding.advice else finding


def judge_lag(lags: Sequence[Lag], groups: set[str], max_events: int) -> Iterator[Finding]:
    """Find events that wait, events that were lost, and stages without a worker."""
    lost = [f"{lag.stage}: {lag.lost} events of {lag.topic}" for lag in lags if lag.lost]
    if lost:
        yield failure(
            "lag",
            "Kafka deleted events before they were handled",
            "Find out why the stage was behind for so long. Its workers start only with --accept-loss.",
            *_shorten_list(lost),
        )
    waiting = waiting_by_stage(lags)
    idle = [stage for stage in waiting if f"riffle-{stage}" not in groups]
    if idle:
        stuck = [f"{stage}: {waiting[stage]:,} events wait" for stage in idle if waiting[stage]]
        yield (failure if stuck else warning)(
            "lag",
            f"No worker runs for {', '.join(idle)}",
            "Start them: riffle worker STAGE (locally `riffle up`)",
            *stuck,
        )
    behind = {stage: events for stage, events in waiting.items() if events > max_events}
    if behind:
        yield failure(
            "lag",
            f"{', '.join(behind)} behind by more than {max_events:,} events: the frontier pauses",
            "Start more workers of these stages, and look at their errors (`riffle dead-letters list`, their logs).",
            *(f"{stage}: {events:,} events wait" for stage, events in behind.items()),
        )
    if not lost and not idle and not behind:
        yield ok("lag", f"{sum(waiting.values()):,} events wait, each stage has a worker")


def check_dead_letters(settings: Settings) -> Iterator[Finding]:
    """Check that no dead letter waits for an operator."""
    if refused(settings.kafka.bootstrap):
        return
    total = _dead_records(settings)
    letters = list(DeadLetters(settings)) if 0 < total <= MANY_DEAD_LETTERS else []
    yield judge_dead_letters(letters, total)


def _dead_records(settings: Settings) -> int:
    names = [stage.dead_topic for stage in STAGES]
    metadata = AdminClient(client_config(settings.kafka)).list_topics(timeout=REQUEST_SECONDS).topics
    partitions = {name: len(metadata[name].partitions) for name in names if name in metadata}
    return sum(topic_sizes(settings, partitions).values())


def judge_dead_letters(letters: Sequence[DeadLetter], records: int) -> Finding:
    """Judge the dead letters. `records` is the number of records in their topics, including replayed letters."""
    advice = "See why: riffle dead-letters list. After the fault is mended: riffle dead-letters replay"
    if records > MANY_DEAD_LETTERS:
        return warning("dead letters", f"About {records:,} events failed for good", advice)
    if not letters:
        return ok("dead letters", "None waits")
    kinds = Counter(f"{letter.failure.stage}: {letter.failure.error_type}" for letter in letters)
    lines = [f"{kind}, {count} times" for kind, count in kinds.most_common(SHOWN)]
    return warning("dead letters", f"{len(letters):,} events failed for good", advice, *lines)


def _shorten_list(lines: Sequence[str]) -> Sequence[str]:
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"... and {len(lines) - SHOWN} more"]
