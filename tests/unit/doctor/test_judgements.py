"""The rules of `riffle doctor`: for each check a case that passes, and those that don't."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from streams.commands.stack.status import confinement_line
from streams.doctor import cassandra, certificates, gateway, kafka, machine, qdrant, triton
from streams.doctor.findings import Finding, Level
from streams.doctor.kafka import ActualTopic
from streams.doctor.servers import judge_version
from streams.errors import RestoreUnfinished, StoreUnavailable
from streams.local.tls.identities import Identities
from streams.models.protocols import ModelInfo
from streams.runtime.dead_letters import DeadLetter
from streams.runtime.lags.stage_lags import Lag
from streams.runtime.records import FailureInfo, Incoming
from streams.runtime.topics import topic_config
from streams.sandbox.confinement import LAYERS
from streams.settings import (
    CassandraSettings,
    CrawlSettings,
    KafkaSettings,
    QdrantSettings,
    Settings,
    TritonSettings,
)
from streams.stores.cassandra.migrating import packaged_migrations
from streams.stores.cassandra.restoring import MARK
from streams.topology import STAGES, TOPICS

OK, WARNING, FAILURE = Level
NOW = datetime(2026, 3, 1, tzinfo=UTC)
GB = 1_000_000_000


def levels(findings: list[Finding]) -> list[Level]:
    return [finding.level for finding in findings]


def text(finding: Finding) -> str:
    return " ".join((finding.says, finding.advice, *finding.details))


@pytest.mark.parametrize(
    ("server", "version", "level"),
    [
        ("kafka", "3.9-IV0", OK),
        ("kafka", "", OK),  # Kafka 4 does not say it
        ("kafka", "2.7-IV2", FAILURE),
        ("cassandra", "5.0.4", OK),
        ("cassandra", "4.0.11", FAILURE),  # ALTER TABLE ... ADD IF NOT EXISTS is of 4.1
        ("qdrant", "1.18.3", OK),
        ("qdrant", "1.9.7", FAILURE),
        ("triton", "2.51.0", OK),
    ],
)
def test_versions(server: str, version: str, level: Level) -> None:
    finding = judge_version(server, "it", version)
    assert finding.level is level
    assert (version or "unknown") in finding.says


SETTINGS = Settings(kafka=KafkaSettings(replication=3))


def right_topics() -> dict[str, ActualTopic]:
    return {topic.name: ActualTopic(8, 3, 3, topic_config(topic, 3)) for topic in TOPICS}


def judged(actual: dict[str, ActualTopic]) -> list[Finding]:
    return list(kafka.judge_topics(actual, SETTINGS))


def test_topics_as_in_the_topology() -> None:
    assert levels(judged(right_topics())) == [OK]


def test_a_missing_topic() -> None:
    topics = right_topics()
    del topics["pages.chunked"]
    (finding, *_) = judged(topics)
    assert (finding.level, finding.says, finding.advice) == (
        FAILURE,
        "Missing: pages.chunked",
        "Create them: riffle migrate",
    )


@pytest.mark.parametrize(
    ("change", "level", "says"),
    [
        ({"config": {"retention.ms": "1000"}}, WARNING, "pages.fetched: retention.ms is 1000 instead of 604800000"),
        ({"config": {"cleanup.policy": "compact"}}, WARNING, "cleanup.policy is compact instead of delete"),
        ({"config": {"min.insync.replicas": "1"}}, WARNING, "min.insync.replicas is 1 instead of 2"),
        ({"config": {"max.message.bytes": "1000"}}, WARNING, "max.message.bytes is 1000: records have up to 1048576"),
        ({"replicas": 1, "in_sync": 1}, WARNING, "1 replicas instead of 3"),
        ({"in_sync": 2}, WARNING, "not in sync"),
        ({"partitions": 4}, FAILURE, "different numbers of partitions"),
    ],
)
def test_a_topic_with_other_settings(change: dict[str, Any], level: Level, says: str) -> None:
    topics = right_topics()
    topics["pages.fetched"] = replace(topics["pages.fetched"], **change)
    wrong = [finding for finding in judged(topics) if finding.level is not OK]
    assert {finding.level for finding in wrong} == {level}
    assert says in " ".join(map(text, wrong))
    assert all(finding.advice for finding in wrong)


GROUPS = {stage.group for stage in STAGES}


def lag(stage: str, events: int, lost: int = 0) -> list[Lag]:
    return [
        Lag(each.name, "in", events if each.name == stage else 0, lost if each.name == stage else 0) for each in STAGES
    ]


@pytest.mark.parametrize(
    ("lags", "groups", "level", "says"),
    [
        pytest.param(lag("embed", 40), GROUPS, OK, "40 events wait", id="keeps up"),
        pytest.param(lag("embed", 2_000), GROUPS, FAILURE, "embed behind by more than 1,000", id="behind"),
        pytest.param(lag("embed", 0, lost=3), GROUPS, FAILURE, "3 events of in", id="retention deleted events"),
        pytest.param(lag("embed", 0), GROUPS - {"riffle-index"}, WARNING, "No worker runs for index", id="no worker"),
        pytest.param(lag("index", 7), GROUPS - {"riffle-index"}, FAILURE, "index: 7 events wait", id="nobody works"),
    ],
)
def test_lag(lags: list[Lag], groups: set[str], level: Level, says: str) -> None:
    findings = list(kafka.judge_lag(lags, groups, 1_000))
    assert max(levels(findings)) is level
    assert says in " ".join(map(text, findings))


@pytest.mark.parametrize("is_restoring", [False, True])
def test_no_worker_is_to_be_started_during_a_restore(monkeypatch: pytest.MonkeyPatch, is_restoring: bool) -> None:
    monkeypatch.setattr(kafka, "refused", lambda _: "")
    monkeypatch.setattr(kafka, "stage_lags", lambda _: [*lag("embed", 1_000_000), *lag("index", 0, lost=3)])
    monkeypatch.setattr(kafka, "active_groups", lambda _: GROUPS - {"riffle-index"})
    findings = list(kafka.check_lag(Settings(), lambda _: is_restoring))
    advice = [finding.advice for finding in findings]
    assert len(advice) == 3
    if is_restoring:
        assert set(advice) == {kafka.RESTORE_ADVICE}
    else:
        assert kafka.RESTORE_ADVICE not in advice


@pytest.mark.parametrize(
    ("listens", "error", "expected"),
    [
        pytest.param(True, None, False, id="no restore"),
        pytest.param(True, RestoreUnfinished("restore of x"), True, id="a restore is not finished"),
        pytest.param(True, StoreUnavailable("starting"), False, id="Cassandra can't say"),
        pytest.param(False, RestoreUnfinished("never asked"), False, id="nobody listens"),
    ],
)
def test_a_restore_is_unfinished_only_if_cassandra_says_so(
    monkeypatch: pytest.MonkeyPatch, listens: bool, error: Exception | None, expected: bool
) -> None:
    async def check_restored(_: CassandraSettings) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(cassandra, "refused", lambda _: "" if listens else "Connection refused")
    monkeypatch.setattr(cassandra, "check_restored", check_restored)
    assert cassandra.is_restoring(Settings()) is expected


def test_dead_letters() -> None:
    failed = FailureInfo("pages.chunked", 0, 1, "embed", 6, "PoisonError", "why", NOW)
    letter = DeadLetter(failed, Incoming("embed.dead", 0, 0, b"", b"", []))
    assert kafka.judge_dead_letters([], 4).level is OK, "all were replayed"
    few = kafka.judge_dead_letters([letter, letter], 2)
    assert (few.level, few.details) == (WARNING, ("embed: PoisonError, 2 times",))
    assert kafka.judge_dead_letters([], kafka.MANY_DEAD_LETTERS + 1).level is WARNING, "too many to be read"


MIGRATIONS = packaged_migrations()
APPLIED = {migration.name: migration.checksum for migration in MIGRATIONS}


@pytest.mark.parametrize(
    ("applied", "level", "says"),
    [
        pytest.param(APPLIED, OK, "migrations are applied", id="as shipped"),
        pytest.param({}, FAILURE, "riffle migrate", id="none"),
        pytest.param(dict(list(APPLIED.items())[:-1]), FAILURE, MIGRATIONS[-1].name, id="the last one is missing"),
        pytest.param(APPLIED | {MIGRATIONS[0].name: "other"}, FAILURE, "other statements", id="changed"),
        pytest.param(APPLIED | {"9999_later.cql": "x"}, WARNING, "9999_later.cql", id="of a newer release"),
        pytest.param(APPLIED | {MARK: "restore of x"}, OK, "migrations are applied", id="a restore is not finished"),
    ],
)
def test_migrations(applied: dict[str, str], level: Level, says: str) -> None:
    finding = cassandra.judge_migrations(applied, MIGRATIONS)
    assert finding.level is level
    assert says in text(finding)


@pytest.mark.parametrize(
    ("replication", "nodes", "expected"),
    [
        pytest.param({"class": "x", "datacenter1": "3"}, 3, [], id="as set"),
        pytest.param({"class": "x", "datacenter1": "1"}, 3, [WARNING], id="fewer"),
        pytest.param({"class": "x", "other": "3"}, 3, [FAILURE], id="another data centre"),
        pytest.param({"class": "x", "datacenter1": "3"}, 1, [FAILURE], id="more replicas than nodes"),
    ],
)
def test_replication_of_the_keyspace(replication: dict[str, str], nodes: int, expected: list[Level]) -> None:
    assert levels(list(cassandra.judge_replication(replication, nodes, CassandraSettings(replication=3)))) == expected


@pytest.mark.parametrize(("ahead", "level"), [(0.1, OK), (-0.1, OK), (3.0, WARNING), (-6.0, FAILURE), (6.0, FAILURE)])
def test_clocks(ahead: float, level: Level) -> None:
    assert cassandra.judge_clock(ahead, CrawlSettings().clock_bound_seconds).level is level


MODEL = ModelInfo("sbert", "1", 384)
NAME = "statements-sbert-1"


def collection(**changes: object) -> dict[str, object]:
    params = {"vectors": {"dense": {"size": 384}}, "shard_number": 1, "replication_factor": 1}
    return {
        "status": "green",
        "points_count": 7,
        "config": {"params": params},
        "payload_schema": {field: {} for field in qdrant.INDEXED_FIELDS},
        **changes,
    }


@pytest.mark.parametrize(
    ("target", "info", "settings", "level", "says"),
    [
        pytest.param(NAME, collection(), QdrantSettings(), OK, "7 statements", id="fine"),
        pytest.param(None, None, QdrantSettings(), FAILURE, "No alias", id="the alias was dropped"),
        pytest.param(NAME, None, QdrantSettings(), FAILURE, "does not exist", id="the collection was dropped"),
        pytest.param(NAME, collection(status="red"), QdrantSettings(), FAILURE, "is red", id="red"),
        pytest.param(NAME, collection(payload_schema={}), QdrantSettings(), WARNING, "page_id", id="no indexes"),
        pytest.param(NAME, collection(), QdrantSettings(replication=2), WARNING, "replicas: 1", id="one replica"),
    ],
)
def test_the_collection(
    target: str | None, info: dict[str, object] | None, settings: QdrantSettings, level: Level, says: str
) -> None:
    findings = list(qdrant.judge_collection(target, info, [NAME], settings))
    assert max(levels(findings)) is level
    assert says in " ".join(map(text, findings))


@pytest.mark.parametrize(
    ("target", "size", "expected"),
    [(NAME, 384, []), (NAME, 768, [FAILURE]), ("statements-other-1", 384, [FAILURE])],
)
def test_the_model_of_the_collection(target: str, size: int, expected: list[Level]) -> None:
    info = collection(config={"params": {"vectors": {"dense": {"size": size}}}})
    assert levels(list(qdrant.judge_model(target, info, MODEL))) == expected


@pytest.mark.parametrize(
    ("models", "level"),
    [
        (["sbert"], OK),
        (["sbert_query"], FAILURE),
        ([], FAILURE),
    ],
)
def test_models(models: list[str], level: Level) -> None:
    assert triton.judge_models(models, ["sbert"]).level is level


@pytest.mark.parametrize(
    ("there", "needed"),
    [
        (["sbert", "sbert_query", "statement_chain"], ("sbert", "statement_chain")),
        (["sbert_query"], ("sbert_query",)),
        (["sbert_query", "statement_chain"], ("sbert", "statement_chain")),
        ([], ("sbert", "statement_chain")),
    ],
)
def test_a_server_for_queries_alone_needs_their_model_alone(there: list[str], needed: tuple[str, ...]) -> None:
    assert triton.needed_models(TritonSettings(), there) == needed


@pytest.mark.parametrize(
    ("stores", "level"),
    [
        ({"records": "ok", "vectors": "ok", "models": "ok"}, OK),
        ({"records": "ok", "vectors": "ok", "models": "not reachable"}, WARNING),
        ({"records": "ok", "vectors": "not reachable", "models": "ok"}, FAILURE),
    ],
)
def test_the_gateway(stores: dict[str, str], level: Level) -> None:
    assert gateway.judge_readiness("http://g", stores).level is level


@pytest.mark.parametrize(
    ("days", "level", "says"),
    [
        (60, OK, "valid for 60 days, until 2026-04-30"),
        (13, WARNING, "valid for 13 days"),
        (1, FAILURE, "valid for 1 days"),
        (-3, FAILURE, "expired 3 days ago"),
    ],
)
def test_days_of_a_certificate(days: int, level: Level, says: str) -> None:
    finding = certificates.judge_days("it", NOW + timedelta(days=days), NOW)
    assert finding.level is level
    assert says in finding.says
    assert bool(finding.advice) is (level is not OK)


@pytest.mark.parametrize(("free", "level"), [(50 * GB, OK), (3 * GB, WARNING), (GB // 2, FAILURE)])
def test_space(free: int, level: Level) -> None:
    assert machine.judge_space("/data", free, 100 * GB).level is level


def test_settings_of_a_single_machine_in_production() -> None:
    contact = CrawlSettings(contact_url="https://example.org/bot")
    one = Settings(profile="production", crawl=contact)
    three = Settings(
        profile="production",
        crawl=contact,
        kafka=KafkaSettings(replication=3),
        cassandra=CassandraSettings(replication=3),
        qdrant=QdrantSettings(replication=2),
    )
    assert levels(list(machine.check_settings(one))) == [WARNING]
    assert levels(list(machine.check_settings(three))) == [OK]
    assert levels(list(machine.check_settings(Settings()))) == [OK]


def test_certificate_files_of_the_settings(tmp_path: Path) -> None:
    identities = Identities(tmp_path)
    now = datetime.now(UTC)
    identities.prepare(now)
    files = identities["fetch"].files
    kafka = KafkaSettings(security_protocol="SSL", ca_file=files.ca, cert_file=files.cert, key_file=files.key)
    named = list(certificates.certificate_files(Settings(kafka=kafka)))
    assert named == [("kafka.ca_file", files.ca), ("kafka.cert_file", files.cert)]
    assert levels([certificates.judge_file(name, path, now) for name, path in named]) == [OK, OK]
    identities.renew(["fetch"], now - timedelta(days=20), days=5)
    assert certificates.judge_file("kafka.cert_file", identities["fetch"].cert, now).level is FAILURE
    (tmp_path / "broken.pem").write_text("nothing")
    assert certificates.judge_file("kafka.ca_file", tmp_path / "broken.pem", now).level is FAILURE
    assert certificates.judge_file("kafka.ca_file", tmp_path / "missing.pem", now).level is FAILURE


@pytest.mark.parametrize("layer", LAYERS)
def test_a_machine_without_a_layer_of_the_confinement_is_warned_about(layer: str) -> None:
    in_force = [one for one in LAYERS if one != layer]
    assert machine.judge_confinement(LAYERS).level is Level.OK
    found = machine.judge_confinement(in_force)
    assert found.level is Level.WARNING
    assert layer in found.says
    assert found.details == ("in force: " + ", ".join(in_force),)
    shown = confinement_line(in_force)
    assert f"NOT fully confined. Not in force: {layer}; in force: " in shown.plain
    assert any("red" in str(span.style) for span in shown.spans)


def test_a_machine_without_any_layer_is_warned_about() -> None:
    assert machine.judge_confinement([]).details == ("in force: nothing",)
    assert "Not in force" not in confinement_line(LAYERS).plain
    assert all(layer in confinement_line(LAYERS).plain for layer in LAYERS)
