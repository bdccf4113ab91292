"""The manifests for Kubernetes: generated ones agree with the topology, and all of them with some laws."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate.infrastructure import COMPONENTS
from streams.settings import Settings
from streams.topology import READER_GROUP, STAGES, TOPICS, grants, stage, stage_grants

BASE = Path(__file__).parents[3] / "infra" / "k8s" / "base"
FILES = sorted(path for path in BASE.rglob("*.yaml") if path.name not in ("kustomization.yaml", "values.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.load_all(path.read_text(), yaml.CSafeLoader) if document]


ALL = [document for path in FILES for document in documents(path)]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {document["metadata"]["name"]: document for document in ALL if document["kind"] == kind}


def test_each_topic_of_the_topology_is_a_kafka_topic() -> None:
    manifests = of_kind("KafkaTopic")
    assert set(manifests) == {topic.name for topic in TOPICS}
    dead = manifests["fetch.dead"]["spec"]["config"]
    assert dead["retention.ms"] == 90 * 24 * 3_600_000
    assert manifests["origins.changed"]["spec"]["config"]["cleanup.policy"] == "compact"


@pytest.mark.parametrize("name", [stage.name for stage in STAGES])
def test_a_stage_may_do_in_kafka_what_the_topology_says_and_nothing_else(name: str) -> None:
    rules = of_kind("KafkaUser")[name]["spec"]["authorization"]["acls"]
    allowed = {
        (operation, rule["resource"]["type"], rule["resource"]["name"])
        for rule in rules
        for operation in rule["operations"]
        if operation != "Describe"
    }
    assert allowed == {
        (grant.operation.capitalize(), grant.kind, grant.name)
        for grant in stage_grants(stage(name))
        if grant.operation != "describe"
    }


def test_no_user_may_do_everything() -> None:
    for user in of_kind("KafkaUser").values():
        for rule in user["spec"]["authorization"]["acls"]:
            # The fetchers of each region have a group of their own, and each reader of a topic.
            is_many = rule["resource"]["type"] == "group" and rule["resource"]["name"] in ("riffle-fetch", READER_GROUP)
            assert rule["resource"]["patternType"] == ("prefix" if is_many else "literal")
            assert set(rule["operations"]) <= {"Read", "Write", "Describe"}


def test_a_sweep_reads_dead_letters_and_nothing_else() -> None:
    rules = of_kind("KafkaUser")["blobs-sweep"]["spec"]["authorization"]["acls"]
    assert {rule["resource"]["name"] for rule in rules} == {READER_GROUP, *(stage.dead_topic for stage in STAGES)}
    assert {operation for rule in rules for operation in rule["operations"]} == {"Read", "Describe"}
    assert "links-rank" not in of_kind("KafkaUser"), "it does not use Kafka"


def test_a_stage_reads_its_inputs_and_writes_its_outputs_alone() -> None:
    fetch = {
        (grant.operation, grant.name) for grant in grants() if grant.principal == "fetch" and grant.kind == "topic"
    }
    assert fetch == {
        ("read", "pages.scheduled"),
        ("read", "fetch.retry"),
        ("read", "fetch.retry-long"),
        ("read", "fetch.replay"),
        ("write", "pages.fetched"),
        ("write", "fetch.retry"),
        ("write", "fetch.retry-long"),
        ("write", "fetch.dead"),
    }


@pytest.mark.parametrize("name", COMPONENTS)
def test_each_component_has_a_certificate_with_its_name(name: str) -> None:
    certificate = of_kind("Certificate")[f"riffle-{name}"]["spec"]
    assert (certificate["commonName"], certificate["secretName"]) == (name, f"riffle-{name}")
    assert certificate["usages"][0] == "client auth"


def test_every_certificate_is_renewed_well_before_it_ends_and_is_of_the_own_authority() -> None:
    for name, certificate in of_kind("Certificate").items():
        spec = certificate["spec"]
        hours = {field: int(spec[field].removesuffix("h")) for field in ("duration", "renewBefore")}
        assert 5 * 24 <= hours["renewBefore"] < hours["duration"], name
        assert spec["issuerRef"]["name"] == ("riffle-root" if name == "riffle-ca" else "riffle-ca")


def test_no_secret_is_written_in_the_repository() -> None:
    assert of_kind("Secret") == {}
    passwords = [line for path in FILES for line in path.read_text().splitlines() if "password:" in line.lower()]
    assert passwords == []


def test_kafka_has_no_listener_without_certificates() -> None:
    listeners = of_kind("Kafka")["riffle"]["spec"]["kafka"]["listeners"]
    assert [(each["tls"], each["authentication"]["type"]) for each in listeners] == [(True, "tls")]


def test_cassandra_requires_client_certificates_and_spreads_over_three_zones() -> None:
    spec = of_kind("K8ssandraCluster")["riffle"]["spec"]["cassandra"]
    assert spec["config"]["cassandraYaml"]["client_encryption_options"] == {
        "enabled": True,
        "optional": False,
        "require_client_auth": True,
    }
    racks = spec["datacenters"][0]["racks"]
    assert len({rack["nodeAffinityLabels"]["topology.kubernetes.io/zone"] for rack in racks}) == 3


def test_every_secret_that_is_used_is_made_by_something() -> None:
    made = {c["spec"]["secretName"] for c in of_kind("Certificate").values()}
    made |= {s["spec"]["target"]["name"] for s in of_kind("ExternalSecret").values()}
    used = {name for document in ALL for name in _secret_names(document)}
    public = {"search-example-org"}  # by the Gateway's own issuer
    assert used - made - public == set()


def _secret_names(value: Any, key: str = "") -> set[str]:
    if isinstance(value, list):
        return {name for each in value for name in _secret_names(each, key)}
    if not isinstance(value, dict):
        return {value} if key == "secretName" else set()
    names = {name for field, below in value.items() for name in _secret_names(below, field)}
    if key.endswith(("SecretRef", "secretKeyRef")) or key == "certificateRefs":
        names.add(value["name"])
    return names


def test_the_servers_of_the_image_listen_on_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    image = (Path(__file__).parents[3] / "Dockerfile").read_text()
    variables = dict(re.findall(r"\b(RIFFLE_[A-Z_]+)=(\S+)", image))
    for name in ("RIFFLE_RUNTIME__HEALTH_HOST", "RIFFLE_RUNTIME__HEALTH_PORT", "RIFFLE_GATEWAY__HOST"):
        monkeypatch.setenv(name, variables[name])
    settings = Settings.load()
    assert (settings.runtime.health_host, settings.runtime.health_port) == ("0.0.0.0", 9090)
    assert settings.gateway.host == "0.0.0.0"
