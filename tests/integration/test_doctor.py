"""`riffle doctor` on the real servers, with something really broken."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from confluent_kafka.admin import AdminClient

from streams.doctor.checks import all_checks
from streams.doctor.findings import Finding, Level, run_checks
from streams.local.ports import free_ports
from streams.runtime.connection import client_config
from streams.runtime.topics import create_topics, describe_topics
from streams.settings import Settings
from streams.stores.cassandra import migrate
from streams.stores.cassandra.migrating import packaged_migrations
from streams.stores.opener import open_stores
from streams.stores.qdrant.rest import QdrantRest
from streams.stores.vector_collection import ALIAS

pytestmark = pytest.mark.integration

DEADLINE_SECONDS = 60.0


def examined(settings: Settings, *only: str) -> list[Finding]:
    found = run_checks(all_checks(settings, only=only), DEADLINE_SECONDS)
    return [finding for findings in found for finding in findings]


def of(findings: list[Finding], check: str) -> list[tuple[Level, str]]:
    return [(finding.level, finding.says) for finding in findings if finding.check == check]


def test_servers_that_run_are_fine(stack: Settings) -> None:
    findings = examined(stack, "kafka", "topics", "cassandra", "triton", "certificates")
    assert {finding.level for finding in findings} == {Level.OK}, findings
    names = {"kafka", "topics", "cassandra", "schema", "clocks", "triton", "models"}
    assert {finding.check for finding in findings} >= names


def test_a_missing_topic(stack: Settings) -> None:
    admin = AdminClient(client_config(stack.kafka))
    (before,) = {state.partitions for state in describe_topics(stack) if not state.topic.partitions}
    admin.delete_topics(["entities.changed"], operation_timeout=20)["entities.changed"].result(timeout=20)
    grown = stack.model_copy(update={"kafka": stack.kafka.model_copy(update={"partitions": before + 3})})
    try:
        findings = of(examined(stack, "topics"), "topics")
    finally:
        # Settings that changed since the other topics were made: a topic that differs would stop its stage.
        assert create_topics(grown) == ["entities.changed"]
    assert (Level.FAILURE, "Missing: entities.changed") in findings
    assert {state.partitions for state in describe_topics(stack) if not state.topic.partitions} == {before}


async def test_an_old_schema(stack: Settings, fresh_name: str) -> None:
    old = stack.model_copy(update={"cassandra": stack.cassandra.model_copy(update={"keyspace": fresh_name})})
    await migrate(old.cassandra, packaged_migrations()[:-1])
    ((level, says),) = of(examined(old, "cassandra"), "schema")
    assert level is Level.FAILURE
    assert says == "1 migrations were not applied"


def test_no_keyspace(stack: Settings, fresh_name: str) -> None:
    without = stack.model_copy(update={"cassandra": stack.cassandra.model_copy(update={"keyspace": fresh_name})})
    (finding,) = [finding for finding in examined(without, "cassandra") if finding.check == "schema"]
    assert (finding.level, finding.advice) == (Level.FAILURE, "Create the keyspace and its tables: riffle migrate")


@pytest.fixture
async def qdrant(stack: Settings) -> AsyncIterator[QdrantRest]:
    async with open_stores(stack, ["vectors", "models"]) as stores:
        await stores.vectors.ensure(await stores.embedder.info())
    with QdrantRest(stack.qdrant, 30) as rest:
        yield rest


def test_a_dropped_alias(stack: Settings, qdrant: QdrantRest) -> None:
    target = qdrant.aliases()[ALIAS]
    assert {level for level, _ in of(examined(stack, "qdrant"), "collection")} == {Level.OK}
    actions = {"actions": [{"delete_alias": {"alias_name": ALIAS}}]}
    httpx2.post(f"{stack.qdrant.url}/collections/aliases", json=actions).raise_for_status()
    try:
        broken = examined(stack, "qdrant")
    finally:
        qdrant.point_alias(ALIAS, target)
    ((level, says),) = of(broken, "collection")
    assert level is Level.FAILURE
    assert "No alias" in says


@pytest.mark.parametrize("name", ["kafka", "cassandra", "qdrant", "triton", "gateway"])
def test_a_server_that_is_away(stack: Settings, name: str) -> None:
    (port,) = free_ports(1)
    changes: dict[str, dict[str, object]] = {
        "kafka": {"bootstrap": f"127.0.0.1:{port}"},
        "cassandra": {"port": port},
        "qdrant": {"url": f"http://127.0.0.1:{port}"},
        "triton": {"url": f"127.0.0.1:{port}"},
        "gateway": {"port": port},
    }
    group = getattr(stack, name).model_copy(update=changes[name])
    (finding, *_) = examined(stack.model_copy(update={name: group}), name)
    assert finding.level is Level.FAILURE
    assert str(port) in finding.says
    assert finding.advice
